"""aggregate over RANGE .. SLIDE ..: partial values of short panes, merged into windows at each boundary.

Counts, exact sums and extremes are folded as they arrive: what a call adds to a pane is kept as one row per group. A
sum of DOUBLE must have the same bits however rows are cut into calls. So its rows wait until their pane is complete,
and are then folded in order of time; windows are merged from panes in order.

One pass over the rows yields both the results and the rows to keep: each pane is sent to the boundaries that look at
it and, if it is new, to the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate
from headgate.plan.windows import Clock
from headgate.runtime.spark.stateful.base import JOINT, CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
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
    on_time,
    private,
    stream_rows,
)
from headgate.runtime.spark.stateful.partial_values import AggregateCalls, group_columns, group_fields, group_values
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, SEQUENCE, STAMPS, TIME, UNTIL

END = private("end")  # the last instant of a pane
AT = private("at")  # a boundary
REAL = private("real")  # panes in the window at a boundary
_LAST = private("last")  # the last boundary that looks at a pane
_PANE = private("pane")  # 1: a pane from the log, 0: a row
KEPT = private("kept")  # a pane to keep in the log, not a window
BEFORE = private("before")  # panes in the window at the boundary before
SIGN = private("sign")  # 1: a value appears, -1: it goes, 0: a pane for the log, 2 and up: for the log of that number
_SECOND = 1_000_000
_MOST_PANES = 64  # between two boundaries: more would not save anything
_MOST_LOGICAL = 16  # the same on a logical clock, whose unit is unknown


class PaneAggregate(Stateful):
    """Outputs what the operator asks for: the relation, its changes, or the whole relation at each boundary."""

    joint = True
    logs: dict[str, LogSpec]

    def __init__(
        self,
        operator: Aggregate,
        schema: StructType,
        flow: Flow,
        types: StructType,
        calls: AggregateCalls,
        single: bool,
    ) -> None:
        assert operator.window is not None
        self._operator = operator
        self._calls = calls
        self._frames = Frames(single)
        length, slide = operator.window.length_ticks(flow.clock), operator.window.slide_ticks(flow.clock)
        assert length is not None
        assert slide is not None
        self._length, self._slide = length, slide
        self._stamps = operator.flow((flow,), operator.id).stamps
        # Is a pane looked at once more, at the first boundary whose window no longer has it?
        self._looks_back = operator.emits in ("changes", "istream", "dstream") or not operator.group
        self._block = gcd(length, slide)
        self._pane = self._block if not calls.ordered else -(-self._block // self._panes(flow.clock))
        self._groups = group_columns(len(operator.group))
        self._partials = [p.name for p in calls.partials]
        self._old = [private(f"old{i}") for i in range(len(self._partials))]
        fields = [*group_fields(self._groups, types), *[p.field() for p in calls.partials]]
        self.slide = slide
        self.logs = {
            "panes": LogSpec(
                log_schema(fields, (ARRIVAL, SEQUENCE, END, _LAST)), expiry=_LAST, shrinks=not calls.ordered
            ),
            **self._other_logs(),
        }
        if calls.ordered:  # last, since a log that copies the input is not in the joint frame
            self.logs["waiting"] = LogSpec(schema, expiry=TIME, hold=self._pane - 1, copies=0)

    def _other_logs(self) -> dict[str, LogSpec]:
        return {}

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        windows = self._windows(inputs[0], logs, bounds)
        joint = self._changed(windows, logs) if self._looks_back else self._shown(windows)
        # In a joint frame, the rows of a log have the log's position as their number.
        parts = [joint.where(col(JOINT) == number) for number in range(len(self.logs) + 1)]
        names = [*self._operator.group, *self._operator.values, *self._stamps]
        grown = {
            name: self._waiting(inputs[0], bounds) if name == "waiting" else part.select(*cols(spec.schema.names))
            for part, (name, spec) in zip(parts[1:], self.logs.items(), strict=True)
        }
        return StepResult(parts[0].select(*cols(names)), grown, joint)

    def _waiting(self, came: DataFrame, bounds: CallBounds) -> DataFrame:
        """The rows of panes that are not complete."""
        bounded = self._frames.with_bounds(came.where(on_time()).withColumn(END, self._end()), bounds)
        return bounded.where(col(END) > col(TO)).select(*cols(self.logs["waiting"].schema.names))

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        if not self.logs[name].shrinks:
            return log
        keys = [*self._groups, END, _LAST]
        merged = log.groupBy(*cols(keys)).agg(*[p.merged() for p in self._calls.partials], *_latest())
        return merged.select(*cols(log.columns))

    def _windows(self, frame: DataFrame, logs: Mapping[str, DataFrame], bounds: CallBounds) -> DataFrame:
        """Merged partial values at each boundary in range, and (KEPT) the panes for the log, with END as their AT."""
        new = self._taken(frame).withColumn(_PANE, long(0))
        parts = [logs["panes"].withColumn(TIME, col(END)).withColumn(_PANE, long(1)), new]
        if self._calls.ordered:
            parts.append(self._taken(logs["waiting"]).withColumn(_PANE, long(0)))
        rows = self._frames.union(*[part.select(*cols(new.columns)) for part in parts])
        bounded = self._frames.with_bounds(rows, bounds)
        return self._merged(self._send(self._folded(bounded) if self._calls.ordered else bounded))

    def _panes(self, clock: Clock) -> int:
        """The number of panes between two boundaries."""
        return _MOST_LOGICAL if clock is Clock.LOGICAL else min(_MOST_PANES, -(-self._block // _SECOND))

    def _taken(self, frame: DataFrame) -> DataFrame:
        """Each row as partial values of its pane. Rows that are in no window are dropped."""
        rows = stream_rows(frame)
        groups = group_values(self._groups, self._operator.group)
        partials = [p.row() for p in self._calls.partials]
        taken = rows.select(*groups, *partials, *cols(STAMPS), self._end().alias(END))
        if self._length < self._slide:
            taken = taken.where(self._first_boundary() <= self._last_boundary())
        taken = self._frames.restore_single_partition(taken, self._operator.group.values())
        if self._calls.ordered:
            return taken
        sums = [p.merged() for p in self._calls.partials]
        return taken.groupBy(*cols([*self._groups, END])).agg(*sums, *_latest(), F.max(TIME).alias(TIME))

    def _end(self) -> Column:
        """The last instant of a row's pane."""
        block = ceiling(col(TIME), self._block)
        if self._pane == self._block:
            return block
        start = block - long(self._block)
        return F.least(start + ceiling(col(TIME) - start, self._pane), block)

    def _first_boundary(self) -> Column:
        """The first boundary whose window has the pane."""
        return ceiling(col(END), self._slide)

    def _last_boundary(self) -> Column:
        """The last boundary whose window has the pane."""
        return floor(col(END) + long(self._length - 1), self._slide)

    def _last_look(self) -> Column:
        """The last boundary that looks at the pane."""
        return self._last_boundary() + long(self._slide) if self._looks_back else self._last_boundary()

    def _folded(self, bounded: DataFrame) -> DataFrame:
        """Panes, from the log or complete now, folded in order. A pane from the log is alone, so folding keeps it.

        The log of waiting rows may still hold rows of panes completed by earlier calls; they are left out.
        """
        there = (col(END) <= col(TO)) & ((col(_PANE) == 1) | (col(END) > col(FROM)))
        keys = [*self._groups, END]
        rows = self._frames.ordered(bounded.where(there), keys, [END, TIME, SEQUENCE, *self._calls.ordered])
        bounds = [F.max(c).alias(c) for c in (FROM, TO, NOW, _PANE)]
        return rows.groupBy(*cols(keys)).agg(*[p.merged() for p in self._calls.partials], *_latest(), *bounds)

    def _send(self, panes: DataFrame) -> DataFrame:
        """Send each pane to each boundary in range that looks at it, and new panes also to the log, under their END."""
        first = F.greatest(self._first_boundary(), floor(col(FROM), self._slide) + long(self._slide))
        last = F.least(self._last_look(), floor(col(TO), self._slide))
        nowhere = F.array().cast("array<bigint>")
        boundaries = F.when(first <= last, F.sequence(first, last, long(self._slide))).otherwise(nowhere)
        kept = F.when(col(_PANE) == 0, F.array(F.lit(None).cast("bigint"))).otherwise(nowhere)
        wanted = panes.where((col(_PANE) == 0) | (first <= last))
        sent = wanted.withColumn(AT, F.explode(F.concat(kept, boundaries)))
        return sent.withColumn(KEPT, col(AT).isNull()).withColumn(AT, F.coalesce(col(AT), col(END)))

    def _merged(self, sent: DataFrame) -> DataFrame:
        keys = [*self._groups, AT, KEPT]
        if self._calls.ordered:
            sent = self._frames.ordered(sent, keys, [AT, END])
        start = col(AT) - long(self._length)
        entered = F.when(col(KEPT) | (col(END) > col(AT) - long(self._slide)), col(ARRIVAL))
        sums = [p.merged() for p in self._calls.partials]
        there: list[Column] = []
        if self._looks_back:
            inside = col(KEPT) | (col(END) > start)
            earlier = ~col(KEPT) & (col(END) <= col(AT) - long(self._slide))
            sums = [p.merged(inside) for p in self._calls.partials]
            sums += [p.merged(earlier, old) for p, old in zip(self._calls.partials, self._old, strict=True)]
            there = [F.count(F.when(inside, 1)).alias(REAL), F.count(F.when(earlier, 1)).alias(BEFORE)]
        merged = sent.groupBy(*cols(keys)).agg(
            *sums, F.coalesce(F.max(entered), F.max(NOW)).alias(ARRIVAL), F.max(SEQUENCE).alias(SEQUENCE), *there
        )
        return merged.withColumn(END, col(AT))

    def _shown(self, windows: DataFrame) -> DataFrame:
        """The relation, in which each value holds until the next boundary; as a stream, all values at each boundary."""
        return self._calls.valued(windows, ~col(KEPT), self._partials).select(
            *self._named_groups(),
            *cols(self._operator.values),
            *cols([ARRIVAL, SEQUENCE]),
            col(AT).alias(TIME),
            (col(AT) + long(self._slide)).alias(UNTIL),
            long(1).alias(CHANGE),
            *self._remembered(),
            col(KEPT).cast("int").alias(JOINT),
        )

    def _changed(self, windows: DataFrame, logs: Mapping[str, DataFrame]) -> DataFrame:
        """What differs between a boundary and the one before: a group's old values go, its new ones appear."""
        return self._differing(windows, came=col(REAL) > 0, went=col(BEFORE) > 0)

    def _differing(self, windows: DataFrame, came: Column, went: Column, *more: Column) -> DataFrame:
        """`came`: are there new values? `went`: were there old ones? `more`: signs of rows for other logs."""
        values = list(self._operator.values)
        old = [private(f"was{i}") for i in range(len(values))]
        with_old = self._calls.valued(windows, ~col(KEPT) & went, self._old, old)
        both = self._calls.valued(with_old, ~col(KEPT) & came, self._partials)
        same = came & went
        for now, was in zip(values, old, strict=True):
            same = same & col(now).eqNullSafe(col(was))
        emits = self._operator.emits
        signs = [
            F.when(col(KEPT), F.lit(0)),
            F.when(~col(KEPT) & came & ~same, F.lit(1)) if emits != "dstream" else None,
            F.when(~col(KEPT) & went & ~same, F.lit(-1)) if emits != "istream" else None,
            *more,
        ]
        rows = both.withColumn(SIGN, F.explode(F.array(*[sign for sign in signs if sign is not None])))
        chosen = [F.when(col(SIGN) < 0, col(w)).otherwise(col(n)).alias(n) for n, w in zip(values, old, strict=True)]
        return rows.where(col(SIGN).isNotNull()).select(
            *self._named_groups(),
            *chosen,
            *cols([ARRIVAL, SEQUENCE]),
            col(AT).alias(TIME),
            long(FOREVER).alias(UNTIL),
            col(SIGN).cast("bigint").alias(CHANGE),
            *self._remembered(),
            F.when(col(SIGN) == 0, F.lit(1)).when(col(SIGN) > 1, col(SIGN)).otherwise(F.lit(0)).alias(JOINT),
        )

    def _remembered(self) -> list[Column]:
        """The log's columns that the results do not have."""
        return [*cols(self._groups), *cols(self._partials), col(END), self._last_look().alias(_LAST)]

    def _named_groups(self) -> list[Column]:
        return [col(mine).alias(name) for mine, name in zip(self._groups, self._operator.group, strict=True)]


def _latest() -> list[Column]:
    return [F.max(ARRIVAL).alias(ARRIVAL), F.max(SEQUENCE).alias(SEQUENCE)]
