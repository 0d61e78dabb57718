"""Self-similar arrivals: superposed flows with heavy-tailed ON and OFF periods (path_segment.md 4.0)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headgate.feeder.arrivals.base import BLOCK, BlockProcess
from headgate.feeder.arrivals.checks import number, positive_rate, whole
from headgate.feeder.arrivals.time_warp import Floats, Pairs, invert

_FLOW_STREAM, _GAP_STREAM = 0x464C4F57, 0x47415053  # keep these draws independent of others with the same seed
_CYCLES = 16  # ON/OFF cycles drawn at a time per flow
_LONGEST = 1e9  # period in scales: 30 years for b = 1 s, longer than any run; keeps sums finite for shapes near 1


class SelfSimilar(BlockProcess):
    """The arrivals of `flows` independent flows. A flow has tuples only in its ON periods, with exponential gaps.

    Periods are Pareto distributed, with density a b^a x^-(a+1) for x >= b, shape a and scale b in seconds.

    Nominally a flow's rate while ON is rate / (flows * ON fraction), from the mean periods a b / (a - 1). Means
    converge very slowly (with the defaults, the standard deviation is 6 % after 4,000 s and 5 % after 20,000 s). So
    if `rows` is given, the time axis is stretched to put the last arrival at rows / rate. That takes a second pass on
    the first call, but no memory. Without `rows` the rate is right only in expectation.
    """

    def __init__(
        self,
        rate: float,
        seed: int,
        flows: int = 64,
        on_shape: float = 1.4,
        off_shape: float = 1.2,
        on_scale: float = 1.0,
        off_scale: float = 1.0,
        rows: int | None = None,
        changes: Pairs = (),
        pauses: Pairs = (),
    ) -> None:
        super().__init__(rows, changes, pauses)
        self._rate = positive_rate(rate)
        self._rows = self._rows_left
        self._make = lambda: OnOffFlows(self._rate, seed, flows, (on_shape, off_shape), (on_scale, off_scale))
        self._flows = self._make()
        self._stretch: float | None = None

    def _draw(self) -> Floats:
        if self._stretch is None:
            self._stretch = self._calibrated()
        return self._flows.draw() * self._stretch

    def _calibrated(self) -> float:
        if not self._rows:
            return 1.0
        flows, left = self._make(), self._rows
        block = flows.draw()
        while left > len(block):
            left -= len(block)
            block = flows.draw()
        return self._rows / self._rate / float(block[left - 1])


class OnOffFlows:
    """The superposition of all flows, drawn as a whole instead of flow by flow.

    Exponential gaps are memoryless, so given the number K(t) of flows that are ON, all tuples together are a Poisson
    process with intensity K(t) * (ON rate of a flow): unit-rate arrivals mapped through the inverse of its integral.
    That costs as much as one Poisson process plus a sort of the few ON/OFF switches. Flows start in equilibrium (ON
    with probability ON fraction, the first period a residual one); otherwise the rate would drift for hours with the
    shapes of the paper.
    """

    def __init__(
        self, rate: float, seed: int, flows: int, shapes: tuple[float, float], scales: tuple[float, float]
    ) -> None:
        flows, seed = whole("flows", flows, 1), whole("seed", seed, 0)
        for which, shape, scale in zip(("on", "off"), shapes, scales, strict=True):
            number(f"{which}_shape", shape, "a number above 1 (with 1 or less a period has no mean)", above=1.0)
            number(f"{which}_scale", scale, "a positive number of seconds", above=0.0)
        self._shapes, self._scales = np.array(shapes, dtype=np.float64), np.array(scales, dtype=np.float64)
        means = self._shapes * self._scales / (self._shapes - 1)
        on_fraction = float(means[0] / means.sum())
        self._cycle = float(means.sum())
        self.on_rate = rate / (flows * on_fraction)  # the intensity of one flow that is on
        # At low rates a full block would span days of switches for a caller that wants one minute.
        self._block = min(BLOCK, max(64, math.ceil(64 * rate * self._cycle)))
        self._rng = np.random.default_rng([seed, _FLOW_STREAM])
        self._gaps = np.random.default_rng([seed, _GAP_STREAM])
        self._last = 0.0  # of the unit-rate arrivals

        off = (self._rng.random(flows) >= on_fraction).astype(np.intp)  # index into shapes and scales
        self._drawn_to = self._residual(off)  # all switches of each flow are known up to this time
        self._after = 1 - off  # state from there on; it never changes, since whole cycles are added
        self._pending = self._drawn_to.copy(), np.where(off == 1, 1, -1)  # switches: time, change of K
        count = int(flows - off.sum())
        self._known = 0.0, 0.0, count  # time, integral of the intensity, and K at the end of the knots
        # Knots: time, integral up to there, intensity from there on.
        self._times, self._areas, self._slopes = np.zeros(0), np.zeros(0), np.zeros(0)

    def draw(self) -> Floats:
        """The next block of nominal arrival times; never empty."""
        unit = self._last + np.cumsum(self._gaps.standard_exponential(self._block))
        self._last = float(unit[-1])
        parts = [(self._times, self._areas, self._slopes)]
        while self._known[1] <= self._last:
            parts.append(self.more_knots())
        times, areas, slopes = (np.concatenate(column) for column in zip(*parts, strict=True))
        latest = np.append(np.nextafter(times[1:], -np.inf), np.nextafter(self._known[0], -np.inf))
        arrivals = invert(areas, times, slopes, latest, unit)
        keep = int(np.searchsorted(areas, self._last, side="right")) - 1
        self._times, self._areas, self._slopes = times[keep:], areas[keep:], slopes[keep:]
        return arrivals

    def more_knots(self) -> tuple[Floats, Floats, Floats]:
        """Draw more switches. Returns the knots from the last end to the time up to which every flow is known."""
        when, change = self._pending
        parts = [(when, change)]
        target = float(self._drawn_to.min()) + _CYCLES * self._cycle
        while len(behind := np.flatnonzero(self._drawn_to < target)):
            parts.append(self._more_switches(behind))
        when, change = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(when, kind="stable")
        when, change = when[order], change[order]
        end = float(self._drawn_to.min())
        split = int(np.searchsorted(when, end, side="right"))
        self._pending = when[split:], change[split:]

        start, area, count = self._known
        times = np.concatenate([[start], when[:split]])
        counts = count + np.concatenate([[0], np.cumsum(change[:split])])
        slopes = counts * self.on_rate
        ends = np.append(times[1:], end)
        areas = area + np.concatenate([[0.0], np.cumsum(slopes * (ends - times))])
        self._known = end, float(areas[-1]), int(counts[-1])
        return times, areas[:-1], slopes

    def _more_switches(self, behind: NDArray[np.intp]) -> tuple[Floats, NDArray[np.intp]]:
        state = np.stack([self._after[behind], 1 - self._after[behind]], axis=1)  # of a cycle's two periods
        states = np.tile(state, (1, _CYCLES))
        uniform = 1.0 - self._rng.random(states.shape)  # in (0, 1]
        lengths = np.minimum(uniform ** (-1.0 / self._shapes)[states], _LONGEST) * self._scales[states]
        when = self._drawn_to[behind, None] + np.cumsum(lengths, axis=1)
        self._drawn_to[behind] = when[:, -1]
        return when.ravel(), np.where(states == 1, 1, -1).ravel()

    def _residual(self, state: NDArray[np.intp]) -> Floats:
        """The rest of a period observed at a random moment: density P(X > x) / mean."""
        shape, scale = self._shapes[state], self._scales[state]
        uniform = self._rng.random(len(state))
        early = uniform * shape / (shape - 1)  # below the scale P(X > x) is 1
        late = ((1.0 - uniform) * shape) ** (-1.0 / (shape - 1))
        residual: Floats = np.where(uniform < 1 - 1 / shape, early, np.minimum(late, _LONGEST)) * scale
        return residual
