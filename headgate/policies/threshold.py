"""threshold: pcs while there is enough memory, simplified-segment while it is short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan
from headgate.plan.paths import find_paths
from headgate.policies.explanations import explain_cuts
from headgate.policies.parameters import between, positive
from headgate.policies.path_segments import PathSegments
from headgate.policies.path_worths import ViewStats, capacity_worth, steps_by_path
from headgate.policies.ranked import Entry, RankedPolicy
from headgate.policies.starvation import Starvation
from headgate.policies.worth import Worth
from headgate.scheduling.policy import Decision, View
from headgate.scheduling.segments import halve
from headgate.scheduling.units import Group, Unit, by_path

LONGEST_S, SHORTEST_S = 1.0, 0.01  # between two checks of the memory; short when it is nearly used up
MEMORY_S = 60.0  # time constant of the mean memory in use
FIRST_MEAN = 0.25  # initial value of the mean, as a share of the available memory


class Limits(NamedTuple):
    """Saving memory begins at `high` bytes in queues and ends at `low`."""

    high: float
    low: float


def limits(memory: float, mean: float, beta: float) -> Limits:
    """T_max = min((1 + alpha) / 2 M, beta M) with alpha = mean / M, T_min = min(mean, beta T_max) (3.3)."""
    high = min((memory + mean) / 2, beta * memory)
    return Limits(high, min(mean, beta * high))


class Threshold(RankedPolicy):
    """Paths by capacity until queues fill the memory; then segments by memory release until it is free again.

    Both are units. Units of the other mode run only if a slot would be idle otherwise (Jiang and Chakravarthy section
    3.4). A path is ready when a tuple waits anywhere on it, so tuples that segments left behind are not stranded.
    """

    name = "threshold"
    unit = "path"
    needs = ("fixed_s", "cost_s", "selectivity", "tuple_bytes")
    paper = (
        "Jiang, Chakravarthy: Scheduling Strategies for Processing Continuous Queries Over Streams, "
        "UTA TR CSE-2003-30, section 3.4"
    )

    def __init__(
        self,
        memory: float = 256 * 2**20,
        beta: float = 0.9,
        share: float = 0.75,
        starvation: Starvation = None,
        period: int = 20,
    ) -> None:
        super().__init__(starvation, period)
        self.memory = positive("memory", memory)
        self.beta = between("beta", beta, 0.5, 1.0)
        self._segments = PathSegments(partial(halve, share=between("share", share, 0.0, 1.0)))
        self.saving = False
        self._mean = FIRST_MEAN * self.memory

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        paths = by_path(plan)
        self._paths = len(paths)  # the first units; the others are segments
        return [*paths, *self._segments.groups(plan, stats)]

    def regroups(self, plan: Plan, stats: Stats) -> bool:
        return self._segments.outdated(plan, stats)

    def worths(self) -> Sequence[Worth | None]:
        paths, segments = self.view.units[: self._paths], self.view.units[self._paths :]
        steps = steps_by_path(self.view, find_paths(self.view.plan))
        capacities = [capacity_worth(unit, self.view, steps[unit.id]) for unit in paths]
        return [*capacities, *self._segments.worths(segments, self.view)]

    def start(self, view: View) -> None:
        self._last_check = self.next_check = view.now
        super().start(view)

    def choose(self, slot: int) -> Decision | None:
        if self.view.now >= self.next_check:
            self._check_memory()
        return super().choose(slot)

    def explain(self) -> dict[str, Any]:
        """The thresholds are those at the start of a run, in bytes; they follow the mean memory in use."""
        mean = FIRST_MEAN * self.memory
        high, low = limits(self.memory, mean, self.beta)
        thresholds = {"memory": self.memory, "mean": mean, "saving_begins": high, "saving_ends": low}
        return super().explain() | {
            "cuts": explain_cuts(self.view.plan, ViewStats(self.view)),
            "thresholds": thresholds,
        }

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        return super().explain_unit(unit) | {"mode": "normal" if unit.index < self._paths else "saving"}

    def candidates(self, ready: Sequence[Unit]) -> Sequence[Unit]:
        """The units of the current mode; if none is ready, all. A path and its segments have the same oldest tuple."""
        return [unit for unit in ready if self._is_of_mode(unit)] or ready

    def _is_of_mode(self, unit: Unit) -> bool:
        return (unit.index >= self._paths) is self.saving

    def _entry(self, unit: Unit, oldest: float) -> Entry:
        return (float(not self._is_of_mode(unit)), *super()._entry(unit, oldest))

    def _check_memory(self) -> None:
        """Compare the bytes in queues with the limits and switch the mode if needed."""
        now, used = self.view.now, self.view.memory
        self._mean += (used - self._mean) * -math.expm1((self._last_check - now) / MEMORY_S)
        self._last_check = now
        self.next_check = now + min(LONGEST_S, max(SHORTEST_S, LONGEST_S * (1.0 - used / self.memory)))
        high, low = limits(self.memory, self._mean, self.beta)
        saving = used > low if self.saving else used >= high
        if saving is not self.saving:
            self.saving = saving
            self._rank()
