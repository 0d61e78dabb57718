"""The entrance of a stream: gives each tuple its time, marks late tuples, and says which instants are complete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.plan.arrow_types import arrow_schema, port_schema
from headgate.plan.model import Stream
from headgate.plan.windows import Clock
from headgate.sql.schema import FOREVER, LATE

STEP_ROWS = 1000  # progress is noted at least this often, so that a call that takes part of a batch advances time
_FIRST = -(2**63)  # the smallest instant: stands for "none yet", and for null, which a mask tells apart

Ticks = NDArray[np.int64]


class Admitted(NamedTuple):
    """A batch as operators read it: the stream's columns, then the stamps of its flow."""

    table: pa.Table
    late: int  # tuples without a place in time: too late, or with a null in the time column
    steps: tuple[tuple[int, int], ...] = ()  # for long batches: (tuples, progress after so many of the batch)


class StreamEntrance:
    """Gives the tuples of one stream their TIME. The timekeeper has one per stream.

    A tuple is late if its time is more than the slack before the latest time among the tuples in front of it. So which
    tuples are late depends only on the order of the stream, not on how it is cut into batches.
    """

    def __init__(self, stream: Stream) -> None:
        self._clock = stream.clock
        self._relation = stream.relation
        self._slack = min(stream.slack_ticks, FOREVER)
        self._schema = port_schema(stream.schema, stream.flow)
        self._own = len(stream.schema)
        self._at = self._own  # index of the column with the time; the arrival if there is none
        if stream.time is not None:
            names = [name.lower() for name in arrow_schema(stream.schema, stamps=False).names]
            self._at = names.index(stream.time.lower())
        self._ticked: int | None = None
        self.reached: int | None = None  # the latest time so far; None before the first
        self.earliest: int | None = None  # the earliest time of a tuple that was not late
        self.late = 0  # tuples so far

    @property
    def progress(self) -> int | None:
        """The largest complete instant: no tuple still to come has this time or an earlier one. None: not known yet."""
        known = [at for at in (self.reached, self._ticked) if at is not None]
        return self._complete(max(known)) if known else None

    def tick(self, now_us: int) -> None:
        """Every tuple still to come arrives at `now_us` or later. Has no effect on streams with a time column.

        A tuple due a fraction of a microsecond after now may be rounded to `now_us`, so that instant is not complete.
        """
        if self._clock is Clock.ARRIVAL:
            self._ticked = max(now_us, now_us if self._ticked is None else self._ticked)

    def state(self) -> list[int | None]:
        """As values that JSON can hold."""
        return [self._ticked, self.reached, self.earliest, self.late]

    def restore(self, state: Sequence[int | None]) -> None:
        """Go on from a state."""
        self._ticked, self.reached, self.earliest, late = state
        self.late = late or 0

    def admit(self, table: pa.Table) -> Admitted:
        """Stamp the next batch: the stream's columns, `_arrival`, `_sequence`, and `_change` if it is a relation."""
        if table.num_columns != self._own + 2 + self._relation:
            raise ValueError(f"a source gave the columns {table.column_names} for {self._schema.names}")
        time = table.column(self._at).cast(pa.int64())
        if not table.num_rows:
            return Admitted(self._stamped(table, time), 0)
        if self._clock is Clock.ARRIVAL:  # in order, as sources promise
            self.reached = max(self.reached or 0, time[-1].as_py())
            self._note_earliest(time[0].as_py())
            return Admitted(self._stamped(table, time), 0, self._steps(time.to_numpy()))
        return self._checked(table, time)

    def _checked(self, table: pa.Table, time: pa.ChunkedArray) -> Admitted:
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
        """Progress after every STEP_ROWS tuples of a batch; `reached` has the latest time up to each tuple."""
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
