"""When tuples enter the simulated system: all streams merged, in blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv

from headgate.flow.arrivals import ArrivalProcess, Immediately, Timeline, make_arrivals
from headgate.flow.seeds import derived_seed
from headgate.plan.application import Application
from headgate.plan.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.runtime.simulated.draws import stream_keys

Floats = NDArray[np.float64]
_AT_A_TIME = 16384  # arrivals drawn ahead, all streams together; more would not fit the processor's cache


class Source(NamedTuple):
    """The arrivals of a stream; `endless` when they never stop by themselves."""

    stream: str
    arrivals: ArrivalProcess
    endless: bool


class Block(NamedTuple):
    """Tuples in the order in which they enter the queues."""

    entries: Floats  # when they enter, seconds
    arrivals: Floats  # when they arrived; earlier than the entry when source slots have work to do
    keys: NDArray[np.uint64]
    streams: NDArray[np.intp]  # position in the plan's list of streams

    def first(self, n: int) -> Block:
        """The first n tuples of the block."""
        return Block(self.entries[:n], self.arrivals[:n], self.keys[:n], self.streams[:n])


def make_sources(app: Application) -> list[Source]:
    """The sources of a run, in stream order; raises ApplicationError where a setting or a file is wrong."""
    return [make_source(stream, app.seed, app.folder) for stream in app.plan.streams.values()]


def make_source(stream: Stream, seed: int, folder: Path) -> Source:
    """The simulated source of a stream: its arrival times alone, since simulated tuples have no values."""
    kind = stream.source.get("kind")
    place = f"streams.{stream.name}.source"
    if kind not in ("feeder", "csv"):
        raise ApplicationError(
            f"{place}.kind", f"the simulator cannot read from '{kind}'", "use feeder or csv to simulate"
        )
    try:
        if kind == "csv":
            return Source(stream.name, _csv_arrivals(stream, folder), endless=False)
        return _feeder(stream, seed, folder)
    except (ValueError, OSError, pa.ArrowException) as error:
        raise ApplicationError(place, str(error)) from error


def _feeder(stream: Stream, seed: int, folder: Path) -> Source:
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
    return Source(stream.name, arrivals, endless=rows is None and not once and not fades)


def _csv_arrivals(stream: Stream, folder: Path) -> ArrivalProcess:
    replay: Any = stream.source.get("replay", "fast")
    header = bool(stream.source.get("header", True))
    names = list(stream.schema.names)
    column = stream.time or names[0]
    if replay != "fast" and stream.time is None:
        raise ValueError(f"replay: {replay} needs the stream's `time` column")
    table = csv.read_csv(
        folder / stream.source["path"],
        csv.ReadOptions(column_names=names, skip_rows=1 if header else 0),
        convert_options=csv.ConvertOptions(
            include_columns=[column],
            column_types={column: pa.string()} if replay == "fast" else {column: _time_type(stream)},
        ),
    )
    if replay == "fast":
        return Immediately(table.num_rows)
    return Timeline(_seconds(table.column(column)), 1.0 if replay == "real" else float(replay))


def _time_type(stream: Stream) -> pa.DataType:
    assert stream.time is not None
    column = stream.schema.find(stream.time)
    return pa.timestamp("us") if column and (column.type or "").startswith("TIMESTAMP") else pa.int64()


def _seconds(column: pa.ChunkedArray) -> Floats:
    """Event times as seconds: BIGINT counts seconds, TIMESTAMP microseconds; a missing one is NaN."""
    scale = 1e-6 if pa.types.is_timestamp(column.type) else 1.0
    numbers = pc.cast(column, pa.int64())
    first = pc.min(numbers).as_py() or 0  # differences stay exact as floats, times since the epoch would not
    values: Floats = pc.cast(pc.subtract(numbers, first), pa.float64()).to_numpy() * scale
    return values


class Merged:
    """All arrivals in order of time, then stream; blocks of about `_AT_A_TIME`, so memory does not grow with the run.

    A stream's next arrivals are drawn when its known ones are used up; what lies before the last known arrival of
    every stream is certain.
    """

    def __init__(self, sources: list[Source], source_slots: int = 0, source_cost_s: float = 0.0) -> None:
        self._sources = sources
        self._ahead = max(64, _AT_A_TIME // max(1, len(sources)))
        self._known: list[Floats] = [np.zeros(0) for _ in sources]
        self._ended = [False] * len(sources)
        self._numbers = [0] * len(sources)  # of the next tuple of each stream
        self._desk = SourceSlots(source_slots, source_cost_s) if source_slots > 0 else None

    def next(self) -> Block | None:
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
            size *= 2  # a stream's arrivals are all at one instant: look further

    def _draw(self, size: int) -> None:
        for at, source in enumerate(self._sources):
            missing = size - len(self._known[at])
            if missing >= size // 2 and not self._ended[at]:
                drawn = source.arrivals.take(missing)
                self._ended[at] = len(drawn) < missing
                self._known[at] = np.concatenate([self._known[at], drawn])

    def _block(self, cuts: list[int]) -> Block:
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
        entries = arrivals if self._desk is None else self._desk.serve(arrivals)
        return Block(entries, arrivals, keys[order], streams[order])


class SourceSlots:
    """Cores that only read sources: first come, first served, the same time for each tuple.

    With equal service times, k servers take turns, so server j serves every k-th tuple, and with
    e_n = max(a_n, e_n-k) + c the times of a turn are a running maximum: no loop.
    """

    def __init__(self, slots: int, cost_s: float) -> None:
        self._cost_s = cost_s
        self._free = np.full(slots, -math.inf)  # when each slot is done with what it has; in turn

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
