"""hnr: hr, with the rate divided by the time that a tuple would need if it were alone."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.plan.paths import find_paths
from headgate.policies.hr import HighestRate
from headgate.policies.worth import Worth, ratio


class HighestNormalizedRate(HighestRate):
    """Highest rate divided by ideal time first, so that slowdown rather than latency is small: S / (C T).

    T is the cost of a tuple on its whole path if every operator passes it; of several paths the shortest counts.
    """

    name = "hnr"

    def worths(self) -> Sequence[Worth | None]:
        ideal, found = self._ideal_times(), list[Worth | None]()
        for unit, worth in zip(self.view.units, super().worths(), strict=True):
            alone = ideal.get(unit.operators[0])
            found.append(None if worth is None or alone is None else worth._replace(gain=ratio(worth.gain, alone)))
        return found

    def _ideal_times(self) -> dict[str, float]:
        """Operator -> T of its shortest path. Paths with a cost that is not known are left out."""
        times: dict[str, float] = {}
        for path in find_paths(self.view.plan):
            costs = [self.view.stats(edge.operator).side(edge.input).cost_s for edge in path.edges]
            known = [cost for cost in costs if cost is not None]
            if len(known) == len(costs):
                for name in path.operators:
                    times[name] = min(times.get(name, sum(known)), sum(known))
        return times
