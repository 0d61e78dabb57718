"""Priority inversion: a class that is slower than the next less important one, and how frequencies are changed then.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013:
Algorithms 3 (ABD) and 4 to 7 (dvp, ivp, dsp, isp), corrected where they contradict its text and its own examples.

Everywhere: classes in the order of falling priority; `pairs[i]` says that class i, the victim, is slower than class
i + 1, the violator. What comes in is left as it is. Frequencies are whole numbers above 0. If they are in order (a
class with a higher priority has a higher frequency) the result is too, and it differs from them if and only if a pair
is inverted; only ABD's own step has limits to that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

Module = Callable[[Sequence[int], Sequence[int], Sequence[bool]], list[int]]

SUM_MAX = 4096  # slots of a round beyond which neither dvp nor abd goes: it would answer to changes too late


def inverted_pairs(priorities: Sequence[int], latencies: Sequence[float | None]) -> list[bool]:
    """For each pair of neighbours: has the first a higher priority and yet a higher latency?

    Not if they are equal, nor while one of the latencies is not known (None).
    """
    classes = zip(priorities, latencies, strict=True)
    return [_is_inverted(*victim, *violator) for victim, violator in pairwise(classes)]


def _is_inverted(priority: int, latency: float | None, next_priority: int, next_latency: float | None) -> bool:
    if latency is None or next_latency is None:
        return False
    return priority > next_priority and latency > next_latency


def order_repair(frequencies: Sequence[int], priorities: Sequence[int]) -> list[int]:
    """Raise frequencies until every class is above all that have a lower priority.

    From the last class to the first, so that a repair carries on upwards; the other way round it would leave new ties.
    """
    found = list(frequencies)
    for i in reversed(range(len(found))):
        below = [found[j] for j in range(i + 1, len(found)) if priorities[j] < priorities[i]]
        found[i] = max([found[i], *(frequency + 1 for frequency in below)])
    return found


def dvp(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """Decrease violator priority (Algorithm 4): each violator one down, or its victim one up if it is at 1.

    If the order leaves no room for that, all frequencies are doubled first, which makes room. A violator just above
    the class below it would be doubled again and again, for less and less: above `SUM_MAX` it is `ivp` instead.
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

    If that leaves everything as it was, all are raised by one first: then the last class can give one.
    """
    if not any(pairs):
        return list(frequencies)
    found = order_repair(_sides_lowered(frequencies, pairs), priorities)
    if found != list(frequencies):
        return found
    return order_repair(_sides_lowered([frequency + 1 for frequency in frequencies], pairs), priorities)


def isp(frequencies: Sequence[int], priorities: Sequence[int], pairs: Sequence[bool]) -> list[int]:
    """Increase victim side priority (Algorithm 7): each victim and all classes above it one up, which keeps the order.

    Called "Increase Violator Side Priority" in the source; its examples raise the victim's side.
    """
    found = list(frequencies)
    for i, bad in enumerate(pairs):
        if bad:
            found[: i + 1] = [frequency + 1 for frequency in found[: i + 1]]
    return found


MODULES: Mapping[str, Module] = {"dvp": dvp, "ivp": ivp, "dsp": dsp, "isp": isp}


def first_frequencies(priorities: Sequence[int]) -> list[int]:
    """What ABD starts with: the priorities, or where a round would have more slots than `SUM_MAX` the like of them.

    Each class has the least that keeps the order, and of the slots left as much as its priority asks for beyond that.
    With so many classes that even this is too long (above 90) some come to be equal, but none is without a slot.
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
    """ABD's own answer at the end of a round (Algorithm 3): the first step of `dvp`, and never any doubling.

    The order is repaired, which as printed it is not. That can undo the step: (3, 2, 1) with the first pair inverted
    would stay for ever. Then it is `ivp` instead. Where frequencies would grow beyond `SUM_MAX` they stay as they are.
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
