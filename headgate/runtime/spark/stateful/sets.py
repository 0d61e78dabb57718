"""changes, istream, dstream, distinct, except, intersect: how often each row is present before and after an instant.

Every row makes two events: its change is added at its time and subtracted when it ends. Only rows whose values have an
event in the range of a call are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Changes, Distinct, Except, Intersect
from headgate.runtime.spark.internals.empty_frame import empty_frame
from headgate.runtime.spark.stateful.base import JOINT, CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    FROM,
    NOW,
    TO,
    Frames,
    as_relation,
    col,
    cols,
    in_range,
    log_schema,
    long,
    net_rows,
    null_safe_equal,
    private,
    repeat_rows,
    user_fields,
    with_fresh_names,
)
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, RELATION_STAMPS, SEQUENCE, TIME, UNTIL

_SIDE = private("side")  # the input that a row came from: 0 or 1
_LAST = private("last")  # the last event that a row makes
_AT, _EVENT, _MORE = private("at"), private("event"), private("more")
_NEW, _WANTED = private("new"), private("wanted")
_COUNTS = (private("first"), private("second"))

SetOperator = Changes | Distinct | Except | Intersect


class StatefulSetOperator(Stateful):
    """`changes` is linear: the difference at an instant is the sum of its events, whatever was there before. The other
    kinds need to know how often an affected row was present before."""

    def __init__(
        self, operator: SetOperator, schemas: Sequence[StructType], flows: Sequence[Flow], single: bool
    ) -> None:
        self._operator = operator
        self._flows = flows
        self._frames = Frames(single)
        self._linear = isinstance(operator, Changes)
        self._stamps = operator.flow(flows, operator.id).stamps
        fields = _merged_fields(schemas)
        self._names = [f.name for f in fields]
        self.logs = {
            "rows": LogSpec(
                log_schema(fields, (*RELATION_STAMPS, _SIDE, _LAST)),
                expiry=_LAST,
                events=(TIME, UNTIL),
                shrinks=not self._linear,
                sparse=self._linear,
            )
        }
        self._types = {f.name: f.dataType for f in fields}
        self.joint = self._linear

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = self._frames.union(*[self._taken(frame, side) for side, frame in enumerate(inputs)])
        if self._linear:
            return self._linear_step(new, logs["rows"], bounds)
        bounded = self._frames.with_bounds(self._frames.union(logs["rows"], new), bounds)
        waiting = self._frames.with_bounds(new, bounds).where(col(_LAST) > col(TO))
        results = self._results(self._count_changes(bounded))
        return StepResult(results, {"rows": waiting.select(*cols(self.logs["rows"].schema.names))})

    def _linear_step(self, new: DataFrame, log: DataFrame, bounds: CallBounds) -> StepResult:
        """The events of the range and the rows for the log, from one pass over the rows.

        Rows for the log go through the same sum as events, with their end as part of the key; equal rows become one
        with a higher count.
        """
        flagged = self._frames.union(log.withColumn(_NEW, F.lit(False)), new.withColumn(_NEW, F.lit(True)))
        bounded = self._frames.with_bounds(flagged, bounds)
        nothing = F.lit(None).cast("bigint")
        begin = _event(in_range(col(TIME)), col(TIME), col(CHANGE), col(ARRIVAL), nothing)
        end = _event(in_range(col(UNTIL)), col(UNTIL), -col(CHANGE), nothing, nothing)
        keep = _event(col(_NEW) & (col(_LAST) > col(TO)), col(TIME), col(CHANGE), col(ARRIVAL), col(UNTIL))
        touched = bounded.where(in_range(col(TIME)) | in_range(col(UNTIL)) | (col(_NEW) & (col(_LAST) > col(TO))))
        exploded = touched.select(*cols(self._names), SEQUENCE, NOW, F.explode(F.array(begin, end, keep)).alias(_EVENT))
        flat = exploded.select(*cols(self._names), SEQUENCE, NOW, f"{_EVENT}.*").where(col(_WANTED))
        summed = flat.groupBy(*cols(self._names), col(_AT), col(UNTIL)).agg(*_latest(), F.sum(CHANGE).alias(_MORE))
        joint = self._joint(summed.where(self._kept_counts() | col(UNTIL).isNotNull()))
        output = joint.where(col(JOINT) == 0).select(*cols([*self._names, *self._stamps]))
        waiting = joint.where(col(JOINT) == 1).select(*cols(self.logs["rows"].schema.names))
        return StepResult(output, {"rows": waiting}, joint)

    def _joint(self, summed: DataFrame) -> DataFrame:
        """One frame for both: results, with one row per copy, and rows for the log, with a count."""
        logged = col(UNTIL).isNotNull()
        copies = F.when(logged, long(1)).otherwise(F.abs(col(_MORE)))
        rows = repeat_rows(summed, copies)
        return rows.select(
            *cols(self._names),
            F.coalesce(col(ARRIVAL), col(NOW)).alias(ARRIVAL),
            col(SEQUENCE),
            col(_AT).alias(TIME),
            F.coalesce(col(UNTIL), long(FOREVER)).alias(UNTIL),
            F.when(logged, col(_MORE)).otherwise(F.signum(col(_MORE)).cast("bigint")).alias(CHANGE),
            long(0).alias(_SIDE),
            F.when(col(UNTIL) < FOREVER, col(UNTIL)).otherwise(col(_AT)).alias(_LAST),
            logged.cast("int").alias(JOINT),
        )

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        return net_rows(self._frames, log, bounds, (*self._names, _SIDE, _LAST)) if self.logs[name].shrinks else log

    def _taken(self, frame: DataFrame, side: int) -> DataFrame:
        rows = as_relation(frame, self._operator.windows[side], self._flows[side])
        users = [c for c in rows.columns if c not in RELATION_STAMPS]
        aligned = [col(mine).cast(self._types[n]).alias(n) for mine, n in zip(users, self._names, strict=True)]
        # A row that never leaves makes no event after its time, but all kinds except `changes` must still count it.
        last = F.when(col(UNTIL) == FOREVER, col(TIME)).otherwise(col(UNTIL)) if self._linear else col(UNTIL)
        return rows.select(*aligned, *cols(RELATION_STAMPS), long(side).alias(_SIDE), last.alias(_LAST))

    def _count_changes(self, bounded: DataFrame) -> DataFrame:
        alive = bounded.where(col(UNTIL) > col(FROM))
        touched = alive.where((col(TIME) > col(FROM)) & (col(TIME) <= col(TO)) | (col(UNTIL) <= col(TO)))
        values, fresh = with_fresh_names(touched.select(*cols(self._names)).distinct(), self._names, "value")
        affected = self._frames.semi_join(alive, values, null_safe_equal(self._names, fresh))
        events = self._events(affected)
        sides = [F.when(col(_SIDE) == side, col(CHANGE)).otherwise(long(0)) for side in (0, 1)]
        counts = [F.sum(side).alias(name) for side, name in zip(sides, _COUNTS, strict=True)]
        summed = events.groupBy(*cols(self._names), col(_AT)).agg(*_latest(), F.max(FROM).alias(FROM), *counts)
        history = Window.partitionBy(*cols(self._names)).orderBy(col(_AT)).rowsBetween(Window.unboundedPreceding, 0)
        totals = [F.sum(name).over(history).alias(private(f"total{i}")) for i, name in enumerate(_COUNTS)]
        known = summed.select("*", *totals)
        after = [col(private(f"total{i}")) for i in (0, 1)]
        before = [total - col(name) for total, name in zip(after, _COUNTS, strict=True)]
        more = self._multiplicity(*after) - self._multiplicity(*before)
        return known.where(col(_AT) > col(FROM)).withColumn(_MORE, more)

    def _events(self, rows: DataFrame) -> DataFrame:
        """The events of each row in the range, and at FROM how often it was present before."""
        nothing = F.lit(None).cast("bigint")
        begin = F.struct(col(TIME).alias(_AT), col(CHANGE).alias(CHANGE), col(ARRIVAL).alias(ARRIVAL))
        end = F.struct(col(UNTIL).alias(_AT), (-col(CHANGE)).alias(CHANGE), nothing.alias(ARRIVAL))
        before = F.struct(col(FROM).alias(_AT), col(CHANGE).alias(CHANGE), nothing.alias(ARRIVAL))
        first = F.when(col(TIME) <= col(FROM), before).otherwise(begin)
        exploded = rows.select(
            *cols(self._names), SEQUENCE, _SIDE, FROM, TO, NOW, F.explode(F.array(first, end)).alias(_EVENT)
        )
        flat = exploded.select(*cols(self._names), SEQUENCE, _SIDE, FROM, TO, NOW, f"{_EVENT}.*")
        return flat.where((col(_AT) >= col(FROM)) & (col(_AT) <= col(TO)))

    def _multiplicity(self, first: Column, second: Column) -> Column:
        one, zero = long(1), long(0)
        match self._operator:
            case Except(all=True):
                return F.greatest(first - second, zero)
            case Except():
                return F.when((first > 0) & (second <= 0), one).otherwise(zero)
            case Intersect(all=True):
                return F.greatest(F.least(first, second), zero)
            case Intersect():
                return F.when((first > 0) & (second > 0), one).otherwise(zero)
        return F.when(first > 0, one).otherwise(zero)

    def _kept_counts(self) -> Column:
        """Which changes of a count are part of the result?"""
        match self._operator:
            case Changes(mode="istream"):
                return col(_MORE) > 0
            case Changes(mode="dstream"):
                return col(_MORE) < 0
        return col(_MORE) != 0

    def _results(self, events: DataFrame) -> DataFrame:
        more = col(_MORE)
        kept = events.where(self._kept_counts())
        rows = repeat_rows(kept, F.abs(more)) if getattr(self._operator, "all", False) else kept
        return rows.select(
            *cols(self._names),
            F.coalesce(col(ARRIVAL), col(NOW)).alias(ARRIVAL),
            col(SEQUENCE),
            col(_AT).alias(TIME),
            long(FOREVER).alias(UNTIL),
            F.signum(more).cast("bigint").alias(CHANGE),
        )


def _event(wanted: Column, at: Column, change: Column, arrival: Column, until: Column) -> Column:
    """An event of a row; `until` is set if the row is to be kept in the log."""
    return F.struct(
        wanted.alias(_WANTED), at.alias(_AT), change.alias(CHANGE), arrival.alias(ARRIVAL), until.alias(UNTIL)
    )


def _latest() -> list[Column]:
    return [F.max(ARRIVAL).alias(ARRIVAL), F.max(SEQUENCE).alias(SEQUENCE), F.max(NOW).alias(NOW)]


def _merged_fields(schemas: Sequence[StructType]) -> list[StructField]:
    """The columns of the first input; where types differ, they are widened as in a union."""
    first = user_fields(schemas[0])
    if len(schemas) == 1:
        return first
    from pyspark.sql import SparkSession

    session = SparkSession.active()
    frames = [empty_frame(session, StructType(user_fields(s))) for s in schemas]
    return user_fields(frames[0].union(frames[1]).schema)
