"""aggregate by Spark's own windows (`emit: final`): each window is output once, when time has passed its end.

What a row contributes is kept until its windows close. Mergeable values are kept merged, one row per window. For
sessions, rows close to each other are kept as one piece, and the pieces are merged again at each evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from headgate.language.window_calls import WindowCall, window_call
from headgate.plan.operators import Aggregate
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    FROM,
    NOW,
    TO,
    Frames,
    col,
    cols,
    in_range,
    log_schema,
    long,
    private,
    sortable,
    stream_rows,
    user_fields,
)
from headgate.runtime.spark.stateful.partial_values import AggregateCalls, group_columns
from headgate.runtime.spark.stateful.sliding_groups import duration_us
from headgate.sql.schema import SEQUENCE, STAMPS, TIME

_START, _END = private("start"), private("end")  # of a window, or of a piece of a session; ticks
_BEFORE, _SESSION = private("before"), private("session")
_LATEST = private("latest")
_CARRIED = (*STAMPS, FROM, TO, NOW)


class FinalWindowAggregate(Stateful):
    """`calls` says how values are merged; if None, they are computed from all rows of a window at once."""

    def __init__(
        self,
        operator: Aggregate,
        schema: StructType,
        types: StructType,
        calls: AggregateCalls | None,
        session: SparkSession,
        single: bool,
    ) -> None:
        self._operator = operator
        self._types = types
        self._frames = Frames(single)
        self._merges = calls if calls is not None and not calls.ordered else None
        names = dict(zip(operator.group, group_columns(len(operator.group)), strict=True))
        self._window, call = _window_of(operator)
        self._sessions = call.kind == "session_window"
        self._durations = [duration_us(session, text) for text in call.durations]
        self._own = names[self._window]
        self._plain = {mine: operator.group[n] for n, mine in names.items() if n != self._window}
        groups = [StructField(mine, types[n].dataType, True) for n, mine in names.items() if n != self._window]
        users = user_fields(schema)
        payload = users if self._merges is None else [p.field() for p in self._merges.partials]
        self._payload = [f.name for f in payload]
        self._order = [*self._plain, TIME, SEQUENCE, *sortable(users)]
        self.logs = {
            "open": LogSpec(
                log_schema([*groups, *payload], (*STAMPS, _START, _END)),
                expiry=None if self._sessions else _END,
                events=(_END,),
                shrinks=self._sessions or self._merges is not None,
            )
        }

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = self._taken(inputs[0])
        grouped = self._windows(self._frames.with_bounds(self._frames.union(logs["open"], new), bounds))
        closed = grouped.where(in_range(col(_END)))
        waiting = self._frames.with_bounds(new, bounds)
        if not self._sessions:  # a piece of a session may end before the session does
            waiting = waiting.where(col(_END) > col(TO))
        return StepResult(self._results(closed), {"open": waiting.select(*cols(new.columns))})

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        bounded = self._frames.with_bounds(log, bounds)
        if self._merges is not None:
            return self._merged(bounded).where(col(_END) > col(TO)).select(*cols(log.columns))
        last = Window.partitionBy(*self._partition(), col(_SESSION))
        ended = self._in_sessions(bounded).withColumn(_LATEST, F.max(_END).over(last))
        return ended.where(col(_LATEST) > col(TO)).select(*cols(log.columns))

    def _taken(self, frame: DataFrame) -> DataFrame:
        """Each row in each of its windows, or as a session of its own; merged if possible."""
        rows = stream_rows(frame)
        groups = [F.expr(text).alias(mine) for mine, text in self._plain.items()]
        values = cols(self._payload) if self._merges is None else [p.row() for p in self._merges.partials]
        # Values come before the stamps, as in the log.
        taken = rows.select(*groups, *values, *cols(STAMPS), self._starts().alias(_START))
        length = self._durations[0]
        pieces = taken.withColumn(_END, col(_START) + long(length))
        return pieces if self._merges is None else self._merged(pieces).select(*cols(pieces.columns))

    def _starts(self) -> Column:
        if self._sessions:
            return col(TIME)
        length = self._durations[0]
        slide = self._durations[1] if len(self._durations) > 1 else length
        start = self._durations[2] if len(self._durations) > 2 else 0
        last = col(TIME) - F.pmod(col(TIME) - long(start), long(slide))
        return F.explode(F.sequence(last, col(TIME) - long(length - 1), long(-slide)))

    def _partition(self) -> list[Column]:
        return cols(self._plain) or [col(SEQUENCE).bitwiseAND(0)]

    def _in_sessions(self, pieces: DataFrame) -> DataFrame:
        """Pieces with the number of their session in the group. As in Spark, a piece that begins where another ends
        belongs to the same session."""
        order = Window.partitionBy(*self._partition()).orderBy(col(_START))
        before = F.max(_END).over(order.rowsBetween(Window.unboundedPreceding, -1))
        begins = F.when(col(_BEFORE) >= col(_START), F.lit(0)).otherwise(F.lit(1))
        so_far = order.rowsBetween(Window.unboundedPreceding, 0)
        return pieces.withColumn(_BEFORE, before).withColumn(_SESSION, F.sum(begins).over(so_far)).drop(_BEFORE)

    def _keys(self) -> list[str]:
        return [*self._plain, _SESSION] if self._sessions else [*self._plain, _START, _END]

    def _bounds(self) -> list[Column]:
        return [F.min(_START).alias(_START), F.max(_END).alias(_END)] if self._sessions else []

    def _merged(self, pieces: DataFrame) -> DataFrame:
        """The merged values of each window or session."""
        assert self._merges is not None
        placed = self._in_sessions(pieces) if self._sessions else pieces
        carried = [F.max(c).alias(c) for c in _CARRIED if c in pieces.columns]
        values = [p.merged() for p in self._merges.partials]
        return placed.groupBy(*cols(self._keys())).agg(*values, *carried, *self._bounds())

    def _windows(self, pieces: DataFrame) -> DataFrame:
        """The values of each window or session, with the bounds of the call."""
        if self._merges is not None:
            return self._merged(pieces)
        placed = self._in_sessions(pieces) if self._sessions else pieces
        lined = self._frames.ordered(placed, list(self._plain), self._order)
        values = [F.expr(text).alias(name) for name, text in self._operator.values.items()]
        carried = [F.max(c).alias(c) for c in _CARRIED]
        return lined.groupBy(*cols(self._keys())).agg(*values, *carried, *self._bounds())

    def _results(self, closed: DataFrame) -> DataFrame:
        kind = self._types[self._window].dataType
        window = F.struct(F.timestamp_micros(col(_START)).alias("start"), F.timestamp_micros(col(_END)).alias("end"))
        shown = closed.withColumn(self._own, window.cast(kind))
        stamps = [col(NOW), col(SEQUENCE), col(_END)]
        if self._merges is not None:
            return self._merges.results(shown, list(self._operator.group), stamps)
        groups = zip(self._operator.group, group_columns(len(self._operator.group)), strict=True)
        users = [col(mine).alias(name) for name, mine in groups]
        users += [col(name).cast(self._types[name].dataType).alias(name) for name in self._operator.values]
        return shown.select(*users, *[stamp.alias(name) for stamp, name in zip(stamps, STAMPS, strict=True)])


def _window_of(operator: Aggregate) -> tuple[str, WindowCall]:
    """The group that is a window of Spark; the loader has checked that there is exactly one."""
    found = [(name, call) for name, text in operator.group.items() if (call := window_call(text)) is not None]
    return found[0]
