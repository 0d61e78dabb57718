"""Rows whose time is impossibly far ahead: a wrong clock at their source, which would make all rows after them late."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources.rejects import Reject
from headgate.plan.model import Stream
from headgate.plan.windows import Clock

KIND = "max_jump"  # what its dead letters are called
_FIRST = -(2**63)
_LAST = 2**63 - 1


def make_jump_limit(stream: Stream, reached: int | None = None) -> JumpLimit | None:
    """The limit that a stream's `max_jump` sets; None when it is off, or the stream has no time of its own.

    `reached` is the latest time of the rows that were read before.
    """
    most = stream.max_jump_ticks
    column = stream.schema.find(stream.time) if stream.time else None
    if most is None or column is None:
        return None
    if stream.clock is Clock.EVENT:
        return JumpLimit(column.name, most, f"{stream.max_jump_s:g} s", _clock_us, reached)
    return JumpLimit(column.name, most, f"{most}", None, reached)


def _clock_us() -> int:
    return time.time_ns() // 1000


class JumpLimit:
    """Finds the rows whose time lies more than `most` ticks beyond the latest time of the rows before them and, where
    there is a `clock`, beyond the clock. Such rows do not count as before others.

    Blocks go in, in the order of the stream; how it is cut into blocks does not matter.
    """

    def __init__(
        self, column: str, most: int, amount: str, clock: Callable[[], int] | None, reached: int | None = None
    ) -> None:
        self._column = column
        self._most = most
        self._clock = clock
        beyond = "the latest time of its stream and the clock" if clock else "the latest time of its stream"
        self._problem = f"lies more than {amount} beyond {beyond} (max_jump)"
        self.reached = reached

    def may_have(self, table: pa.Table) -> bool:
        """Is any row of the next block too far ahead of all blocks before? If not, the block counts as seen."""
        return self._passes(table.column(self._column).cast(pa.int64())) is False

    def beyond(self, table: pa.Table, without: Collection[int] = ()) -> dict[int, Reject]:
        """The rows of the next block that are too far ahead, and why; those in `without` do not count."""
        times = table.column(self._column).cast(pa.int64())
        if without:
            left_out = pa.array([at in without for at in range(table.num_rows)])
            times = pc.if_else(left_out, pa.scalar(None, pa.int64()), times)
        found: dict[int, Reject] = {}
        if self._passes(times):
            return found
        clock = self._now()
        for at, ticks in enumerate(times.to_pylist()):
            if ticks is None:
                continue
            if ticks > self._bound(clock):
                found[at] = Reject(self._column, table.column(self._column)[at].cast(pa.string()), self._problem, KIND)
            else:
                self.reached = ticks if self.reached is None else max(self.reached, ticks)
        return found

    def _passes(self, times: pa.ChunkedArray) -> bool:
        latest = pc.max(times).as_py()
        if latest is None:
            return True
        if latest > self._bound(self._now(), or_else=_FIRST):
            return False
        self.reached = latest if self.reached is None else max(self.reached, latest)
        return True

    def _now(self) -> int | None:
        return None if self._clock is None else self._clock()

    def _bound(self, clock: int | None, or_else: int = _LAST) -> int:
        """The latest time that the next row may have; without any time to go by, the first row sets it."""
        known = [time for time in (self.reached, clock) if time is not None]
        return max(known) + self._most if known else or_else
