"""Broadcast disks: a cyclic schedule in which each item has as many slots as its priority, spread over the round.

Al Moakar, Class-Based Continuous Query Scheduling in Data Stream Management Systems, University of Pittsburgh, 2013,
Algorithm 2, corrected: as printed, its steps end too early, and it decomposes masks where priorities are meant.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Literal, TypeVar

from headgate.policies.parameters import one_of, whole

Item = TypeVar("Item", bound=Hashable)
Variant = Literal["disjoint", "coincident", "staggered"]
VARIANTS: tuple[Variant, ...] = ("disjoint", "coincident", "staggered")


def broadcast_schedule(items: Iterable[tuple[Item, int]], variant: Variant = "disjoint") -> list[Item]:
    """One round of slots for items with whole priorities above 0; [] for no items.

    The round has sum(priorities) slots, and each item gets exactly its priority of them. A priority is a sum of powers
    of two, and the slots of each power are evenly spread over the steps of the round. Where all priorities are powers
    of two, there is the same number of slots of any more frequent item between two slots of an item, across the end of
    the round too, and at most one slot of any less frequent item. Within a step the greatest priority comes first;
    equal priorities keep the given order.

    `disjoint`: each step belongs to one power. `coincident`: the other reading of the source, whose picture is lost;
    all powers meet in the first step, so slots crowd there. The time taken is proportional to the greatest priority
    and to the number of slots.

    `staggered` is our own. In the other two, all items of one priority come in a row, and meanwhile the most frequent
    items get no slot. Here the slots of each item are at equal distances, and items of one priority begin one after
    another within that distance, as the pages of a slow disk do in Acharya et al., Broadcast Disks, SIGMOD 1995.
    """
    steps = one_of("variant", variant, VARIANTS)
    ordered = sorted(items, key=lambda item: -whole("priority", item[1]))
    if steps == "staggered":
        return _staggered(ordered)
    bits = max((priority for _, priority in ordered), default=0).bit_length()
    holders = [[item for item, priority in ordered if priority >> bit & 1] for bit in range(bits)]
    turns = _disjoint(bits) if steps == "disjoint" else _coincident(bits)
    return [item for bit in turns for item in holders[bit]]


def _staggered(ordered: Sequence[tuple[Item, int]]) -> list[Item]:
    places: list[tuple[float, int, Item]] = []
    for priority, group in groupby(ordered, key=itemgetter(1)):
        members = [item for item, _ in group]
        for number, item in enumerate(members):
            begin = (number + 0.5) / len(members)
            places += [((begin + turn) / priority, -priority, item) for turn in range(priority)]
    return [item for _, _, item in sorted(places, key=itemgetter(0, 1))]


def _disjoint(bits: int) -> Iterator[int]:
    """The lowest set bit of each step, mirrored: every second step is the highest bit, every fourth the next."""
    for step in range(1, 1 << bits):
        yield bits - (step & -step).bit_length()


def _coincident(bits: int) -> Iterator[int]:
    """All bits whose interval divides the step, the lowest first."""
    for step in range(1 << bits):
        for bit in range(bits):
            if step % (1 << bits - bit) == 0:
                yield bit
