"""join of two relations: bilinear, so new rows meet what is remembered and each other, and nothing has to wait."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headgate.plan.flows import Flow, windowed
from headgate.plan.operators import StreamJoin
from headgate.plan.schema import ARRIVAL, CHANGE, RELATION_STAMPS, SEQUENCE, TIME, UNTIL
from headgate.runtime.spark.stateful.base import LogSpec, Stateful, Step
from headgate.runtime.spark.stateful.rows import Frames, as_relation, col, cols, log_schema, netted, private, renamed

_SIDES = ("left", "right")


class JoinStep(Stateful):
    """Results may begin after `_to`: whoever reads them knows what to do with rows of the future."""

    def __init__(
        self, operator: StreamJoin, schemas: Sequence[StructType], flows: Sequence[Flow], single: bool
    ) -> None:
        self._operator = operator
        self._flows = flows
        self._frames = Frames(single)
        self._names = dict(zip(_SIDES, (operator.left, operator.right), strict=True))
        self._keys = dict(zip(_SIDES, (tuple(operator.on), tuple(operator.on.values())), strict=True))
        self.logs = {}
        for side, schema, flow, window in zip(_SIDES, schemas, flows, operator.windows, strict=True):
            kinds = {f.name.lower(): f.dataType for f in schema}
            fields = [StructField(n, kinds[source.lower()], True) for n, source in self._columns(side).items()]
            self.logs[side] = LogSpec(
                log_schema(fields, RELATION_STAMPS),
                expiry=UNTIL,
                shrinks=windowed(flow, window, operator.id).retracts,
            )

    def _columns(self, side: str) -> dict[str, str]:
        """What is remembered of a side: its output columns, and those it is joined on under names of their own."""
        return {**self._names[side], **{private(f"{side}{i}"): name for i, name in enumerate(self._keys[side])}}

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: DataFrame) -> Step:
        left, right = (self._taken(side, frame, i) for i, (side, frame) in enumerate(zip(_SIDES, inputs, strict=True)))
        # The new rows are the few: they become the hash table, and what is remembered streams past it.
        output = self._frames.union(
            self._joined(self._frames.hashed(left), self._frames.union(logs["right"], right)),
            self._joined(logs["left"], self._frames.hashed(right)),
        )
        # Rows that have expired already are kept too: their chunk goes soon, and a filter would cost a join.
        return Step(output, {"left": left, "right": right})

    def compacted(self, name: str, log: DataFrame, bounds: DataFrame) -> DataFrame:
        return netted(self._frames, log, bounds, tuple(self._columns(name))) if self.logs[name].shrinks else log

    def _taken(self, side: str, frame: DataFrame, index: int) -> DataFrame:
        rows = as_relation(frame, self._operator.windows[index], self._flows[index])
        mine = [col(source).alias(name) for name, source in self._columns(side).items()]
        return rows.select(*mine, *cols(RELATION_STAMPS))

    def _joined(self, left: DataFrame, right: DataFrame) -> DataFrame:
        other, fresh = renamed(right, RELATION_STAMPS, "right")
        theirs = dict(zip(RELATION_STAMPS, fresh, strict=True))
        begin = F.greatest(col(TIME), col(theirs[TIME]))
        end = F.least(col(UNTIL), col(theirs[UNTIL]))
        fits = begin < end
        for i in range(len(self._operator.on)):
            fits = (col(private(f"left{i}")) == col(private(f"right{i}"))) & fits
        if self._operator.condition:
            fits = F.expr(self._operator.condition) & fits
        users = [*self._names["left"], *self._names["right"]]
        return left.join(other, fits).select(
            *cols(users),
            F.greatest(col(ARRIVAL), col(theirs[ARRIVAL])).alias(ARRIVAL),
            F.greatest(col(SEQUENCE), col(theirs[SEQUENCE])).alias(SEQUENCE),
            begin.alias(TIME),
            end.alias(UNTIL),
            (col(CHANGE) * col(theirs[CHANGE])).alias(CHANGE),
        )
