"""Stored rows as a stream: what CSV and JSON sources share, from typed blocks to stamped, timed batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headgate.connect.sources.base import stamp
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.rejects import OnReject, Rejects
from headgate.errors import ApplicationError

Micros = NDArray[np.int64]


class Reader(Protocol):
    """Reads stored rows as typed blocks of bounded size; `rejects` counts what could not be read."""

    rejects: Rejects

    def blocks(self, at: Any = None) -> Iterator[PlacedRows]:
        """The rows from a place on that an earlier reader gave; None: from the beginning.

        ApplicationError: there is no such place anymore.
        """
        ...


class TimesSeen:
    """The first and the latest time of the rows that a source has delivered, in ticks; None: there was none."""

    def __init__(self, column: str, seen: Sequence[int | None] = (None, None)) -> None:
        self._column = column
        self.first, self.latest = seen

    def add(self, table: pa.Table) -> None:
        """Rows were delivered."""
        ticks = table.column(self._column).cast(pa.int64())
        latest = pc.max(ticks).as_py()
        if latest is None:
            return
        if self.first is None:
            self.first = pc.first(ticks, skip_nulls=True).as_py()
        self.latest = latest if self.latest is None else max(self.latest, latest)


class Timing:
    """When stored rows arrive: by their event time, `speed` times as fast, the first at 0.

    A row whose event time lies before that of an earlier row, or that has none, arrives with the earlier one.
    Whole blocks go in, in order; integers are exact, so the cut into blocks does not show. `before` are the times of
    the rows that come before the first block.
    """

    def __init__(self, column: str, ticks_per_second: int, speed: float, before: TimesSeen | None = None) -> None:
        self._column = column
        self._scale = 1e6 / ticks_per_second / speed
        self._first = before.first if before else None
        self._latest = (before.latest if before else None) or 0

    def __call__(self, table: pa.Table) -> Micros:
        """The arrivals of the rows of the next block, in microseconds."""
        ticks = table.column(self._column).cast(pa.int64())
        if self._first is None:
            first = pc.min(ticks.drop_null().slice(0, 1)).as_py()
            self._first, self._latest = first, first or 0
        filled = pc.fill_null(ticks, np.iinfo(np.int64).min).to_numpy()
        reached = np.maximum(np.maximum.accumulate(filled), self._latest)
        self._latest = int(reached[-1])
        due: Micros = np.rint((reached - (self._first or 0)) * self._scale).astype(np.int64)
        return due


class FileSource:
    """A `Source` over a `Reader`. Without `timing` (replay: fast) every row is due at once: a poll gives the next
    block, or the rest of one, and the time of the poll is its arrival.

    `resume` is a position to go on from. `times` are the times of the rows before it, where the stream has time; the
    source adds those that it delivers.
    """

    replayable = True

    def __init__(
        self,
        reader: Reader,
        schema: pa.Schema,
        timing: Timing | None = None,
        times: TimesSeen | None = None,
        resume: Mapping[str, Any] | None = None,
    ) -> None:
        self.schema = schema
        self._rejects = reader.rejects
        self._place = resume["at"] if resume else None  # of the first row of the block, None at the beginning
        self._blocks = reader.blocks(self._place)
        self._timing = timing
        self._times = times
        self._block: PlacedRows | None = None
        self._taken = 0  # rows of the block that were given out
        self._due: Micros = np.empty(0, np.int64)  # arrivals of its rows
        self._given = resume["given"] if resume else 0

    @property
    def position(self) -> dict[str, Any]:
        """See `position_of`."""
        place = self._block.place(self._taken) if self._block is not None and self._taken else self._place
        times = [self._times.first, self._times.latest] if self._times is not None else None
        return {"given": self._given, "at": place, "times": times}

    @property
    def rejected(self) -> int:
        return self._rejects.count

    @property
    def exhausted(self) -> bool:
        return not self._have_some()

    def next_arrival(self) -> float | None:
        """See `Source`; 0 in a fast replay, where every row has always been there."""
        if not self._have_some():
            return None
        return float(self._due[self._taken]) / 1e6 if self._timing else 0.0

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`. A fast replay gives at most one block."""
        now_us = round(now * 1e6)
        tables: list[pa.Table] = []
        while limit != 0 and not (tables and self._timing is None) and self._have_some():
            assert self._block is not None
            rows = self._block.table.num_rows - self._taken
            if limit is not None:
                rows = min(rows, limit)
            if self._timing is not None:
                rows = min(rows, int(np.searchsorted(self._due[self._taken :], now_us, side="right")))
            if not rows:
                break
            tables.append(self._give(rows, now_us))
            limit = None if limit is None else limit - rows
        return pa.concat_tables(tables) if tables else None

    def report_rejects(self, quiet: bool, on_reject: OnReject | None) -> None:
        """Set what happens to rows that are put aside: only count them, or report each. Call it before polling."""
        self._rejects.quiet, self._rejects.on_reject = quiet, on_reject

    def close(self) -> None:
        """See `Source`."""
        self._place = self.position["at"]
        self._blocks = iter(())
        self._block = None
        self._rejects.summarize()

    def _have_some(self) -> bool:
        while self._block is None or self._taken == self._block.table.num_rows:
            block = next(self._blocks, None)
            if block is None:
                return False
            if self._block is not None:
                self._place = self._block.place(self._taken)
            self._block, self._taken = block, 0
            if self._timing is not None and block.table.num_rows:
                self._due = self._timing(block.table)
        return True

    def _give(self, rows: int, now_us: int) -> pa.Table:
        assert self._block is not None
        end = self._taken + rows
        arrivals = self._due[self._taken : end] if self._timing else np.full(rows, now_us, np.int64)
        given = self._block.table.slice(self._taken, rows)
        if self._times is not None:
            self._times.add(given)
        self._taken = end
        self._given += rows
        return stamp(given.columns, self.schema, arrivals, self._given - rows)


def make_timing(
    settings: Mapping[str, Any], time: str | None, schema: pa.Schema, place: str, before: TimesSeen | None = None
) -> Timing | None:
    """The timing that `replay` asks for; None for `fast`, the default. `before` are the times of the rows before."""
    replay = settings.get("replay", "fast")
    if replay == "fast":
        return None
    speed = 1.0 if replay == "real" else replay
    if isinstance(speed, bool) or not isinstance(speed, (int, float)) or not 0 < speed < float("inf"):
        raise ApplicationError(
            f"{place}.replay", f"{replay!r} is not a way to replay", "use fast, real or a speed factor"
        )
    if time is None:
        remedy = "name the stream's `time` column, or use replay: fast"
        raise ApplicationError(f"{place}.replay", f"replay: {replay} goes by event time, and there is none", remedy)
    kind = schema.field(time).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_integer(kind)):
        problem = f"replay: {replay} cannot go by column '{time}' of type {kind}"
        raise ApplicationError(f"{place}.replay", problem, "it must be a TIMESTAMP, or a BIGINT of seconds")
    return Timing(time, 1_000_000 if pa.types.is_timestamp(kind) else 1, float(speed), before)


def find_file(settings: Mapping[str, Any], folder: Path, place: str) -> Path:
    """The file that `path` names, from the application's folder on."""
    if not settings.get("path"):
        raise ApplicationError(place, "there is no path", "name the file to read, as in path: sensors.csv")
    path = folder / str(settings["path"])
    if not path.is_file():
        remedy = f"relative names start at {folder.resolve()}"
        raise ApplicationError(f"{place}.path", f"there is no file {path}", remedy)
    return path
