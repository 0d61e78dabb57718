"""Rate changes and pauses as a warp of the time axis.

A process is generated in *operational* time, as if its rate never changed. The integrated factor
F(t) = integral of factor(x) dx over [0, t] is the operational time that has passed at t, so an arrival due at
operational time s comes at F^-1(s). That is exact for every process, even if the rate changes within a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headgate.feeder.arrivals.checks import number

Floats = NDArray[np.float64]
Pairs = Sequence[Sequence[float]]


def invert(areas: Floats, knots: Floats, slopes: Floats, latest: Floats, s: Floats) -> Floats:
    """The inverse of the piecewise linear F with F(knots[k]) = areas[k] and slope slopes[k] from there on.

    Where F is flat the right end is taken, so no arrival falls into [start, end) of a pause. `latest[k]` is the last
    float before the next knot: rounding must not push an arrival past it. Used by `TimeWarp` and `OnOffFlows`.
    """
    k = np.searchsorted(areas, s, side="right") - 1
    times: Floats = np.minimum(knots[k] + (s - areas[k]) / slopes[k], latest[k])
    return times


class TimeWarp:
    """The inverse of the integrated factor, given `changes` [[t, factor], ...] and `pauses` [[t, seconds], ...].

    Times are in seconds since the start. From t until the next change the rate is factor times the base rate; in
    [t, t + seconds) of a pause it is 0. Pauses do not shift changes: a change may fall into a pause.
    """

    def __init__(self, changes: Pairs = (), pauses: Pairs = ()) -> None:
        steps = _pairs("changes", "factor", changes)
        breaks = _pairs("pauses", "seconds", pauses)
        for (at, length), (following, _) in pairwise(breaks):
            if at + length > following:
                raise ValueError(
                    f"pauses must not overlap: the one at {at:g} s lasts until {at + length:g} s, "
                    f"the next must start then or later, not at {following:g} s"
                )
        borders = {0.0, *(t for t, _ in steps + breaks), *(t + length for t, length in breaks)}
        self._knots = np.array(sorted(borders))
        factors = np.ones(len(self._knots))
        for t, factor in steps:
            factors[self._knots >= t] = factor
        for t, length in breaks:
            factors[(self._knots >= t) & (self._knots < t + length)] = 0.0
        self._areas = np.concatenate([[0.0], np.cumsum(factors[:-1] * np.diff(self._knots))])
        self._latest = np.append(np.nextafter(self._knots[1:], -np.inf), np.inf)
        self._slopes = factors
        self.changes_nothing = bool((factors == 1.0).all())
        self.ends = bool(factors[-1] == 0.0)  # the last factor is 0: later arrivals never come

    def __call__(self, s: Floats) -> Floats:
        """The arrival times for the sorted operational times `s`, without arrivals that never come."""
        if self.changes_nothing:
            return s
        if self.ends:
            s = s[: np.searchsorted(s, self._areas[-1], side="left")]
        return invert(self._areas, self._knots, self._slopes, self._latest, s)


def _pairs(name: str, second: str, given: Pairs | None) -> list[tuple[float, float]]:
    pairs: list[tuple[float, float]] = []
    for entry in _entries(name, second, given):
        at = number(f"the time in {name}", entry[0], "seconds since the start, 0 or more", least=0.0)
        value = number(f"the {second} in {name}", entry[1], "a number, 0 or more", least=0.0)
        if pairs and at <= pairs[-1][0]:
            raise ValueError(f"{name} must be in order of time: {at:g} s comes after {pairs[-1][0]:g} s")
        pairs.append((at, value))
    return pairs


def _entries(name: str, second: str, given: Any) -> list[Sequence[Any]]:
    right = f"{name} must be a list of pairs [time, {second}], for example [[5, 2.0], [10, 1.0]]"
    if given is None:
        return []
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise ValueError(f"{right}, not {given!r}")
    for entry in given:
        if not isinstance(entry, (list, tuple, np.ndarray)) or len(entry) != 2:
            raise ValueError(f"{right}, not {entry!r} in it")
    return list(given)
