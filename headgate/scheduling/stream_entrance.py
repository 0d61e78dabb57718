"""The entrance of a stream: each tuple gets its place in time, and tuples that come too late are found."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.plan.arrow_types import arrow_schema, port_schema
from headgate.plan.model import Stream
from headgate.plan.windows import Clock
from headgate.sql.schema import FOREVER, LATE

STEP_ROWS = 1000  # progress is told at least this often, so that taking a part of a batch gets somewhere
_FIRST = -(2**63)  # the smallest instant: it stands for "none yet", and for null where a mask tells the two apart

Ticks = NDArray[np.int64]


class Admitted(NamedTuple):
    """A batch as operators take it: the stream's columns, then the stamps of its flow."""

    table: pa.Table
    late: int  # tuples without a place in time: too late, or with a null in the time column
    steps: tuple[tuple[int, int], ...] = ()  # (tuples, progress once so many of the batch have come), for long batches


class StreamEntrance:
    """Gives the tuples of one stream their TIME; the runtime holds one a stream, and its lock around every call.

    A tuple is late when its time lies more than the slack before the latest time of the tuples in front of it. So
    which tuples are late depends on the order of the stream alone, not on how it is cut into batches.
    """

    def __init__(self, stream: Stream) -> None:
        self._clock = stream.clock
        self._relation = stream.relation
        self._slack = min(stream.slack_ticks, FOREVER)
        self._schema = port_schema(stream.schema, stream.flow)
        self._own = len(stream.schema)
        self._at = self._own  # of the column that holds the time; without one, the arrival
        if stream.time is not None:
            names = [name.lower() for name in arrow_schema(stream.schema, stamps=False).names]
            self._at = names.index(stream.time.lower())
        self._ticked: int | None = None
        self.reached: int | None = None  # the latest time so far; None before the first
        self.earliest: int | None = None  # the earliest of a tuple that was not late
        self.late = 0  # all in all

    @property
    def progress(self) -> int | None:
        """The largest instant that is complete: no tuple to come has a place there or before. None: not known yet."""
        known = [at for at in (self.reached, self._ticked) if at is not None]
        return self._complete(max(known)) if known else None

    def tick(self, now_us: int) -> None:
        """Every tuple still to come arrives at `now_us` or later; without effect on streams that have a time column.

        A tuple due a fraction of a microsecond after now may be rounded to `now_us`, so that instant is not complete.
        """
        if self._clock is Clock.ARRIVAL:
            self._ticked = max(now_us, now_us if self._ticked is None else self._ticked)

    def admit(self, table: pa.Table) -> Admitted:
        """The next batch of the source: its columns, `_arrival`, `_sequence`, and `_change` if it is a relation."""
        if table.num_columns != self._own + 2 + self._relation:
            raise ValueError(f"a source gave the columns {table.column_names} for {self._schema.names}")
        time = table.column(self._at).cast(pa.int64())
        if not table.num_rows:
            return Admitted(self._stamped(table, time), 0)
        if self._clock is Clock.ARRIVAL:  # in order, as sources promise
            self.reached = max(self.reached or 0, time[-1].as_py())
            self._note_earliest(time[0].as_py())
            return Admitted(self._stamped(table, time), 0, self._steps(time.to_numpy()))
        return self._judged(table, time)

    def _judged(self, table: pa.Table, time: pa.ChunkedArray) -> Admitted:
        nulls = time.null_count
        times: Ticks = (pc.fill_null(time, _FIRST) if nulls else time).to_numpy()
        before = _FIRST if self.reached is None else self.reached
        reached = np.maximum.accumulate(np.concatenate([[before], times]))
        bound = np.maximum(reached[:-1], _FIRST + self._slack) - self._slack  # no wrapping below the smallest
        late = times < bound
        if nulls:
            late &= time.is_valid().to_numpy()
        if nulls < len(times):
            self.reached = int(reached[-1])
            on_time = times[~late & (times > _FIRST)]
            if len(on_time):
                self._note_earliest(int(on_time.min()))
        count = int(np.count_nonzero(late))
        self.late += count + nulls
        if count:
            sequence = table.column(self._own + 1).to_numpy() + late * np.int64(LATE)
            table = table.set_column(self._own + 1, table.schema.field(self._own + 1), pa.array(sequence))
        return Admitted(self._stamped(table, time), count + nulls, self._steps(reached[1:]))

    def _note_earliest(self, time: int) -> None:
        self.earliest = time if self.earliest is None else min(self.earliest, time)

    def _steps(self, reached: Ticks) -> tuple[tuple[int, int], ...]:
        """Progress at regular places of a batch, from the latest time up to each of its tuples."""
        at = range(STEP_ROWS, len(reached), STEP_ROWS)
        return tuple((rows, self._complete(int(reached[rows - 1]))) for rows in at)

    def _complete(self, reached: int) -> int:
        slack = 0 if self._clock is Clock.ARRIVAL else self._slack
        return max(reached - slack - 1, _FIRST)

    def _stamped(self, table: pa.Table, time: Any) -> pa.Table:
        columns = [*table.columns[: self._own + 2], time]
        if self._relation:
            until = pa.array(np.full(table.num_rows, FOREVER, np.int64))
            columns += [until, table.column(self._own + 2)]
        return pa.Table.from_arrays(columns, schema=self._schema)
