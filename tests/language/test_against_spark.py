"""The compiler gives queries the meaning they have in Spark SQL: names, grouping, joins, every function.

At a single instant, with all rows in their windows, a query is plain SQL. So Spark runs the text of each fixture
without windows and stream functions, and the result is compared with that of its operators on the same rows, both as
written and as rewritten.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from headgate.language.catalog import Catalog
from headgate.language.query_text import read_query_text
from headgate.language.rules import RULES
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.operators import (
    Aggregate,
    Changes,
    Distinct,
    Except,
    Intersect,
    OnTime,
    Operator,
    Project,
    RowWindow,
    RStream,
    Select,
    StreamJoin,
    TableJoin,
    TimeWindow,
    Union,
)
from headgate.plan.operators.base import Port
from headgate.sql.dialect import Cql, sql_of
from headgate.sql.function_kinds import AGGREGATES
from headgate.sql.schema import Schema
from tests.language.catalogs import plan_of
from tests.language.fixture_files import FOLDER, read
from tests.tiers import only_nightly

pytestmark = pytest.mark.spark

START = datetime(2024, 1, 1, tzinfo=UTC)
TEXTS = ["lobby", "roof", "or", "ca", "apple", "google", "http://a/b/c/d/e?x=1&channel_id=7", "abccc"]


def value(kind: str, draw: random.Random) -> Any:
    if draw.random() < 0.1:
        return None
    if kind in ("TINYINT", "INT", "BIGINT"):
        return draw.choice([0, 1, 2, 3, 10, 40, 100])
    if kind in ("FLOAT", "DOUBLE"):
        return draw.choice([0.25, 0.5, 1.0])
    if kind == "BOOLEAN":
        return draw.random() < 0.5
    if kind == "STRING":
        return draw.choice(TEXTS)
    if kind.startswith("TIMESTAMP"):
        return START + timedelta(seconds=draw.randrange(40))
    if kind.startswith("ARRAY"):
        return [draw.choice(TEXTS) for _ in range(draw.randrange(3))]
    return {"id": 1, "name": "x"}


_FRAMES: dict[int, dict[str, Any]] = {}  # by catalog; making them takes longer than running the queries


def frames(session: Any, catalog: Catalog) -> dict[str, Any]:
    """Frames with rows for every stream and table, registered as views."""
    if id(catalog) not in _FRAMES:
        draw = random.Random(3)
        schemas: dict[str, Schema] = {name: one.schema for name, one in {**catalog.streams, **catalog.tables}.items()}
        _FRAMES[id(catalog)] = {name: _frame(session, schema, draw) for name, schema in schemas.items()}
    for name, frame in _FRAMES[id(catalog)].items():
        frame.createOrReplaceTempView(f"`{name}`")
    return _FRAMES[id(catalog)]


def _frame(session: Any, schema: Schema, draw: random.Random) -> Any:
    rows = [{column.name: value(column.type or "", draw) for column in schema} for _ in range(12)]
    return session.createDataFrame(pa.Table.from_pylist(rows, arrow_schema(schema, stamps=False)))


def run(operator: Operator, inputs: Sequence[Any], tables: Mapping[str, Any]) -> Any:
    """The output of one operator, over all rows at once."""
    from pyspark.sql import functions as F

    first = inputs[0]
    match operator:
        case TimeWindow() | RowWindow() | OnTime() | Changes() | RStream():
            return first
        case Select():
            return first.where(operator.where)
        case Project():
            return first.select(*[F.expr(text).alias(name) for name, text in operator.columns.items()])
        case Aggregate():
            keys = [F.expr(text).alias(name) for name, text in operator.group.items()]
            values = [F.expr(text).alias(name) for name, text in operator.values.items()]
            grouped = first.groupBy(*keys)
            names = [F.col(f"`{name}`") for name in (*operator.group, *operator.values)]
            return grouped.agg(*values).select(*names) if values else first.select(*keys).distinct()
        case Distinct():
            return first.distinct()
        case Union():
            result = first
            for other in inputs[1:]:
                result = result.union(other)
            return result
        case Except():
            return first.exceptAll(inputs[1]) if operator.all else first.subtract(inputs[1])
        case Intersect():
            return first.intersectAll(inputs[1]) if operator.all else first.intersect(inputs[1])
        case StreamJoin():
            sides = [
                frame.select(*[F.col(f"`{source}`").alias(name) for name, source in names.items()])
                for frame, names in zip(inputs, (operator.left, operator.right), strict=True)
            ]
            return sides[0].join(sides[1], F.expr(operator.condition or "TRUE"))
        case TableJoin():
            from headgate.runtime.spark.calls.composer import Composer

            composer = Composer(lambda port: F.lit(True), tables, {}, {}, single=False)
            return composer.outputs(operator, inputs)[Port(operator.id)]
    raise TypeError(operator.kind)


def rows_of(frame: Any) -> Counter[str]:
    return Counter(str([_rounded(value) for value in row]) for row in frame.collect())


def _rounded(found: Any) -> Any:
    return round(float(found), 6) if hasattr(found, "is_integer") or type(found).__name__ == "Decimal" else found


FIXTURES = sorted(FOLDER.glob("*.cql"))
OURS = [file for file in FIXTURES if not file.stem.startswith(("nexmark", "stream_cql"))]


@pytest.mark.parametrize("file", only_nightly(FIXTURES, but=OURS), ids=lambda file: file.stem)
def test_fixtures(session: Any, file: Path) -> None:
    catalog, query = read(file)
    tables = frames(session, catalog)
    expected = session.sql(read_query_text(query).blanked)
    wanted = rows_of(expected)
    for rules in ((), RULES):
        plan = plan_of(query, catalog, rules)
        done: dict[Port, Any] = {Port(name): tables[name] for name in catalog.streams}
        for operator in plan.operators.values():
            done[Port(operator.id)] = run(operator, [done[port] for port in operator.inputs], tables)
        result = done[plan.queries["q"].root]
        assert rows_of(result) == wanted
        # Spark names count(*) count(1); all other columns have the same name.
        assert [n.lower() for n in result.columns] == [
            n.replace("count(1)", "count(*)").lower() for n in expected.columns
        ]


EXPRESSIONS = r"""
date_format(ts, 'yyyy-MM-dd HH:mm:ss')
split_part(url, '/', 4)
transform(xs, x -> x + 1)
aggregate(xs, 0, (acc, x) -> acc + x)
filter(xs, x -> x > 1)
array_sort(xs, (l, r) -> CASE WHEN l < r THEN 1 WHEN l > r THEN -1 ELSE 0 END)
exists(xs, x -> x > 1)
a DIV b
a % b
url || '/' || 'x'
0.908 * a
1.0BD / 3
1L + a
1.5D * a
CAST(0.1 AS DOUBLE) + 0.2
INTERVAL '10' SECONDS
ts + INTERVAL '1 day 2 hours'
ts - INTERVAL 10 MINUTES
CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING)
ts - TIMESTAMP '2024-01-01 00:00:01'
DATE '2024-02-03' + 1
try_cast(url AS INT)
CAST(a AS DECIMAL(10, 2))
CAST(a AS STRING)
a::BIGINT
url RLIKE '^http.*\\d'
url LIKE 'http%' ESCAPE '!'
url LIKE ANY ('h%', 'x%')
regexp_extract(url, '(\\w+)://', 1)
regexp_replace(url, '/', '\\\\')
a <=> b
a IS DISTINCT FROM b
NOT a IS NULL
a IS NOT NULL AND NOT (a > 1 OR b > 1)
a BETWEEN 1 AND 2
a NOT IN (1, 2)
xs[0]
m['k']
st.f.g
element_at(xs, 1)
named_struct('p', a).p
CASE a WHEN 1 THEN 'x' ELSE 'y' END
if(a > 1, 'x', 'y')
nvl(b, 5)
extract(HOUR FROM ts)
date_part('minute', ts)
trim(BOTH 'h' FROM url)
ltrim('h', url)
substring(url FROM 2 FOR 3)
position('t' IN url)
overlay(url PLACING 'x' FROM 2 FOR 3)
x'1F'
'it''s'
'it\'s "x"'
"dq"
'a' 'b'
r'raw\d'
'\u00e9\t'
-a
~a
a & 3 | 4 ^ 1
a << 2
a != b
to_date('2024', 'yyyy')
date_add(ts, 3)
date_trunc('HOUR', ts)
trunc(ts, 'MM')
datediff(ts, DATE '2024-01-01')
timestampadd(HOUR, 1, ts)
timestampdiff(HOUR, ts, TIMESTAMP '2025-01-01 00:00:00')
dateadd(DAY, 1, ts)
unix_timestamp(ts)
from_unixtime(a)
make_date(2024, 1, 1)
concat_ws('/', url, 'b')
size(xs)
sort_array(xs, false)
get_json_object('{"b": 1}', '$.b')
log(2, 8)
ln(2)
int('5')
left(url, 3)
char(65)
decode(encode('a', 'UTF-8'), 'UTF-8')
ceil(1.25, 1)
floor(a / 3)
round(2.5)
bround(2.5)
(a + b) * 2 - (a - (b - 1))
length(url) - length(replace(url, 't', ''))
`weird col` + 1
struct(a, b AS c)
map('a', a)
array(1, 2)
CAST(NULL AS INT)
greatest(a, b, 3)
coalesce(b, a)
md5(url)
instr(url, 't')
lpad('7', 3, '0')
initcap('ab cd')
array_contains(xs, 1)
map_keys(m)
from_json('{"p": 1}', 'p INT').p
to_json(struct(a))
str_to_map('a:1')
day(ts)
dayofweek(ts)
weekofyear(ts)
last_day(ts)
next_day(ts, 'MON')
months_between(ts, TIMESTAMP '2023-01-01 00:00:00')
count(*)
count(DISTINCT a, b)
sum(a) FILTER (WHERE b > 1)
percentile_approx(a, 0.5, 100)
percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC)
first(a) IGNORE NULLS
any(a > 1)
max_by(url, a)
collect_list(a)
listagg(url, ',') WITHIN GROUP (ORDER BY url)
mode(a)
approx_count_distinct(a)
stddev(a)
count_if(a > 1)
""".strip().splitlines()


@pytest.mark.parametrize("text", only_nightly(EXPRESSIONS, but=EXPRESSIONS[::4]))
def test_expressions_keep_their_meaning(session: Any, text: str) -> None:
    row = session.sql(
        "SELECT 7 AS a, 2 AS b, TIMESTAMP '2024-03-04 05:06:07' AS ts, 'http://a/b/c1' AS url, array(3, 1, 2) AS xs, "
        "map('k', 1) AS m, named_struct('f', named_struct('g', 5)) AS st, 4 AS `weird col`"
    )
    passed_on = sql_of(sqlglot.parse_one(text, read=Cql, into=exp.Condition))
    expected, found = row.selectExpr(f"{text} AS x"), row.selectExpr(f"{passed_on} AS x")
    assert found.collect() == expected.collect()
    assert found.schema.simpleString() == expected.schema.simpleString()


def test_the_list_of_aggregates_agrees_with_spark(session: Any) -> None:
    registry = session._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction()
    found = set()
    for number in range(names.size()):
        name = names.apply(number)
        info = registry.lookupFunction(name)
        if info.isDefined() and info.get().getGroup() == "agg_funcs":
            found.add(name.funcName())
    assert found == set(AGGREGATES), "change AGGREGATES in headgate/sql/function_kinds.py"
