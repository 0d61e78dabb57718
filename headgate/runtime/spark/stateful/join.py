"""join of two relations. A join is bilinear: new rows are joined with the logs and with each other, and none waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow, windowed_flow
from headgate.plan.operators import StreamJoin
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    Frames,
    as_relation,
    col,
    cols,
    expiry_of,
    net_rows,
    private,
    with_fresh_names,
)
from headgate.runtime.spark.stateful.timeline import with_ends
from headgate.sql.schema import ARRIVAL, CHANGE, RELATION_STAMPS, SEQUENCE, TIME, UNTIL

_SIDES = ("left", "right")


class StatefulJoin(Stateful):
    """Results may begin after `_to`; their readers handle rows that lie in the future."""

    def __init__(
        self, operator: StreamJoin, schemas: Sequence[StructType], flows: Sequence[Flow], single: bool
    ) -> None:
        self._operator = operator
        self._flows = flows
        self._frames = Frames(single)
        self._names = dict(zip(_SIDES, (operator.left, operator.right), strict=True))
        self._keys = dict(zip(_SIDES, (tuple(operator.on), tuple(operator.on.values())), strict=True))
        self.reads = {index: self._needed(index, schema) for index, schema in enumerate(schemas)}
        self.logs = {side: self._log(index) for index, side in enumerate(_SIDES)}

    def _needed(self, index: int, schema: StructType) -> StructType:
        needed = {source.lower() for source in self._columns(_SIDES[index]).values()}
        return StructType([f for f in schema if f.name.lower() in needed or f.name in self._flows[index].stamps])

    def _log(self, index: int) -> LogSpec:
        flow, window = self._flows[index], self._operator.windows[index]
        expiry, hold = expiry_of(flow, window)
        retracts = windowed_flow(flow, window, self._operator.id).retracts
        return LogSpec(self.reads[index], expiry, hold, shrinks=retracts, copies=None if retracts else index)

    def _columns(self, side: str) -> dict[str, str]:
        """What is needed of a side: its output columns, and its join columns under private names."""
        return {**self._names[side], **{private(f"{side}{i}"): name for i, name in enumerate(self._keys[side])}}

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        came = [self._came(side, frame) for side, frame in zip(_SIDES, inputs, strict=True)]
        left, right = (self._taken(index, frame) for index, frame in enumerate(came))
        # There are few new rows, so they become the hash table, and the logs are streamed past it.
        output = self._frames.union(
            self._joined(self._frames.hash_side(left), self._taken(1, self._frames.union(logs["right"], came[1]))),
            self._joined(self._taken(0, logs["left"]), self._frames.hash_side(right)),
        )
        return StepResult(output, dict(zip(_SIDES, came, strict=True)))

    def _came(self, side: str, frame: DataFrame) -> DataFrame:
        """The new rows of a side, in which rows that the same call takes away have an end. Without that, each would
        be joined with everything that the other side ever held."""
        rows = frame.select(*cols(self.logs[side].schema.names))
        return with_ends(rows) if self.logs[side].shrinks else rows

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        users = [c for c in log.columns if c not in RELATION_STAMPS]
        return net_rows(self._frames, log, bounds, users) if self.logs[name].shrinks else log

    def _taken(self, index: int, frame: DataFrame) -> DataFrame:
        rows = as_relation(frame, self._operator.windows[index], self._flows[index])
        mine = [col(source).alias(name) for name, source in self._columns(_SIDES[index]).items()]
        return rows.select(*mine, *cols(RELATION_STAMPS))

    def _joined(self, left: DataFrame, right: DataFrame) -> DataFrame:
        other, fresh = with_fresh_names(right, RELATION_STAMPS, "right")
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
