"""aggregate over rows that never leave: each group's values so far, carried from call to call.

Values are folded row by row in order of time, beginning with those in the log, so their bits do not depend on how rows
were cut into calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, Window
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
    in_range,
    log_schema,
    long,
    null_safe_equal,
    private,
    repeat_rows,
    with_fresh_names,
)
from headgate.runtime.spark.stateful.latest_versions import NEXT, ONE, keyed, newest
from headgate.runtime.spark.stateful.partial_values import AggregateCalls, group_columns, group_fields, group_values
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, SEQUENCE, STAMPS, TIME

_OLD = private("old")  # 1: values from the log, 0: a row
_PREVIOUS = private("previous")
_NEXT_ARRIVAL = private("next_arrival")


class RunningAggregate(Stateful):
    """The log of values holds every version; only the latest counts, and compaction drops the others."""

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
        fields = [*group_fields(self._groups, types), *[p.field() for p in calls.partials]]
        self._partials = [p.name for p in calls.partials]
        self.logs = {
            "waiting": LogSpec(log_schema(fields, STAMPS), expiry=TIME, events=(TIME,)),
            "latest": LogSpec(log_schema(fields, STAMPS), expiry=None, shrinks=True),
        }

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = self._taken(inputs[0])
        bounded = self._frames.with_bounds(self._frames.union(logs["waiting"], new), bounds)
        ready = bounded.where(in_range(col(TIME))).select(*cols(new.columns))
        folded = self._folded(ready, logs["latest"])
        waiting = self._frames.with_bounds(new, bounds).where(col(TIME) > col(TO))
        columns = self.logs["latest"].schema.names
        latest = folded.where((col(_OLD) == 0) & col(NEXT).isNull())
        return StepResult(
            self._results(folded), {"waiting": waiting.select(*cols(columns)), "latest": latest.select(*cols(columns))}
        )

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        return newest(log, [*self._groups, ONE]).select(*cols(log.columns)) if name == "latest" else log

    def _taken(self, frame: DataFrame) -> DataFrame:
        rows = as_relation(frame, self._operator.window, self._flow)
        if self._flow.relation:
            rows = repeat_rows(rows, col(CHANGE))
        groups = group_values(self._groups, self._operator.group)
        taken = rows.select(*groups, *[p.row() for p in self._calls.partials], *cols(STAMPS))
        return self._frames.restore_single_partition(taken, self._operator.group.values())

    def _folded(self, ready: DataFrame, log: DataFrame) -> DataFrame:
        """The values of each group from each of its instants on, and those from the log."""
        keys = [*self._groups, ONE]
        came = keyed(ready)
        affected, fresh = with_fresh_names(came.select(*cols(keys)).distinct(), keys, "key")
        mine = self._frames.semi_join(keyed(log), affected, null_safe_equal(keys, fresh))
        old = newest(mine, [*self._groups, ONE]).drop(NEXT)
        columns = [*keys, *self._partials, *STAMPS]
        rows = self._frames.union(
            old.select(*cols(columns), F.lit(1).alias(_OLD)), came.select(*cols(columns), F.lit(0).alias(_OLD))
        )
        order = [col(_OLD).desc(), *cols([TIME, SEQUENCE, *self._calls.ordered])]
        by = Window.partitionBy(*cols(keys)).orderBy(*order)
        so_far = by.rowsBetween(Window.unboundedPreceding, 0)
        instant = private("instant")
        merged = rows.select(
            *cols([*keys, TIME, _OLD]),
            *[p.running(so_far) for p in self._calls.partials],
            F.max(SEQUENCE).over(so_far).alias(SEQUENCE),
            F.max(ARRIVAL).over(so_far).alias(ARRIVAL),
            F.lead(TIME).over(by).alias(instant),
        )
        # The old row's time is before all new ones, so an instant's last row is the one before a different time.
        last = merged.where(col(instant).isNull() | (col(instant) != col(TIME))).drop(instant)
        instants = Window.partitionBy(*cols(keys)).orderBy(col(TIME))
        return last.select(
            "*", F.lead(TIME).over(instants).alias(NEXT), F.lead(ARRIVAL).over(instants).alias(_NEXT_ARRIVAL)
        )

    def _results(self, folded: DataFrame) -> DataFrame:
        old = col(_OLD) == 1
        stamps = [
            F.when(old, col(_NEXT_ARRIVAL)).otherwise(
                col(ARRIVAL)
            ),  # the cause of the next value takes the old one away
            col(SEQUENCE),
            F.when(old, col(NEXT)).otherwise(col(TIME)),
            F.when(old, long(FOREVER)).otherwise(F.coalesce(col(NEXT), long(FOREVER))),
            F.when(old, long(-1)).otherwise(long(1)),
        ]
        return self._calls.results(folded.where(~old | col(NEXT).isNotNull()), list(self._operator.group), stamps)
