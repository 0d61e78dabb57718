"""Catalogs that the tests in this folder compile queries against, without any files."""

from collections.abc import Sequence

from headgate.language.catalog import Catalog
from headgate.language.compile import CompiledQuery, compile_query
from headgate.language.rules import RULES, Rule
from headgate.plan.model import Plan, Stream, Table
from headgate.sql.schema import parse_schema
from tests.applications import bare_plan

PERSON = "id BIGINT, name STRING, email STRING, card STRING, city STRING, state STRING, date_time TIMESTAMP"
AUCTION = (
    "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP, "
    "expires TIMESTAMP, seller BIGINT, category BIGINT"
)
BID = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, extra STRING"


def stream(name: str, schema: str, time: str | None = None) -> Stream:
    return Stream(name, parse_schema(schema, name), {}, time)


def table(name: str, schema: str) -> Table:
    return Table(name, parse_schema(schema, name), {})


SENSORS = Catalog(
    {
        "sensors": stream("sensors", "location STRING, humidity INT, temperature INT, ts TIMESTAMP", "ts"),
        "doors": stream("doors", "location STRING, open BOOLEAN, at TIMESTAMP", "at"),
        "clicks": stream("clicks", "k INT, v DOUBLE, tags ARRAY<STRING>, user STRUCT<id: INT, name: STRING>"),
        "S": stream("S", "t BIGINT, G INT, A INT", "t"),
    },
    {"places": table("places", "location STRING, floor INT"), "floors": table("floors", "floor INT, name STRING")},
)
NEXMARK = Catalog(
    {
        "person": stream("person", PERSON, "date_time"),
        "auction": stream("auction", AUCTION, "date_time"),
        "bid": stream("bid", BID, "date_time"),
    },
    {"side_input": table("side_input", "key BIGINT, value STRING")},
)
STREAM_CQL = Catalog(
    {
        "S1": stream("S1", "ts BIGINT, A INT", "ts"),
        "S2": stream("S2", "ts BIGINT, A INT", "ts"),
        "S3": stream("S3", "ts BIGINT, A INT, B FLOAT, C TINYINT, D STRING", "ts"),
        "S4": stream("S4", "ts BIGINT, G INT, A INT", "ts"),
    }
)


def compiled(text: str, catalog: Catalog = SENSORS, rules: Sequence[Rule] = RULES, name: str = "q") -> CompiledQuery:
    return compile_query(name, text, catalog, rules)


def plan_of(text: str, catalog: Catalog = SENSORS, rules: Sequence[Rule] = RULES) -> Plan:
    """The checked plan of one query."""
    found = compiled(text, catalog, rules)
    return bare_plan(catalog.streams.values(), found.operators, {"q": found.root}, tables=catalog.tables.values())


def plan_lines(plan: Plan) -> list[str]:
    """One line per operator: id, kind, inputs and parameters."""
    return [
        f"{operator.id.removeprefix('q/')} = {operator.kind}({', '.join(map(str, operator.inputs)).replace('q/', '')})"
        + (f": {operator.describe().replace('q/', '')}" if operator.describe() else "")
        for operator in plan.operators.values()
    ]
