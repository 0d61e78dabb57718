"""changes, istream, dstream, distinct, except, intersect: how often each row is there, before and after an instant.

Every row makes two events: it adds its change at its time, and takes it back when it ends. Only row values with an
event in the range of a call are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from headgate.plan.flows import Flow
from headgate.plan.operators import Changes, Distinct, Except, Intersect
from headgate.plan.schema import ARRIVAL, CHANGE, FOREVER, RELATION_STAMPS, SEQUENCE, TIME, UNTIL
from headgate.runtime.spark.stateful.base import LogSpec, Stateful, Step
from headgate.runtime.spark.stateful.rows import (
    FROM,
    NOW,
    TO,
    Frames,
    StructType,
    as_relation,
    col,
    cols,
    in_range,
    log_schema,
    long,
    netted,
    private,
    renamed,
    repeated,
    same,
    user_fields,
)

_SIDE = private("side")  # which input a row came from: 0 or 1
_LAST = private("last")  # the last event that a row makes
_AT, _EVENT, _MORE = private("at"), private("event"), private("more")
_COUNTS = (private("first"), private("second"))

SetOperator = Changes | Distinct | Except | Intersect


class SetStep(Stateful):
    """`changes` is linear: the difference at an instant is the sum of the events there, whatever was before. The
    others need to know how often an affected row was there before."""

    def __init__(
        self, operator: SetOperator, schemas: Sequence[StructType], flows: Sequence[Flow], single: bool
    ) -> None:
        self._operator = operator
        self._flows = flows
        self._frames = Frames(single)
        self._linear = isinstance(operator, Changes)
        self._stream = not operator.flow(flows, operator.id).relation
        fields = _merged_fields(schemas)
        self._names = [f.name for f in fields]
        self.logs = {
            "rows": LogSpec(
                log_schema(fields, (*RELATION_STAMPS, _SIDE, _LAST)),
                expiry=_LAST,
                events=(TIME, UNTIL),
                shrinks=not self._linear,
            )
        }
        self._types = {f.name: f.dataType for f in fields}

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: DataFrame) -> Step:
        inputs = self._frames.taken(inputs)
        new = self._frames.union(*[self._taken(frame, side) for side, frame in enumerate(inputs)])
        beside = self._frames.bounded(self._frames.union(logs["rows"], new), bounds)
        events = self._in_range(beside) if self._linear else self._since_before(beside)
        waiting = self._frames.bounded(new, bounds).where(col(_LAST) > col(TO))
        return Step(self._results(events), {"rows": waiting.select(*cols(self.logs["rows"].schema.names))})

    def compacted(self, name: str, log: DataFrame, bounds: DataFrame) -> DataFrame:
        return netted(self._frames, log, bounds, (*self._names, _SIDE, _LAST)) if self.logs[name].shrinks else log

    def _taken(self, frame: DataFrame, side: int) -> DataFrame:
        rows = as_relation(frame, self._operator.windows[side], self._flows[side])
        users = [c for c in rows.columns if c not in RELATION_STAMPS]
        aligned = [col(mine).cast(self._types[n]).alias(n) for mine, n in zip(users, self._names, strict=True)]
        # A row that never leaves makes no event after its time; but who counts must remember that it is there.
        last = F.when(col(UNTIL) == FOREVER, col(TIME)).otherwise(col(UNTIL)) if self._linear else col(UNTIL)
        return rows.select(*aligned, *cols(RELATION_STAMPS), long(side).alias(_SIDE), last.alias(_LAST))

    def _in_range(self, beside: DataFrame) -> DataFrame:
        """Value, instant, and by how much the count changes there."""
        touched = beside.where(in_range(col(TIME)) | in_range(col(UNTIL)))
        events = self._events(touched, base=False)
        return events.groupBy(*cols(self._names), col(_AT)).agg(*_latest(), F.sum(CHANGE).alias(_MORE))

    def _since_before(self, beside: DataFrame) -> DataFrame:
        alive = beside.where(col(UNTIL) > col(FROM))
        touched = alive.where((col(TIME) > col(FROM)) & (col(TIME) <= col(TO)) | (col(UNTIL) <= col(TO)))
        values, fresh = renamed(touched.select(*cols(self._names)).distinct(), self._names, "value")
        affected = self._frames.only(alive, values, same(self._names, fresh))
        events = self._events(affected, base=True)
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

    def _events(self, rows: DataFrame, base: bool) -> DataFrame:
        """What each row does in the range; with `base`, also what it counts for just before, at FROM."""
        nothing = F.lit(None).cast("bigint")
        begin = F.struct(col(TIME).alias(_AT), col(CHANGE).alias(CHANGE), col(ARRIVAL).alias(ARRIVAL))
        end = F.struct(col(UNTIL).alias(_AT), (-col(CHANGE)).alias(CHANGE), nothing.alias(ARRIVAL))
        before = F.struct(col(FROM).alias(_AT), col(CHANGE).alias(CHANGE), nothing.alias(ARRIVAL))
        first = F.when(col(TIME) <= col(FROM), before).otherwise(begin) if base else begin
        exploded = rows.select(
            *cols(self._names), SEQUENCE, _SIDE, FROM, TO, NOW, F.explode(F.array(first, end)).alias(_EVENT)
        )
        flat = exploded.select(*cols(self._names), SEQUENCE, _SIDE, FROM, TO, NOW, f"{_EVENT}.*")
        kept = (col(_AT) >= col(FROM)) & (col(_AT) <= col(TO)) if base else in_range(col(_AT))
        return flat.where(kept)

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

    def _results(self, events: DataFrame) -> DataFrame:
        more = col(_MORE)
        match self._operator:
            case Changes(mode="istream"):
                kept = events.where(more > 0)
            case Changes(mode="dstream"):
                kept = events.where(more < 0)
            case _:
                kept = events.where(more != 0)
        counted = isinstance(self._operator, Changes) or getattr(self._operator, "all", False)
        rows = repeated(kept, F.abs(more)) if counted else kept
        stamps = [F.coalesce(col(ARRIVAL), col(NOW)).alias(ARRIVAL), col(SEQUENCE), col(_AT).alias(TIME)]
        if not self._stream:
            stamps += [long(FOREVER).alias(UNTIL), F.signum(more).cast("bigint").alias(CHANGE)]
        return rows.select(*cols(self._names), *stamps)


def _latest() -> list[Column]:
    return [F.max(ARRIVAL).alias(ARRIVAL), F.max(SEQUENCE).alias(SEQUENCE), F.max(NOW).alias(NOW)]


def _merged_fields(schemas: Sequence[StructType]) -> list[StructField]:
    """The columns of the first input; types that differ are widened as a union widens them."""
    first = user_fields(schemas[0])
    if len(schemas) == 1:
        return first
    from pyspark.sql import SparkSession

    session = SparkSession.active()
    frames = [session.createDataFrame([], StructType(user_fields(s))) for s in schemas]
    return user_fields(frames[0].union(frames[1]).schema)
