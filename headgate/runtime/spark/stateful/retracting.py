"""aggregate of counts and exact sums over rows that leave or are taken away: running totals that add and subtract.

A row is added to its group's total when it enters and subtracted when it leaves. So a call costs only these events,
however many rows are in the window. Only for types that subtract exactly: a DOUBLE does not return to its old bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    NOW,
    TO,
    Frames,
    as_relation,
    col,
    cols,
    in_range,
    log_schema,
    long,
    null_safe_equal,
    private,
    with_fresh_names,
)
from headgate.runtime.spark.stateful.latest_versions import NEXT, ONE, keyed, newest
from headgate.runtime.spark.stateful.partial_values import AggregateCalls, group_columns, group_fields, group_values
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, SEQUENCE, STAMPS, TIME, UNTIL

_OLD = private("old")  # 1: totals from the log, 0: a change
_COUNT = private("count")  # rows in the group
_LAST = private("last")  # the last event of a row
_EVENT, _AT, _SIGN = private("event"), private("at"), private("sign")
_NEXT_ARRIVAL, _NEXT_SEQUENCE = private("next_arrival"), private("next_sequence")
_FOLLOWING = ((TIME, NEXT), (ARRIVAL, _NEXT_ARRIVAL), (SEQUENCE, _NEXT_SEQUENCE))


class RetractingAggregate(Stateful):
    """The log of totals holds every version; only the latest counts, and compaction drops the others."""

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
        self._keys = [*self._groups, ONE]
        fields = [*group_fields(self._groups, types), *[p.field() for p in calls.partials]]
        self._totals = [*[p.name for p in calls.partials], _COUNT]
        self.logs = {
            "rows": LogSpec(
                log_schema(fields, (*STAMPS, UNTIL, _COUNT, _LAST)),
                expiry=_LAST,
                events=(TIME, UNTIL),
                shrinks=operator.sliding,
            ),
            "totals": LogSpec(log_schema(fields, (*STAMPS, _COUNT)), expiry=None, shrinks=True),
        }

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = self._taken(inputs[0])
        names = self.logs["rows"].schema.names
        bounded = self._frames.with_bounds(self._frames.union(logs["rows"], new.select(*cols(names))), bounds)
        totals = self._running(self._changes(bounded), logs["totals"])
        latest = totals.where((col(_OLD) == 0) & col(NEXT).isNull())
        later = self._frames.with_bounds(new, bounds).where(col(_LAST) > col(TO))
        return StepResult(
            self._results(totals),
            {"rows": later.select(*cols(names)), "totals": latest.select(*cols(self.logs["totals"].schema.names))},
        )

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        if name != "totals":
            return self._folded(log).select(*cols(log.columns)) if self.logs[name].shrinks else log
        kept = newest(log, self._keys).select(*cols(log.columns))
        return kept.where(col(_COUNT) > 0) if self._groups else kept

    def _taken(self, frame: DataFrame) -> DataFrame:
        """Each row as its contribution to its group's totals."""
        rows = as_relation(frame, self._operator.window, self._flow)
        groups = group_values(self._groups, self._operator.group)
        last = F.when(col(UNTIL) == FOREVER, col(TIME)).otherwise(col(UNTIL))
        partials = [p.row() for p in self._calls.partials]
        kept = [*cols([*STAMPS, UNTIL]), col(CHANGE).alias(_COUNT), last.alias(_LAST)]
        taken = self._frames.restore_single_partition(
            rows.select(*groups, *partials, *kept), self._operator.group.values()
        )
        if not self._flow.relation:
            return self._folded(taken).select(*cols(taken.columns)) if self._operator.sliding else taken
        weighed = {p.name: p.weighed(col(_COUNT)).alias(p.name) for p in self._calls.partials}
        return taken.select(*[weighed.get(c, col(c)) for c in taken.columns])

    def _folded(self, rows: DataFrame) -> DataFrame:
        """Rows that enter and leave together, merged into one."""
        sums = [F.sum(name).cast(rows.schema[name].dataType).alias(name) for name in self._totals]
        latest = [F.max(c).alias(c) for c in (ARRIVAL, SEQUENCE)]
        return rows.groupBy(*cols([*self._groups, TIME, UNTIL, _LAST])).agg(*sums, *latest)

    def _changes(self, bounded: DataFrame) -> DataFrame:
        """The change of each group's totals at each instant in range."""
        touched = keyed(bounded).where(in_range(col(TIME)) | in_range(col(UNTIL)))
        came = F.struct(col(TIME).alias(_AT), F.lit(1).alias(_SIGN))
        went = F.struct(col(UNTIL).alias(_AT), F.lit(-1).alias(_SIGN))
        exploded = touched.withColumn(_EVENT, F.explode(F.array(came, went))).select("*", f"{_EVENT}.*")
        came_now = F.when(col(_SIGN) > 0, col(ARRIVAL))
        sums = [self._signed(name) for name in self._totals]
        summed = exploded.where(in_range(col(_AT))).groupBy(*cols([*self._keys, _AT]))
        return summed.agg(
            *sums, F.coalesce(F.max(came_now), F.max(NOW)).alias(ARRIVAL), F.max(SEQUENCE).alias(SEQUENCE)
        ).withColumnRenamed(_AT, TIME)

    def _signed(self, name: str) -> Column:
        kinds = {p.name: p.type for p in self._calls.partials}
        total = F.sum(F.when(col(_SIGN) > 0, col(name)).otherwise(-col(name)))
        return total.cast(kinds.get(name, "bigint")).alias(name)

    def _running(self, changes: DataFrame, log: DataFrame) -> DataFrame:
        """The totals of each changed group: those from the log, and those at each of its instants."""
        affected, fresh = with_fresh_names(changes.select(*cols(self._keys)).distinct(), self._keys, "key")
        mine = self._frames.semi_join(keyed(log), affected, null_safe_equal(self._keys, fresh))
        columns = [*self._keys, *self._totals, *STAMPS]
        rows = self._frames.union(
            newest(mine, self._keys).select(*cols(columns), F.lit(1).alias(_OLD)),
            changes.select(*cols(columns), F.lit(0).alias(_OLD)),
        )
        by = Window.partitionBy(*cols(self._keys)).orderBy(col(TIME))
        so_far = by.rowsBetween(Window.unboundedPreceding, 0)
        return rows.select(
            *cols([*self._keys, *STAMPS, _OLD]),
            *[p.running(so_far) for p in self._calls.partials],
            F.sum(_COUNT).over(so_far).alias(_COUNT),
            *[F.lead(c).over(by).alias(n) for c, n in _FOLLOWING],
        )

    def _results(self, totals: DataFrame) -> DataFrame:
        old = col(_OLD) == 1
        shown = ~old | col(NEXT).isNotNull()
        if self._groups:  # without groups, an empty relation has a row too
            shown = shown & (col(_COUNT) > 0)
        # An old value is taken away by the cause of the instant that follows.
        stamps = [
            F.when(old, col(_NEXT_ARRIVAL)).otherwise(col(ARRIVAL)),
            F.when(old, col(_NEXT_SEQUENCE)).otherwise(col(SEQUENCE)),
            F.when(old, col(NEXT)).otherwise(col(TIME)),
            F.when(old, long(FOREVER)).otherwise(F.coalesce(col(NEXT), long(FOREVER))),
            F.when(old, long(-1)).otherwise(long(1)),
        ]
        return self._calls.results(totals.where(shown), list(self._operator.group), stamps)
