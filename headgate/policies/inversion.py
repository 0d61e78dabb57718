"""Priority inversion: a class is slower than the next less important one. How frequencies are changed then.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013:
Algorithms 3 (ABD) and 4 to 7 (dvp, ivp, dsp, isp), corrected where they contradict its text and its own examples.

In all functions classes are in order of decreasing priority, and `pairs[i]` says whether class i, the victim, is slower
than class i + 1, the violator. Arguments are not changed. Frequencies are whole numbers above 0. If they are in order
(a class of higher priority has a higher frequency), so is the result, and it differs from them if and only if a pair
is inverted. Only ABD's own step has exceptions to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

Module = Callable[[Sequence[int], Sequence[int], Sequence[bool]], list[int]]

SUM_MAX = 4096  # slots of a round; dvp and abd do not go beyond, as a longer round would react to changes too late


def inverted_pairs(priorities: Sequence[int], latencies: Sequence[float | None]) -> list[bool]:
    """For each pair of neighbors: does the first have the higher priority and yet the higher latency?

    False if the priorities or latencies are equal, or if one of the latencies is not known (None).
    """
    classes = zip(priorities, latencies, strict=True)
    return [_is_inverted(*victim, *violator) for victim, violator in pairwise(classes)]


def _is_inverted(priority: int, latency: float | None, next_priority: int, next_latency: float | None) -> bool:
    if latency is None or next_latency is None:
        return False
    return priority > next_priority and latency > next_latency


def order_repair(frequencies: Sequence[int], priorities: Sequence[int]) -> list[int]:
    """Raise frequencies until every class has a higher one than all classes of lower priority.

    It goes from the last class to the first, so that a repair carries upwards; the other way would leave new ties.
    """
    found = list(frequencies)
    for i in reversed(range(len(found))):
        below = [found[j] for j in range(i + 1, len(found)) if priorities[j] < priorities[i]]
        found[i] = max([found[i], *(frequency + 1 for frequency in below)])
    return found


def dvp(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """Decrease violator priority (Algorithm 4): each violator one down, or its victim one up if the violator is at 1.

    If the order leaves no room for that, all frequencies are doubled first. For a violator just above the class below
    it that would repeat, each time with less effect; beyond `SUM_MAX` it is `ivp` instead.
    """
    if not any(pairs):
        return list(frequencies)
    found = order_repair(_violators_lowered(frequencies, pairs), priorities)
    if found != list(frequencies):
        return found
    doubled = [2 * frequency for frequency in frequencies]
    found = order_repair(_violators_lowered(doubled, pairs), priorities)
    return found if sum(found) <= SUM_MAX else ivp(frequencies, priorities, pairs)


def ivp(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """Increase victim priority (Algorithm 5): each victim one up."""
    if not any(pairs):
        return list(frequencies)
    raised = [frequency + bad for frequency, bad in zip(frequencies, [*pairs, False], strict=True)]
    return order_repair(raised, priorities)


def dsp(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """Decrease violator side priority (Algorithm 6): each violator and all classes below it one down, but not below 1.

    If that changes nothing, all frequencies are raised by one first, so that the last class has one to give.
    """
    if not any(pairs):
        return list(frequencies)
    found = order_repair(_sides_lowered(frequencies, pairs), priorities)
    if found != list(frequencies):
        return found
    return order_repair(_sides_lowered([frequency + 1 for frequency in frequencies], pairs), priorities)


def isp(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """Increase victim side priority (Algorithm 7): each victim and all classes above it one up, which keeps the order.

    The source calls it "Increase Violator Side Priority", but its examples raise the victim's side.
    """
    found = list(frequencies)
    for i, bad in enumerate(pairs):
        if bad:
            found[: i + 1] = [frequency + 1 for frequency in found[: i + 1]]
    return found


MODULES: Mapping[str, Module] = {"dvp": dvp, "ivp": ivp, "dsp": dsp, "isp": isp}


def first_frequencies(priorities: Sequence[int]) -> list[int]:
    """What ABD starts with: the priorities, scaled down if a round would have more than `SUM_MAX` slots.

    Scaled, each class has the least frequency that keeps the order, plus a share of the remaining slots in proportion
    to what its priority asks for beyond that. With so many classes that even the least frequencies are too many (above
    90), some become equal, but every class keeps a slot.
    """
    if sum(priorities) <= SUM_MAX:
        return list(priorities)
    ones = [1] * len(priorities)
    least = order_repair(ones, priorities)
    if sum(least) > SUM_MAX:
        least = ones
    left, wanted = max(0, SUM_MAX - sum(least)), max(1, sum(priorities) - sum(least))
    return [low + (priority - low) * left // wanted for low, priority in zip(least, priorities, strict=True)]


def abd_frequencies(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """ABD's own step at the end of a round (Algorithm 3): the first step of `dvp`, without any doubling.

    Unlike the printed algorithm it repairs the order. That can undo the step: (3, 2, 1) with the first pair inverted
    would never change. In that case it is `ivp` instead. If the sum would exceed `SUM_MAX`, nothing changes.
    """
    if not any(pairs):
        return list(frequencies)
    found = order_repair(_violators_lowered(frequencies, pairs), priorities)
    if found == list(frequencies):
        found = ivp(frequencies, priorities, pairs)
    return found if sum(found) <= max(SUM_MAX, sum(frequencies)) else list(frequencies)


def _violators_lowered(frequencies: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    found = list(frequencies)
    for i, bad in enumerate(pairs):
        if bad and found[i + 1] > 1:
            found[i + 1] -= 1
        elif bad:
            found[i] += 1
    return found


def _sides_lowered(frequencies: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    found, down = list[int](), 0
    for frequency, bad in zip(frequencies, [False, *pairs], strict=True):
        down += bad
        found.append(max(1, frequency - down))
    return found
