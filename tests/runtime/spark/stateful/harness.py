"""Runs an operator with state as the runtime does: calls with bounds, logs whose chunks expire, compaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Operator
from headgate.runtime.spark.internals.guards import why_not_prepared
from headgate.runtime.spark.internals.leaf import Leaf
from headgate.runtime.spark.stateful.base import Instants, LogSpec, Stateful, StepResult, make_stateful
from headgate.sql.schema import CHANGE, RELATION_STAMPS, SEQUENCE, TIME, UNTIL

BEGINNING = -(2**62)
BOUNDS = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in ("_from", "_to", "_now")])
Row = tuple[Any, ...]


@dataclass
class Call:
    """Rows that arrive at each input, and the instant up to which the call evaluates."""

    inputs: list[list[Row]]
    to: int


def input_schema(columns: str, flow: Flow) -> pa.Schema:
    """The schema of `columns`, written in Spark SQL, followed by the stamps of the flow."""
    users = to_arrow_schema(StructType.fromDDL(columns), timezone="UTC")
    stamps = [pa.field(n, pa.int64(), nullable=n == TIME) for n in flow.stamps]
    return pa.schema([*users, *stamps])


def table(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    listed = list(rows)
    columns = list(zip(*listed, strict=True)) if listed else [()] * len(schema)
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)


class Prepared:
    """One plan over leaves, used for all calls."""

    def __init__(
        self, session: SparkSession, stateful: Stateful, inputs: Sequence[pa.Schema], allow: Sequence[str] = ()
    ):
        logs = {name: to_arrow_schema(spec.schema, timezone="UTC") for name, spec in stateful.logs.items()}
        self._leaves = [Leaf(session, schema) for schema in inputs]
        self._logs = {name: Leaf(session, schema) for name, schema in logs.items()}
        self._bounds = Leaf(session, BOUNDS)
        step = stateful.step(
            [x.frame for x in self._leaves], {n: x.frame for n, x in self._logs.items()}, self._bounds.frame
        )
        self.output_schema = step.output.schema
        self.frame = combined_outputs(step, single=True)
        self.names = ["", *step.grown]
        self.schema = to_arrow_schema(self.frame.schema, timezone="UTC")
        self.reason = why_not_prepared(self.frame, [], 0)

    def run(self, inputs: Sequence[pa.Table], logs: dict[str, pa.Table], bounds: pa.Table) -> dict[str, pa.Table]:
        for leaf, rows in zip(self._leaves, inputs, strict=True):
            leaf.set(rows)
        for name, leaf in self._logs.items():
            leaf.set(logs[name])
        self._bounds.set(bounds)
        return split_outputs(collect(self.frame, self.schema), self.names)


def collect(frame: Any, schema: pa.Schema) -> pa.Table:
    return pa.Table.from_batches(frame._collect_as_arrow(), schema=schema)


def combined_outputs(step: StepResult, single: bool) -> DataFrame:
    results = [step.output, *step.grown.values()]
    tagged = []
    for index, result in enumerate(results):
        columns = [
            F.struct(*[F.col(f"`{c}`") for c in result.columns]) if i == index else F.lit(None).cast(other.schema)
            for i, other in enumerate(results)
        ]
        tagged.append(result.select(F.lit(index).alias("_output"), *[c.alias(f"_{i}") for i, c in enumerate(columns)]))
    united = reduce(DataFrame.union, tagged)
    return united.coalesce(1) if single else united


def split_outputs(rows: pa.Table, names: Sequence[str]) -> dict[str, pa.Table]:
    found = {}
    for index, name in enumerate(names):
        column = rows.filter(pc.equal(rows["_output"], index)).column(f"_{index}")
        schema = pa.schema([pa.field(f.name, f.type) for f in column.type])
        batches = [pa.RecordBatch.from_arrays(c.flatten(), schema=schema) for c in column.chunks]
        found[name] = pa.Table.from_batches(batches, schema=schema)
    return found


@dataclass
class Runner:
    """Runs calls of one operator and keeps its state between them."""

    session: SparkSession
    operator: Operator
    columns: Sequence[str]
    flows: Sequence[Flow]
    single: bool = True
    compact: bool = False
    expire: bool = True
    chunks: dict[str, list[pa.Table]] = field(default_factory=dict)
    result: pa.Table | None = None

    def __post_init__(self) -> None:
        self.schemas = [input_schema(c, f) for c, f in zip(self.columns, self.flows, strict=True)]
        structs = [from_arrow_schema(s) for s in self.schemas]
        self.stateful = make_stateful(self.operator, structs, self.flows, self.session, self.single)
        self.log_schemas = {n: to_arrow_schema(spec.schema, timezone="UTC") for n, spec in self.stateful.logs.items()}
        self.chunks = {name: [] for name in self.stateful.logs}
        self.prepared = Prepared(self.session, self.stateful, self.schemas) if self.single else None
        self.reset()

    def reset(self) -> None:
        self.chunks = {name: [] for name in self.stateful.logs}
        self.since = BEGINNING
        self.result = None

    def log(self, name: str) -> pa.Table:
        schema = self.log_schemas[name]
        return pa.concat_tables([schema.empty_table(), *[c.cast(schema) for c in self.chunks[name]]])

    def run(self, calls: Sequence[Call]) -> pa.Table:
        """Run the calls one after another from an empty state. Returns all their results."""
        self.reset()
        outputs = [self.call(call) for call in calls]
        self.result = pa.concat_tables(outputs)
        return self.result

    def call(self, call: Call) -> pa.Table:
        inputs = [table(rows, schema) for rows, schema in zip(call.inputs, self.schemas, strict=True)]
        bounds = Instants(self.since, call.to, 10**12)
        logs = {name: self.log(name) for name in self.stateful.logs}
        if self.prepared is not None:
            found = self.prepared.run(inputs, logs, table([bounds], BOUNDS))
        else:
            found = self._ordinary(inputs, logs, bounds)
        self.since = call.to
        for name, spec in self.stateful.logs.items():
            assert found[name].schema.names == spec.schema.names
            self.chunks[name].append(found[name])
            if self.expire:
                self.chunks[name] = [c for c in self.chunks[name] if self._useful(c, spec)]
            if self.compact and spec.shrinks and self.chunks[name]:
                self.chunks[name] = [self._compacted(name)]
        return found[""]

    def _useful(self, chunk: pa.Table, spec: LogSpec) -> bool:
        if chunk.num_rows == 0:
            return False
        if spec.expiry is None:
            return True
        last = pc.max(chunk[spec.expiry]).as_py()
        return last is not None and last + spec.hold > self.since

    def _frame(self, rows: pa.Table, schema: pa.Schema) -> DataFrame:
        frame: DataFrame = self.session.createDataFrame(rows, schema=from_arrow_schema(schema))
        return frame.coalesce(1) if self.single else frame.repartition(2)

    def _ordinary(self, inputs: list[pa.Table], logs: dict[str, pa.Table], bounds: Instants) -> dict[str, pa.Table]:
        step = self.stateful.step(
            [self._frame(t, s) for t, s in zip(inputs, self.schemas, strict=True)],
            {n: self._frame(t, self.log_schemas[n]) for n, t in logs.items()},
            bounds,
        )
        frame = combined_outputs(step, self.single)
        return split_outputs(collect(frame, to_arrow_schema(frame.schema, timezone="UTC")), ["", *step.grown])

    def _compacted(self, name: str) -> pa.Table:
        bounds = Instants(BEGINNING, self.since, 0)
        schema = self.log_schemas[name]
        before = self.log(name)
        smaller = self.stateful.compacted(name, self._frame(before, schema), bounds)
        assert smaller.columns == schema.names
        after = collect(smaller, to_arrow_schema(smaller.schema, timezone="UTC"))
        assert after.num_rows <= before.num_rows
        return after


def cut(
    inputs: Sequence[Sequence[Row]], stops: Sequence[int], time_at: Sequence[int], lead: Callable[[int], int]
) -> list[Call]:
    """The rows of each input, cut into calls that evaluate up to each of `stops`.

    Row n arrives in the call of its time or up to `lead(n)` calls earlier; late rows arrive in any call.
    """
    calls = [Call([[] for _ in inputs], stop) for stop in stops]
    for which, rows in enumerate(inputs):
        for n, row in enumerate(rows):
            time = row[time_at[which]]
            due = next(i for i, stop in enumerate(stops) if time is None or time <= stop)
            if time is None:
                due = n % len(stops)
            calls[max(0, due - lead(n))].inputs[which].append(row)
    return calls


def content(results: pa.Table, users: int, at: int) -> Counter[str]:
    """The relation at an instant, according to the result rows."""
    found: Counter[str] = Counter()
    for row in results.to_pylist():
        if row[TIME] <= at < row[UNTIL]:
            found[repr(list(row.values())[:users])] += row[CHANGE]
    assert all(n >= 0 for n in found.values()), found
    return +found


def contents(results: pa.Table, instants: Iterable[int]) -> dict[int, Counter[str]]:
    users = len(results.schema.names) - len(RELATION_STAMPS)
    check_stamps(results)
    return {at: content(results, users, at) for at in instants}


def check_stamps(results: pa.Table) -> None:
    assert pc.all(pc.greater_equal(results[SEQUENCE], 0)).as_py() in (True, None)
    for name in results.schema.names:
        if name in RELATION_STAMPS:
            assert results[name].null_count == 0, name
            assert results[name].type == pa.int64(), name
    if UNTIL in results.schema.names:
        assert pc.all(pc.less(results[TIME], results[UNTIL])).as_py() in (True, None)


def stream_content(results: pa.Table) -> Counter[str]:
    """The rows of a stream as a multiset of values and time."""
    check_stamps(results)
    users = len(results.schema.names) - 3
    return Counter(repr((list(r.values())[:users], r[TIME])) for r in results.to_pylist())
