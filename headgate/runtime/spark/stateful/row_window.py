"""rows: a window of the last n tuples, by their position in order of time.

With SLIDE m, the tuple at position p (counted from 1) enters with tuple number ceil(p/m)*m, and leaves with the tuple
whose number is the first multiple of m not below p + n. Their times are known only when these tuples have arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.operators import RowWindow
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    TO,
    Frames,
    ceiling,
    col,
    cols,
    in_range,
    log_schema,
    long,
    null_safe_equal,
    private,
    sortable,
    stream_rows,
    user_fields,
    with_fresh_names,
)
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, SEQUENCE, STAMPS, TIME, UNTIL

_POSITION = private("position")
_COUNT = private("count")  # the partition's tuples before this call
_ONE = private("one")  # one key for all rows, where no column partitions them


class StatefulRowWindow(Stateful):
    """Keeps the tuples that wait for their instant, and the placed ones that have not left; with `boundaries`, only
    how many were placed."""

    def __init__(self, operator: RowWindow, schema: StructType, single: bool) -> None:
        self._window = operator.window
        self._boundaries = operator.boundaries
        self._frames = Frames(single)
        fields = user_fields(schema)
        self._names = [f.name for f in fields]
        actual = {name.lower(): name for name in self._names}
        self._keys = [actual[name.lower()] for name in self._window.partition]
        self._order = [TIME, SEQUENCE, *sortable(fields)]
        by = [f for f in fields if f.name in self._keys]
        placed = log_schema(by, (SEQUENCE, _POSITION)) if self._boundaries else log_schema(fields, (*STAMPS, _POSITION))
        self.logs = {
            "waiting": LogSpec(log_schema(fields, STAMPS), expiry=TIME, events=(TIME,)),
            "placed": LogSpec(placed, expiry=None, shrinks=True),
        }

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = stream_rows(inputs[0])
        bounded = self._frames.with_bounds(self._frames.union(logs["waiting"], new), bounds)
        ready = bounded.where(in_range(col(TIME))).select(*cols(self._names), *cols(STAMPS))
        placed = self._placed(ready, logs["placed"])
        waiting = self._frames.with_bounds(new, bounds).where(col(TIME) > col(TO))
        if self._boundaries:
            output = placed.where(F.pmod(col(_POSITION), long(self._window.slide)) == 0)
            counted = placed.groupBy(*cols(self._keys)).agg(
                F.max(SEQUENCE).alias(SEQUENCE), F.max(_POSITION).alias(_POSITION)
            )
            grown = counted.where(col(_POSITION).isNotNull())
            output = output.select(*cols(self._names), *cols(STAMPS))
        else:
            output = self._results(logs["placed"], placed)
            grown = placed
        return StepResult(
            output,
            {
                "waiting": waiting.select(*cols(self.logs["waiting"].schema.names)),
                "placed": grown.select(*cols(self.logs["placed"].schema.names)),
            },
        )

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        if name != "placed":
            return log
        if self._boundaries:
            most = log.groupBy(*cols(self._keys)).agg(
                F.max(SEQUENCE).alias(SEQUENCE), F.max(_POSITION).alias(_POSITION)
            )
            return most.where(col(_POSITION).isNotNull()).select(*cols(log.columns))
        everything = Window.partitionBy(*self._partition())
        counted = log.withColumn(_COUNT, F.max(_POSITION).over(everything))
        return counted.where(self._leaves() > col(_COUNT)).select(*cols(log.columns))

    def _partition(self) -> list[Column]:
        return cols(self._keys) or [col(SEQUENCE).bitwiseAND(0)]

    def _placed(self, ready: DataFrame, log: DataFrame) -> DataFrame:
        """The tuples that this call places, with their positions."""
        order = Window.partitionBy(*self._partition()).orderBy(*cols(self._order))
        numbered = ready.withColumn(_POSITION, F.row_number().over(order).cast("bigint"))
        before = self._keyed(log).groupBy(*cols([*self._keys, _ONE])).agg(F.max(_POSITION).alias(_COUNT))
        other, fresh = with_fresh_names(before, [*self._keys, _ONE], "before")
        joined = self._frames.join(self._keyed(numbered), other, null_safe_equal([*self._keys, _ONE], fresh), "left")
        position = col(_POSITION) + F.coalesce(col(_COUNT), long(0))
        return joined.select(*cols(self._names), *cols(STAMPS), position.alias(_POSITION))

    def _keyed(self, frame: DataFrame) -> DataFrame:
        return frame.withColumn(_ONE, col(SEQUENCE).bitwiseAND(0))

    def _enters(self) -> Column:
        return ceiling(col(_POSITION), self._window.slide)

    def _leaves(self) -> Column:
        return ceiling(col(_POSITION) + long(self._window.count), self._window.slide)

    def _results(self, log: DataFrame, placed: DataFrame) -> DataFrame:
        """Tuples that enter or leave with a tuple of this call."""
        turns = self._keyed(placed).where(F.pmod(col(_POSITION), long(self._window.slide)) == 0)
        turns = turns.select(*cols([*self._keys, _ONE, _POSITION, TIME, ARRIVAL]))
        rows = self._keyed(self._frames.union(log, placed))
        for name, position in (("enter", self._enters()), ("leave", self._leaves())):
            wanted = private(name)
            other, fresh = with_fresh_names(turns, turns.columns, name)
            match = null_safe_equal([*self._keys, _ONE], fresh[:-3]) & (col(wanted) == col(fresh[-3]))
            rows = self._frames.join(rows.withColumn(wanted, position), other, match, "left")
            rows = rows.withColumnRenamed(fresh[-2], private(f"{name}_time"))
            rows = rows.withColumnRenamed(fresh[-1], private(f"{name}_arrival"))
        came, went = col(private("enter_time")), col(private("leave_time"))
        seen = rows.where(came.isNotNull() | went.isNotNull())
        fresh_row = came.isNotNull()
        results = seen.select(
            *cols(self._names),
            F.coalesce(col(private("enter_arrival")), col(private("leave_arrival"))).alias(ARRIVAL),
            col(SEQUENCE),
            F.coalesce(came, went).alias(TIME),
            F.when(fresh_row, F.coalesce(went, long(FOREVER))).otherwise(long(FOREVER)).alias(UNTIL),
            F.when(fresh_row, long(1)).otherwise(long(-1)).alias(CHANGE),
        )
        return results.where(col(TIME) < col(UNTIL))
