"""aggregate of values that can be merged but not subtracted, such as min and max, over rows that leave.

The instants of a call are the leaves of a binary tree. A row that is present from one instant to another is counted in
the few nodes that make up this span, and each instant merges the nodes above it. So n rows and m instants cost
(n + m) log m instead of n times m, however long rows stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    TO,
    Frames,
    as_relation,
    col,
    cols,
    earliest,
    log_schema,
    long,
    net_rows,
    private,
)
from headgate.runtime.spark.stateful.partial_values import AggregateCalls, group_columns, group_fields, group_values
from headgate.runtime.spark.stateful.timeline import (
    BEGAN,
    COUNT,
    FIRST,
    LAST,
    MOMENT,
    ONE,
    Timeline,
    moment_aggregates,
    result_stamps,
)
from headgate.sql.schema import ARRIVAL, CHANGE, RELATION_STAMPS, SEQUENCE, TIME, UNTIL

_LEVEL, _NODE = private("level"), private("node")
_BEGIN, _END = private("begin"), private("stop")  # of the nodes of a level that lie wholly within a span
_NUMBER = private("number")
_ROWS = private("rows")  # rows in the group
_INSTANT = -1  # the level that holds the data of each instant itself


class InstantTreeAggregate(Stateful):
    """Keeps, for each row, what it contributes to its group's values; compaction merges equal rows."""

    def __init__(
        self,
        operator: Aggregate,
        schema: StructType,
        flow: Flow,
        types: StructType,
        calls: AggregateCalls,
        single: bool,
    ) -> None:
        self._operator = operator
        self._flow = flow
        self._calls = calls
        self._frames = Frames(single)
        self._groups = group_columns(len(operator.group))
        fields = group_fields(self._groups, types)
        values = [p.field() for p in calls.partials]
        self._names = [f.name for f in (*fields, *values)]
        self._timeline = Timeline(self._frames, [*self._groups, ONE], values)
        self.logs = {
            "rows": LogSpec(
                log_schema([*fields, *values], RELATION_STAMPS), expiry=UNTIL, events=(TIME, UNTIL), shrinks=True
            )
        }
        if not operator.group:
            self.logs["began"] = BEGAN

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = self._taken(inputs[0])
        keyed = self._frames.union(logs["rows"], new).withColumn(ONE, col(SEQUENCE).bitwiseAND(0))
        rows = self._timeline.number_instants(self._frames.with_bounds(keyed, bounds), logs.get("began"), bounds)
        kept = self._frames.with_bounds(new, bounds).where(col(UNTIL) > col(TO))
        grown = {"rows": kept.select(*cols(new.columns))}
        if "began" in logs:
            grown["began"] = earliest(new)
        return StepResult(self._results(self._instants(self._nodes(rows))), grown)

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        if name == "began":
            return earliest(log)
        return self._folded(log) if self._operator.sliding else net_rows(self._frames, log, bounds, self._names)

    def _taken(self, frame: DataFrame) -> DataFrame:
        """Each row as its contribution to its group's values."""
        rows = as_relation(frame, self._operator.window, self._flow)
        groups = group_values(self._groups, self._operator.group)
        taken = rows.select(*groups, *[p.row() for p in self._calls.partials], *cols(RELATION_STAMPS))
        expanded = self._frames.restore_single_partition(taken, self._operator.group.values())
        return self._folded(expanded) if self._operator.sliding else expanded

    def _folded(self, rows: DataFrame) -> DataFrame:
        """Rows of a sliding window that enter and leave together, merged into one."""
        merged = [p.merged() for p in self._calls.partials]
        latest = [F.max(c).alias(c) for c in (ARRIVAL, SEQUENCE)]
        folded = rows.groupBy(*cols([*self._groups, TIME, UNTIL])).agg(*merged, *latest)
        return folded.withColumn(CHANGE, long(1)).select(*cols(rows.columns))

    def _nodes(self, rows: DataFrame) -> DataFrame:
        """The merged values of each tree node and, one level below the leaves, the data of each instant."""
        span = col(LAST) - col(FIRST)
        levels = F.sequence(F.lit(0), F.length(F.bin(span)) - 1)
        wanted = F.when(col(CHANGE) > 0, F.concat(F.array(F.lit(_INSTANT)), levels)).otherwise(F.array(F.lit(_INSTANT)))
        lifted = rows.withColumn(_LEVEL, F.explode(wanted))
        size = F.expr(f"shiftleft(1, greatest(`{_LEVEL}`, 0))")
        begin = F.ceil(col(FIRST) / size).cast("int")
        end = F.floor(col(LAST) / size).cast("int")
        spanned = lifted.withColumn(_BEGIN, begin).withColumn(_END, end)
        # At each level, at most two nodes are not part of a larger node within the span.
        odd = [
            F.when((col(_BEGIN) % 2 == 1) & (col(_BEGIN) < col(_END)), col(_BEGIN)),
            F.when((col(_END) % 2 == 1) & (col(_BEGIN) < col(_END)), col(_END) - 1),
        ]
        info = col(_LEVEL) == _INSTANT
        nodes = F.when(info, F.array(col(FIRST))).otherwise(F.array(*odd))
        counted = spanned.withColumn(_NODE, F.explode(nodes)).where(col(_NODE).isNotNull())
        values = [F.when(~info, p.weighed(col(CHANGE))).alias(p.name) for p in self._calls.partials]
        keys = [*self._timeline.keys, _LEVEL, _NODE]
        moments = [F.when(info, col(c)).alias(c) for c in MOMENT]
        flat = counted.select(*cols([*keys, COUNT]), *values, *moments, F.when(~info, col(CHANGE)).alias(_ROWS))
        return flat.groupBy(*cols([*keys, COUNT])).agg(*self._merged(), *moment_aggregates())

    def _merged(self) -> list[Column]:
        return [*[p.merged() for p in self._calls.partials], F.sum(_ROWS).alias(_ROWS)]

    def _instants(self, nodes: DataFrame) -> DataFrame:
        """The merged values of each instant: those of all nodes that contain it."""
        size = F.expr(f"shiftleft(1, greatest(`{_LEVEL}`, 0))")
        covered = F.sequence(col(_NODE) * size, F.least((col(_NODE) + 1) * size, col(COUNT)) - 1)
        spread = nodes.withColumn(_NUMBER, F.explode(covered))
        merged = spread.groupBy(*cols([*self._timeline.keys, _NUMBER])).agg(*self._merged(), *moment_aggregates())
        return self._timeline.with_next_instant(merged, _NUMBER)

    def _results(self, instants: DataFrame) -> DataFrame:
        shown = instants.where(col(_ROWS) > 0) if self._groups else instants
        return self._calls.results(shown, list(self._operator.group), result_stamps())
