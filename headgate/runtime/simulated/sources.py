"""When tuples arrive and enter the simulated system: all streams merged, in blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from headgate.application.checked import CheckedApplication
from headgate.connect.sources import make_source as make_file_source
from headgate.connect.sources import source_of
from headgate.errors import ApplicationError
from headgate.feeder.arrivals import make_arrivals
from headgate.plan.model import Stream
from headgate.runtime.simulated.selectivity import stream_keys
from headgate.seeds import derived_seed
from headgate.sql.schema import ARRIVAL

Floats = NDArray[np.float64]
AT_A_TIME = 16384  # arrivals drawn ahead, all streams together; more would not fit the processor's cache
_FAR_S = 9e12  # later than any arrival


class Arrivals(Protocol):
    """The part of an `ArrivalProcess` that the simulator needs."""

    def take(self, n: int) -> Floats: ...


class ArrivalSource(NamedTuple):
    """The arrivals of a stream; `endless` if they never stop on their own."""

    stream: str
    arrivals: Arrivals
    endless: bool

    @property
    def rejected(self) -> int:
        """Malformed rows of its file that were put aside so far."""
        return self.arrivals.rejected if isinstance(self.arrivals, FileArrivals) else 0


class ArrivalBlock(NamedTuple):
    """Tuples in the order in which they enter the queues."""

    entries: Floats  # when they enter, seconds
    arrivals: Floats  # when they arrived; earlier than the entry if source slots delay them
    keys: NDArray[np.uint64]
    streams: NDArray[np.intp]  # position in the plan's list of streams

    def first(self, n: int) -> ArrivalBlock:
        """The first n tuples of the block."""
        return ArrivalBlock(self.entries[:n], self.arrivals[:n], self.keys[:n], self.streams[:n])


def make_sources(app: CheckedApplication) -> list[ArrivalSource]:
    """The sources of a run, in stream order; raises ApplicationError where a setting or a file is wrong."""
    return [make_source(stream, app.seed, app.folder) for stream in app.plan.streams.values()]


def make_source(stream: Stream, seed: int, folder: Path) -> ArrivalSource:
    """The simulated source of a stream: only its arrival times, since simulated tuples have no values."""
    if source_of(stream).live:
        remedy = "give it a source for the simulation, such as {kind: feeder, rate: 100, rows: 1000}"
        problem = "nobody knows in advance when its rows come, so they cannot be simulated"
        raise ApplicationError(f"streams.{stream.name}.source", problem, remedy)
    if stream.source.get("kind") != "feeder":
        return ArrivalSource(stream.name, FileArrivals(stream, seed, folder), endless=source_of(stream).endless)
    try:
        return _feeder(stream, seed, folder)
    except (ValueError, OSError) as error:
        raise ApplicationError(f"streams.{stream.name}.source", str(error)) from error


def _feeder(stream: Stream, seed: int, folder: Path) -> ArrivalSource:
    given = stream.source
    path = given.get("path")
    kind = given.get("arrivals", "constant")
    rows: int | None = given.get("rows")
    changes: Sequence[Sequence[float]] = given.get("changes") or ()
    arrivals = make_arrivals(
        kind,
        given.get("rate"),
        rows,
        given.get("seed", derived_seed(seed, "stream", stream.name)),
        changes,
        given.get("pauses") or (),
        gaps=(folder / path).read_text() if path else None,
    )
    once = isinstance(kind, Mapping) and kind.get("repeat") is False
    fades = bool(changes) and changes[-1][1] == 0
    return ArrivalSource(stream.name, arrivals, endless=rows is None and not once and not fades)


class FileArrivals:
    """The arrivals of a file, read as the Spark runtime reads it: the same rows at the same times.

    All tuples of a fast replay arrive at time 0. The file is read on demand, one block at a time.
    """

    def __init__(self, stream: Stream, seed: int, folder: Path) -> None:
        self._source = make_file_source(stream, folder, seed, epoch_us=0)
        self._now = _FAR_S if source_of(stream).in_time else 0.0

    @property
    def rejected(self) -> int:
        """Malformed rows that were put aside so far."""
        return self._source.rejected

    def take(self, n: int) -> Floats:
        """The next n arrival times; fewer, finally none, at the end of the file."""
        pieces: list[Floats] = []
        while n and (table := self._source.poll(self._now, n)) is not None:
            pieces.append(table.column(ARRIVAL).to_numpy() / 1e6)
            n -= table.num_rows
        return np.concatenate(pieces) if pieces else np.empty(0)


class MergedArrivals:
    """All arrivals in order of time, then stream. Blocks of about `AT_A_TIME` keep memory independent of the run's
    length.

    A stream's next arrivals are drawn when its known ones are used up. The order is certain up to the earliest of the
    streams' last known arrivals.
    """

    def __init__(self, sources: list[ArrivalSource], source_slots: int = 0, source_cost_s: float = 0.0) -> None:
        self._sources = sources
        self._ahead = max(64, AT_A_TIME // max(1, len(sources)))
        self._known: list[Floats] = [np.zeros(0) for _ in sources]
        self._ended = [False] * len(sources)
        self._numbers = [0] * len(sources)  # of the next tuple of each stream
        self._source_slots = SourceSlots(source_slots, source_cost_s) if source_slots > 0 else None

    @property
    def delays(self) -> bool:
        """Do tuples enter later than they arrive?"""
        return self._source_slots is not None

    @property
    def finished(self) -> set[int]:
        """The streams whose arrivals have all been returned."""
        return {at for at, known in enumerate(self._known) if self._ended[at] and not len(known)}

    def next(self) -> ArrivalBlock | None:
        """The next block; None when all sources have ended."""
        size = self._ahead
        while True:
            self._draw(size)
            certain = min(
                (float(k[-1]) for k, end in zip(self._known, self._ended, strict=True) if not end),
                default=math.inf,
            )
            cuts = [int(np.searchsorted(known, certain, side="left")) for known in self._known]
            if any(cuts):
                return self._block(cuts)
            if all(self._ended):
                return None
            size *= 2  # all known arrivals of a stream are at one instant, so more are needed

    def _draw(self, size: int) -> None:
        for at, source in enumerate(self._sources):
            missing = size - len(self._known[at])
            if missing >= size // 2 and not self._ended[at]:
                drawn = source.arrivals.take(missing)
                self._ended[at] = len(drawn) < missing
                self._known[at] = np.concatenate([self._known[at], drawn])

    def _block(self, cuts: list[int]) -> ArrivalBlock:
        arrivals = np.concatenate([known[:cut] for known, cut in zip(self._known, cuts, strict=True)])
        keys = np.concatenate(
            [
                stream_keys(source.stream, number, cut)
                for source, number, cut in zip(self._sources, self._numbers, cuts, strict=True)
            ]
        )
        streams = np.repeat(np.arange(len(cuts)), cuts)
        self._known = [known[cut:] for known, cut in zip(self._known, cuts, strict=True)]
        self._numbers = [number + cut for number, cut in zip(self._numbers, cuts, strict=True)]
        order = np.argsort(arrivals, kind="stable")
        arrivals = arrivals[order]
        entries = arrivals if self._source_slots is None else self._source_slots.serve(arrivals)
        return ArrivalBlock(entries, arrivals, keys[order], streams[order])


class SourceSlots:
    """Cores that only read sources: first come, first served, with the same time for each tuple.

    With equal service times, k servers take turns, so server j serves every k-th tuple. Since
    e_n = max(a_n, e_n-k) + c, its times are a running maximum and need no loop.
    """

    def __init__(self, slots: int, cost_s: float) -> None:
        self._cost_s = cost_s
        self._free = np.full(slots, -math.inf)  # when each slot becomes free, in the order of their turns

    def serve(self, arrivals: Floats) -> Floats:
        """When each tuple has been read."""
        slots, cost = len(self._free), self._cost_s
        entries = np.empty_like(arrivals)
        for slot in range(min(slots, len(arrivals))):
            mine = arrivals[slot::slots]
            before = np.arange(len(mine)) * cost
            begins = np.maximum(np.maximum.accumulate(mine - before), self._free[slot]) + before
            entries[slot::slots] = np.maximum(begins, mine) + cost
            self._free[slot] = entries[slot::slots][-1]
        self._free = np.roll(self._free, -(len(arrivals) % slots))
        return np.maximum.accumulate(entries)
