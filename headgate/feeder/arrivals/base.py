"""What an arrival process is, and what all kinds share: blocks, the row limit, rate changes and pauses."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from headgate.feeder.arrivals.checks import whole
from headgate.feeder.arrivals.time_warp import Floats, Pairs, TimeWarp

BLOCK = 4096  # arrivals drawn at a time: enough to hide the cost of calling numpy, 32 KB per stream


class ArrivalProcess(Protocol):
    """A source of arrival times; the feeder (wall clock) and the simulator (virtual clock) draw from it.

    Times are seconds since the start, float64, never decreasing. The sequence depends only on parameters and seed, not
    on how calls divide it; `take` and `until` may be mixed.
    """

    def take(self, n: int) -> Floats:
        """The next n arrival times; fewer, and finally none, when the process has ended."""

    def until(self, t: float) -> Floats:
        """All remaining arrival times <= t; later ones are left for the next call."""


class BlockProcess(ABC):
    """An arrival process drawn in blocks. A subclass only implements `_draw`.

    `rows` ends the process after that many arrivals (None: it ends when `_draw` ends, or never). Blocks have a fixed
    size, so floating-point sums, and with them the results, do not depend on how the process is called.
    """

    _draws_forever = True

    def __init__(self, rows: int | None = None, changes: Pairs = (), pauses: Pairs = ()) -> None:
        self._rows_left = None if rows is None else whole("rows", rows, 0)
        self._warp = TimeWarp(changes, pauses)
        self._ready: Floats = np.empty(0)
        self._next = 0
        self._ended = False

    @abstractmethod
    def _draw(self) -> Floats:
        """The next block of arrivals in operational time (no changes, no pauses); empty at the end."""

    def take(self, n: int) -> Floats:
        """See `ArrivalProcess.take`."""
        wanted = whole("the number of arrivals to take", n, 0)
        pieces: list[Floats] = []
        while wanted and self._have_some():
            piece = self._ready[self._next : self._next + wanted]
            self._next += len(piece)
            wanted -= len(piece)
            pieces.append(piece)
        return _joined(pieces)

    def until(self, t: float) -> Floats:
        """See `ArrivalProcess.until`. Raises ValueError for an infinite t if the process never ends."""
        endless = self._draws_forever and self._rows_left is None and not self._warp.ends
        if math.isnan(t) or (t == math.inf and endless):
            raise ValueError(f"until needs a finite time for a process without end, not {t}")
        pieces: list[Floats] = []
        while self._have_some():
            end = int(np.searchsorted(self._ready, t, side="right"))
            if end > self._next:
                pieces.append(self._ready[self._next : end])
                self._next = end
            if self._next < len(self._ready):
                break
        return _joined(pieces)

    def _have_some(self) -> bool:
        while self._next >= len(self._ready) and not self._ended:
            block = self._draw() if self._rows_left != 0 else np.empty(0)
            if self._rows_left is not None:
                block = block[: self._rows_left]
                self._rows_left -= len(block)
            self._ready, self._next = self._warp(block), 0
            self._ended = len(self._ready) < len(block) or not len(block)
        return self._next < len(self._ready)


def _joined(pieces: list[Floats]) -> Floats:
    # Copy even a single piece: a view of ten arrivals would keep the whole block alive.
    return np.concatenate(pieces) if pieces else np.empty(0)
