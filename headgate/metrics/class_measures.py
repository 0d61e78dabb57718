"""Measures that compare classes: weighted latency, priority inversion, starvation.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, dissertation, University of
Pittsburgh, 2013. Each takes one latency per class, a mean or a percentile, or None for a class without results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

COMPARED_STATISTICS = ("mean", "p50", "p75", "p90", "p95", "p99")  # of a latency; classes are compared by each

Latencies = Mapping[str, float | None]


def by_priority(priorities: Mapping[str, int]) -> list[str]:
    """Classes by decreasing priority; classes of equal priority in the order they were declared."""
    return sorted(priorities, key=lambda name: -priorities[name])


def weighted_mean(means: Latencies, priorities: Mapping[str, int]) -> float | None:
    """sum(P_c RT_c) / sum(P_c) over the classes with results (AQSIOS, weighted average response time)."""
    known = [(priorities[name], mean) for name, mean in means.items() if mean is not None]
    total = sum(priority for priority, _ in known)
    return sum(priority * mean for priority, mean in known) / total if total > 0 else None


def priority_inversion(order: Sequence[str], means: Latencies, priorities: Mapping[str, int]) -> float | None:
    """Cumulative priority inversion ratio: sum of (P_i / P_i+1) max(0, RT_i / RT_i+1 - 1) over neighboring classes.

    `order` is by decreasing priority. A pair of equal priorities, or with a class without results, counts 0 (AQSIOS
    1.5). None when no class has results.
    """
    if all(means[name] is None for name in order):
        return None
    total = 0.0
    for high, low in pairwise(order):
        above, below = means[high], means[low]
        if above is None or not below or priorities[high] == priorities[low]:
            continue
        total += priorities[high] / priorities[low] * max(0.0, above / below - 1.0)
    return total


def starvation_ratio(order: Sequence[str], means: Latencies) -> float | None:
    """Mean latency of the least important class over that of the most important. None unless both are known."""
    if len(order) < 2:
        return None
    highest, lowest = means[order[0]], means[order[-1]]
    return lowest / highest if highest and lowest is not None else None
