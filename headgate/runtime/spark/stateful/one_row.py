"""aggregate over RANGE .. SLIDE .. without groups: from the first tuple on there is a row, for the empty window too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from headgate.plan.schema import SEQUENCE, TIME
from headgate.runtime.spark.stateful.base import LogSpec
from headgate.runtime.spark.stateful.panes import AT, BEFORE, KEPT, PaneAggregate
from headgate.runtime.spark.stateful.rows import col, cols, log_schema, private

_BEGAN = private("began")  # the boundary of the first window ever
_KNOWN = private("known")  # and whether an earlier call knew it


class OneRowAggregate(PaneAggregate):
    """Values that come take away those before them: of the window before, or of the empty one."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        waiting = self.logs.pop("waiting", None)
        self.logs["began"] = LogSpec(log_schema([], (SEQUENCE, TIME)), expiry=None, shrinks=True)
        if waiting is not None:
            self.logs["waiting"] = waiting

    def compacted(self, name: str, log: DataFrame, bounds: Any) -> DataFrame:
        if name != "began":
            return super().compacted(name, log, bounds)
        first = log.groupBy().agg(F.max(SEQUENCE).alias(SEQUENCE), F.min(TIME).alias(TIME))
        return first.where(col(TIME).isNotNull())

    def _changed(self, windows: DataFrame, logs: Mapping[str, DataFrame]) -> DataFrame:
        nothing = [F.lit(None).cast(f.dataType).alias(f.name) for f in windows.schema]
        known = logs["began"].select(
            *[
                {AT: col(TIME).alias(AT), SEQUENCE: col(SEQUENCE)}.get(f.name, n)
                for f, n in zip(windows.schema, nothing, strict=True)
            ],
            F.lit(True).alias(_KNOWN),
        )
        lined = self._frames.union(windows.withColumn(_KNOWN, F.lit(False)), known)
        everything = Window.partitionBy(col(SEQUENCE).bitwiseAND(0))
        window = F.when(F.coalesce(~col(KEPT), F.lit(True)), col(AT))
        marked = lined.select(
            *cols(windows.columns),
            col(_KNOWN),
            F.min(window).over(everything).alias(_BEGAN),
            F.max(_KNOWN).over(everything).alias(private("remembered")),
        )
        begins = F.when(~col(KEPT) & (col(AT) == col(_BEGAN)) & ~col(private("remembered")), F.lit(2))
        rows = marked.where(~col(_KNOWN))
        return self._differing(rows, F.lit(True), (col(BEFORE) > 0) | (col(AT) > col(_BEGAN)), begins)
