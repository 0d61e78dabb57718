"""aggregate over RANGE .. SLIDE ..: partial values of short panes, merged into windows at each boundary.

A pane is folded once, when no row of it can come any more, in order of time; windows are merged from panes in order.
So sums of DOUBLE have the same bits however the rows were cut into calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate
from headgate.plan.schema import ARRIVAL, FOREVER, SEQUENCE, STAMPS, TIME
from headgate.plan.windows import Clock
from headgate.runtime.spark.stateful.base import LogSpec, Stateful, Step
from headgate.runtime.spark.stateful.calls import Calls, group_columns
from headgate.runtime.spark.stateful.rows import (
    FROM,
    NOW,
    TO,
    Frames,
    ceiling,
    col,
    cols,
    floor,
    log_schema,
    long,
    private,
    stream_rows,
)

_END = private("end")  # the last instant of a pane
_LAST = private("last")  # the last instant at which a pane is looked at
_AT = private("at")
_PANE = private("pane")  # 1: a remembered pane, 0: a row
_REAL = private("real")  # panes in the window at a boundary
_SECOND = 1_000_000
_MOST_PANES = 64  # between two boundaries: more would save nothing
_MOST_LOGICAL = 16  # on a clock of whatever unit


class PaneAggregate(Stateful):
    def __init__(
        self, operator: Aggregate, schema: StructType, flow: Flow, types: StructType, calls: Calls, single: bool
    ) -> None:
        assert operator.window is not None
        self._operator = operator
        self._calls = calls
        self._frames = Frames(single)
        length, slide = operator.window.length_ticks(flow.clock), operator.window.slide_ticks(flow.clock)
        assert length is not None
        assert slide is not None
        self._length, self._slide = length, slide
        self._block = gcd(length, slide)
        wanted = _MOST_LOGICAL if flow.clock is Clock.LOGICAL else min(_MOST_PANES, -(-self._block // _SECOND))
        self._pane = -(-self._block // wanted)
        self._groups = group_columns(len(operator.group))
        self._output = types
        kinds = [f.dataType for f in types][: len(self._groups)]
        fields = [StructField(n, t, True) for n, t in zip(self._groups, kinds, strict=True)]
        fields += [p.field() for p in calls.partials]
        self.slide = slide
        self.logs = {
            "waiting": LogSpec(log_schema(fields, (*STAMPS, _END)), expiry=_END),
            "panes": LogSpec(log_schema(fields, (ARRIVAL, SEQUENCE, _END, _LAST)), expiry=_LAST),
        }
        if not self._groups:
            self.logs["began"] = LogSpec(log_schema([], (SEQUENCE, TIME)), expiry=None, shrinks=True)

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: DataFrame) -> Step:
        new = self._taken(inputs[0])
        ready = self._ready(self._frames.union(logs["waiting"], new), bounds)
        waiting = self._frames.bounded(new, bounds).where(col(_END) > col(TO))
        grown = {
            "waiting": waiting.select(*cols(self.logs["waiting"].schema.names)),
            "panes": self._folded(ready).select(*cols(self.logs["panes"].schema.names)),
        }
        windows = self._windows(logs, new, bounds)
        if self._groups:
            return Step(self._results(windows), grown)
        grown["began"] = self._began(ready)
        return Step(self._one_row(windows, logs, bounds), grown)

    def compacted(self, name: str, log: DataFrame, bounds: DataFrame) -> DataFrame:
        if name != "began":
            return log
        first = log.groupBy().agg(F.max(SEQUENCE).alias(SEQUENCE), F.min(TIME).alias(TIME))
        return first.where(col(TIME).isNotNull())

    def _taken(self, frame: DataFrame) -> DataFrame:
        """Each row as partial values of its pane. A row that no window sees is left out."""
        rows = stream_rows(frame)
        groups = [F.expr(text).alias(n) for n, text in zip(self._groups, self._operator.group.values(), strict=True)]
        block = ceiling(col(TIME), self._block)
        end = block
        if self._pane < self._block:
            start = block - long(self._block)
            inner = start + ceiling(col(TIME) - start, self._pane)
            end = F.least(inner, block)
        taken = rows.select(*groups, *[p.row() for p in self._calls.partials], *cols(STAMPS), end.alias(_END))
        if self._length < self._slide:
            taken = taken.where(self._first(col(_END)) <= self._last(col(_END)))
        return self._frames.expanded(taken, self._operator.group.values())

    def _first(self, end: Column) -> Column:
        """The first boundary whose window holds the pane."""
        return ceiling(end, self._slide)

    def _last(self, end: Column) -> Column:
        """The last one."""
        return floor(end + long(self._length - 1), self._slide)

    def _ready(self, rows: DataFrame, bounds: DataFrame) -> DataFrame:
        """The rows of the panes that are complete now and were not before."""
        beside = self._frames.bounded(rows, bounds)
        return beside.where((col(_END) > col(FROM)) & (col(_END) <= col(TO)))

    def _folded(self, rows: DataFrame, *more: Column) -> DataFrame:
        keys = [*self._groups, _END]
        if self._calls.ordered:
            rows = self._frames.ordered(rows, keys, [_END, TIME, SEQUENCE, *self._calls.ordered])
        panes = rows.groupBy(*cols(keys)).agg(
            *[p.merged() for p in self._calls.partials],
            F.max(ARRIVAL).alias(ARRIVAL),
            F.max(SEQUENCE).alias(SEQUENCE),
            *more,
        )
        # Without groups there is one row at every boundary, also at the one where the last pane has gone.
        last = self._last(col(_END)) if self._groups else self._last(col(_END)) + long(self._slide)
        return panes.withColumn(_LAST, last)

    def _windows(self, logs: Mapping[str, DataFrame], new: DataFrame, bounds: DataFrame) -> DataFrame:
        """Merged partial values at each boundary in range.

        Remembered panes are folded again with the rows of the new ones, each by itself, which changes nothing: so
        the bounds are joined once. Most calls see no boundary; they stop at the first filter.
        """
        columns = [*new.columns, _PANE]
        parts = [
            logs["panes"].withColumn(TIME, col(_END)).withColumn(_PANE, long(1)),
            logs["waiting"].withColumn(_PANE, long(0)),
            new.withColumn(_PANE, long(0)),
        ]
        beside = self._frames.bounded(self._frames.union(*[part.select(*cols(columns)) for part in parts]), bounds)
        first = F.greatest(self._first(col(_END)), floor(col(FROM), self._slide) + long(self._slide))
        due = first <= floor(col(TO), self._slide)
        # A row that waited for a pane of an earlier call may still be there: it is in that pane already.
        there = (col(_END) <= col(TO)) & ((col(_PANE) == 1) | (col(_END) > col(FROM)))
        folded = self._folded(beside.where(due & there), *[F.max(c).alias(c) for c in (FROM, TO, NOW)])
        last = F.least(col(_LAST), floor(col(TO), self._slide))
        seen = folded.where(first <= last)
        if self._groups and self._length <= self._slide:
            looked = seen.withColumn(_AT, first)  # one boundary a pane
        else:
            looked = seen.withColumn(_AT, F.explode(F.sequence(first, last, long(self._slide))))
        return self._merged(looked)

    def _merged(self, looked: DataFrame) -> DataFrame:
        keys = [*self._groups, _AT]
        if self._calls.ordered:
            looked = self._frames.ordered(looked, keys, [_AT, _END])
        inside = col(_END) > col(_AT) - long(self._length)
        entered = F.when(col(_END) > col(_AT) - long(self._slide), col(ARRIVAL))
        partials = self._calls.partials
        if not self._groups:  # a pane that has just gone is there to say so, and no more
            looked = looked.select(
                *[F.when(inside, col(p.name)).alias(p.name) for p in partials],
                *cols([ARRIVAL, SEQUENCE, FROM, NOW, _END, _AT]),
            )
        return looked.groupBy(*cols(keys)).agg(
            *[p.merged() for p in partials],
            F.coalesce(F.max(entered), F.max(NOW)).alias(ARRIVAL),
            F.max(SEQUENCE).alias(SEQUENCE),
            F.sum(F.when(inside, long(1)).otherwise(long(0))).alias(_REAL),
            F.max(FROM).alias(FROM),
        )

    def _results(self, windows: DataFrame) -> DataFrame:
        stamps = [col(ARRIVAL), col(SEQUENCE), col(_AT), col(_AT) + long(self._slide), long(1)]
        return self._calls.results(windows, list(self._operator.group), stamps)

    def _began(self, ready: DataFrame) -> DataFrame:
        first = ready.groupBy().agg(F.max(SEQUENCE).alias(SEQUENCE), F.min(self._first(col(_END))).alias(TIME))
        return first.where(col(TIME).isNotNull())

    def _one_row(self, windows: DataFrame, logs: Mapping[str, DataFrame], bounds: DataFrame) -> DataFrame:
        """Without groups: a row for the empty window too. It stays open until the next tuple, which takes it away."""
        order = Window.partitionBy(col(SEQUENCE).bitwiseAND(0)).orderBy(col(_AT))
        was, since, following = private("was"), private("since"), private("following")
        lined = self._frames.union(windows, self._before(logs, bounds).select(*cols(windows.columns)))
        lined = lined.select(
            "*",
            F.lag(_REAL).over(order).alias(was),
            F.lag(_AT).over(order).alias(since),
            F.lead(_AT).over(order).alias(following),
        )
        rows = lined.where(col(_AT) > col(FROM))
        until = F.when(col(_REAL) > 0, col(_AT) + long(self._slide)).otherwise(
            F.coalesce(col(following), long(FOREVER))
        )
        values = self._calls.results(rows, [], [col(ARRIVAL), col(SEQUENCE), col(_AT), until, long(1)])
        # An empty row of this call has its end already; one of an earlier call is open.
        stale = rows.where((col(was) == 0) & (col(since) <= col(FROM))).select(
            *[F.lit(None).cast(p.type).alias(p.name) for p in self._calls.partials], ARRIVAL, SEQUENCE, _AT
        )
        gone = [col(ARRIVAL), col(SEQUENCE), col(_AT), long(FOREVER), long(-1)]
        return self._frames.union(values, self._calls.results(stale, [], gone))

    def _before(self, logs: Mapping[str, DataFrame], bounds: DataFrame) -> DataFrame:
        """The last boundary of earlier calls, if anything had begun by then: how many panes its window had."""
        at = floor(col(FROM), self._slide)
        panes = self._frames.bounded(logs["panes"], bounds)
        held = panes.where((self._first(col(_END)) <= at) & (col(_END) > at - long(self._length)))
        began = self._frames.bounded(logs["began"], bounds).where(col(TIME) <= col(FROM))
        parts = [
            frame.select(at.alias(_AT), col(SEQUENCE), long(there).alias(_REAL), col(FROM))
            for frame, there in ((held, 1), (began, 0))
        ]
        return (
            self._frames.union(*parts)
            .groupBy(_AT)
            .agg(
                *[F.max(F.lit(None).cast(p.type)).alias(p.name) for p in self._calls.partials],
                F.max(SEQUENCE).alias(ARRIVAL),
                F.max(SEQUENCE).alias(SEQUENCE),
                F.sum(_REAL).alias(_REAL),
                F.max(FROM).alias(FROM),
            )
        )
