"""Queries in CQL over small streams: run on Spark in any cut, and by the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.language.catalog import Catalog
from headgate.language.compile import compile_query
from headgate.language.rules import RULES, Rule
from headgate.language.rules.share import share
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Plan, Stream, Table
from headgate.plan.operators import Operator
from headgate.runtime.spark import engine
from headgate.runtime.spark.calls import caller
from headgate.runtime.spark.calls.caller import Caller
from headgate.runtime.spark.calls.ways import Ways
from headgate.runtime.spark.engine import SparkRuntime
from headgate.scheduling.reference import Rows, refer
from headgate.scheduling.reference_entry import admits
from headgate.sql.schema import CHANGE, SEQUENCE, parse_schema
from tests.applications import app_of_plan, bare_plan
from tests.conformance.cql_reference import Changes, Reference, stream_of

Row = tuple[Any, ...]

PLACES = [(0, 10), (1, 11), (2, 12), (2, 13), (None, 14)]  # a key that is there twice, and a null
TABLES = {"places": Table("places", parse_schema("k INT, floor INT", "tables"), {"kind": "csv", "path": "places.csv"})}
STREAMS = {
    "s": Stream("s", parse_schema("k INT, v INT, t BIGINT", "s"), {"kind": "feeder"}, time="t", slack_s=3),
    "r": Stream("r", parse_schema("k INT, w INT, t BIGINT", "r"), {"kind": "feeder"}, time="t"),
    "c": Stream("c", parse_schema("k INT, p INT, t BIGINT", "c"), {"kind": "feeder"}, time="t", relation=True),
}


@dataclass(frozen=True)
class Data:
    """The rows of each stream in order of sequence; `signs` are the changes of the relation c."""

    rows: Mapping[str, Sequence[Row]]
    signs: Sequence[int] = ()

    def reference(self, queries: Mapping[str, str]) -> Reference:
        streams = {
            name: stream_of(
                stream.schema.names,
                self.rows.get(name, ()),
                "t",
                stream.slack_ticks,
                self.signs if stream.relation else None,
            )
            for name, stream in STREAMS.items()
        }
        return Reference(streams, {"places": (("k", "floor"), PLACES)}, queries)

    def table(self, name: str, first: int, last: int) -> pa.Table:
        """Rows first..last-1 of a stream as a source gives them."""
        stream = STREAMS[name]
        rows = self.rows[name][first:last]
        schema = arrow_schema(stream.schema)
        at = list(range(first, first + len(rows)))
        columns = [*(zip(*rows, strict=True) if rows else [[]] * len(stream.schema)), at, at]
        table = pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        if stream.relation:
            table = table.append_column(CHANGE, pa.array(self.signs[first:last], pa.int64()))
        return table


@dataclass(frozen=True)
class Cut:
    """How a run is cut: rows a delivery, slots, policy, calls after each delivery (None: as many as there are)."""

    size: int = 1000
    slots: int = 1
    policy: PolicySettings = field(default_factory=lambda: PolicySettings("rr"))
    calls: int | None = None
    order: Sequence[str] = ("s", "r", "c")  # which stream comes first
    one_by_one: bool = False  # a stream is delivered whole before the next begins


def plan_of(queries: Mapping[str, str], rules: Sequence[Rule] = RULES, shared: bool = False) -> Plan:
    """The plan of an application with these queries, each of which may read those before it."""
    results: dict[str, Any] = {}
    operators: list[Operator] = []
    for name, text in queries.items():
        found = compile_query(name, text, Catalog(STREAMS, TABLES, results), rules)
        results[name] = found.result
        operators += found.operators
    instead: Mapping[Any, Any] = {}
    if shared:
        operators, instead = share(operators)
    roots = {name: instead.get(result.port, result.port) for name, result in results.items()}
    sink = {"kind": "memory", "format": "changes"}
    return bare_plan(STREAMS.values(), operators, roots, tables=TABLES.values(), sink=sink)


def expected(queries: Mapping[str, str], data: Data) -> dict[str, Changes]:
    reference = data.reference(queries)
    return {name: reference.changes(name) for name in queries}


def run(
    spark: Any,
    plan: Plan,
    data: Data,
    cut: Cut,
    folder: Path,
    only: str | None = None,
    referred: bool = False,
    **more: Any,
) -> dict[str, Changes]:
    """What each query gives out, per instant. `only` is the way in which all calls must have been run. If `referred`,
    tuples come as references to files where they may."""
    app = app_of_plan(plan, cut.policy, slots=cut.slots, folder=folder)
    runtime = SparkRuntime(app, spark, **more)
    runtime.open()
    for name, first, last in _deliveries(data, cut):
        if last > first:
            table = data.table(name, first, last)
            rows = reference_to(runtime, name, table, folder) if referred else None
            runtime.deliver({name: table if rows is None else rows})
        if last >= len(data.rows[name]):
            runtime.ended(name)
        _steps(runtime, cut)
    while sum(runtime.step(slot) for slot in range(cut.slots)):
        pass
    assert not any(runtime.unfinished().values())
    report = runtime.stop()
    assert report["errors"] == {}
    assert not referred or report["calls"]["reference"] > 0
    assert only is None or {way for way, calls in report["calls"].items() if calls} == {only}
    return {name: changes_of(sink.tables()) for name, sink in runtime.sinks.items()}  # type: ignore[attr-defined]


def reference_to(runtime: SparkRuntime, stream: str, table: pa.Table, folder: Path) -> Rows | None:
    """The rows of a delivery in two files, and a reference to them; None: some are late, or they are a relation's."""
    own, rows = table.select(STREAMS[stream].schema.names), table.num_rows
    first, places = table.column(SEQUENCE)[0].as_py(), {}
    for at, some in ((0, own.slice(0, rows // 2)), (rows // 2, own.slice(rows // 2))):
        path = folder / f"{stream}-{first + at}-{some.num_rows}.parquet"
        pq.write_table(some, path)
        places[f"file://{path}"] = (0, some.num_rows)
    found = runtime.caller.survey(refer(stream, "parquet", places, first, first, own.nbytes), runtime.core.plan)
    return found if admits(runtime.core, found) else None


def _deliveries(data: Data, cut: Cut) -> Iterator[tuple[str, int, int]]:
    names = [name for name in cut.order if name in data.rows]
    if cut.one_by_one:
        for name in names:
            for first in range(0, max(1, len(data.rows[name])), cut.size):
                yield name, first, min(first + cut.size, len(data.rows[name]))
        return
    longest = max(len(rows) for rows in data.rows.values())
    for first in range(0, max(1, longest), cut.size):
        for name in names:
            rows = len(data.rows[name])
            if first < max(1, rows):
                yield name, first, min(first + cut.size, rows)


def _steps(runtime: SparkRuntime, cut: Cut) -> None:
    left = cut.calls
    while left is None or left > 0:
        made = sum(runtime.step(slot) for slot in range(cut.slots))
        if not made:
            return
        left = None if left is None else left - made


def changes_of(tables: Sequence[pa.Table]) -> Changes:
    found: Changes = {}
    for table in tables:
        for row in zip(*[column.to_pylist() for column in table.columns], strict=True):
            found.setdefault(row[0], Counter())[(row[1], row[2:])] += 1
    return found


def differences(got: Mapping[str, Changes], wanted: Mapping[str, Changes]) -> str:
    """What differs, for people: query, instant, rows that should not be there and rows that are missing."""
    lines = []
    for name, changes in wanted.items():
        for at in sorted({*changes, *got[name]}, key=lambda t: (t is None, t)):
            mine, theirs = got[name].get(at, Counter()), changes.get(at, Counter())
            if mine != theirs:
                lines.append(f"{name} at {at}: too many {dict(mine - theirs)}, missing {dict(theirs - mine)}")
    return "\n".join(lines[:20])


@contextmanager
def trusting(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs of one plan, over the same ways, share their prepared plans, which are used without probation.

    Planning an operator with state takes a second, so a plan is planned once for all cuts. Without probation the
    prepared answer is the one that the reference judges.
    """
    made: dict[tuple[int, Ways | None], tuple[Plan, Caller]] = {}
    make: Callable[..., Caller] = engine.make_caller

    def kept(session: Any, app: CheckedApplication, ways: Ways | None = None) -> Caller:
        key = (id(app.plan), ways)
        if key not in made:
            made[key] = (app.plan, make(session, app, ways))
            closing.callback(made[key][1].close)
            patched.setattr(made[key][1], "close", lambda: None)  # a run that ends would close it for the others
        _, caller = made[key]
        caller.states.forget()
        caller.forget_calls()
        return caller

    with patch.context() as patched, ExitStack() as closing:
        patched.setattr(engine, "make_caller", kept)
        patched.setattr(caller, "CHECKS", 0)
        yield
