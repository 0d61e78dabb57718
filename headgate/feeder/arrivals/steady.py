"""Arrivals at a steady rate: evenly spaced, or a Poisson process (mavstream.md 1.7, the feeder)."""

from __future__ import annotations

import numpy as np

from headgate.feeder.arrivals.base import BLOCK, BlockProcess
from headgate.feeder.arrivals.checks import positive_rate, whole
from headgate.feeder.arrivals.time_warp import Floats, Pairs

_POISSON_STREAM = 0x504F4953  # keeps these draws independent of others with the same seed, such as column values


class Constant(BlockProcess):
    """Evenly spaced arrivals: the n-th, counting from 1, comes at n / rate seconds."""

    def __init__(self, rate: float, rows: int | None = None, changes: Pairs = (), pauses: Pairs = ()) -> None:
        super().__init__(rows, changes, pauses)
        self._rate = positive_rate(rate)
        self._count = 0

    def _draw(self) -> Floats:
        numbers = np.arange(self._count + 1, self._count + 1 + BLOCK, dtype=np.float64)
        self._count += BLOCK
        return numbers / self._rate


class Poisson(BlockProcess):
    """Independent exponential gaps with mean 1 / rate seconds."""

    def __init__(
        self, rate: float, seed: int, rows: int | None = None, changes: Pairs = (), pauses: Pairs = ()
    ) -> None:
        super().__init__(rows, changes, pauses)
        self._rate = positive_rate(rate)
        self._rng = np.random.default_rng([whole("seed", seed, 0), _POISSON_STREAM])
        self._last = 0.0

    def _draw(self) -> Floats:
        unit = self._last + np.cumsum(self._rng.standard_exponential(BLOCK))
        self._last = unit[-1]
        return unit / self._rate
