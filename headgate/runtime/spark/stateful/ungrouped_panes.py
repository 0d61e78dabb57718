"""aggregate over RANGE .. SLIDE .. without groups: once the first tuple is in, even an empty window has a row."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headgate.runtime.spark.stateful.base import CallBounds, LogSpec
from headgate.runtime.spark.stateful.frames import col, cols, earliest, log_schema, private
from headgate.runtime.spark.stateful.panes import AT, BEFORE, KEPT, PaneAggregate
from headgate.sql.schema import SEQUENCE, TIME

_BEGAN = private("began")  # the boundary of the first window ever
_KNOWN = private("known")  # a row from the log: the beginning, as earlier calls found it
_LOGGED = private("logged")  # does the log have such a row?


class UngroupedPaneAggregate(PaneAggregate):
    """A new value replaces the one before it: that of the previous window, or of the empty one."""

    def _other_logs(self) -> dict[str, LogSpec]:
        return {"began": LogSpec(log_schema([], (SEQUENCE, TIME)), expiry=None, shrinks=True)}

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        return earliest(log) if name == "began" else super().compacted(name, log, bounds)

    def _changed(self, windows: DataFrame, logs: Mapping[str, DataFrame]) -> DataFrame:
        given = {AT: col(TIME), SEQUENCE: col(SEQUENCE)}
        columns = [given.get(f.name, F.lit(None).cast(f.dataType)).alias(f.name) for f in windows.schema]
        known = logs["began"].select(*columns, F.lit(True).alias(_KNOWN))
        lined = self._frames.union(windows.withColumn(_KNOWN, F.lit(False)), known)
        everything = Window.partitionBy(col(SEQUENCE).bitwiseAND(0))
        window = F.when(F.coalesce(~col(KEPT), F.lit(True)), col(AT))
        marked = lined.select(
            *cols(windows.columns),
            col(_KNOWN),
            F.min(window).over(everything).alias(_BEGAN),
            F.max(_KNOWN).over(everything).alias(_LOGGED),
        )
        begins = F.when(~col(KEPT) & (col(AT) == col(_BEGAN)) & ~col(_LOGGED), F.lit(2))
        rows = marked.where(~col(_KNOWN))
        return self._differing(rows, F.lit(True), (col(BEFORE) > 0) | (col(AT) > col(_BEGAN)), begins)
