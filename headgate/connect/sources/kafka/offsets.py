"""Places in topics, and the ranges between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Partition(NamedTuple):
    """One partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


Offsets = Mapping[Partition, int]


class OffsetRange(NamedTuple):
    """Messages of a partition, from offset `first` up to, but not including, `end`.

    There may be fewer messages than offsets: those of transactions that were aborted, and those that compaction has
    removed, leave gaps.
    """

    partition: Partition
    first: int
    end: int


def offset_ranges(position: Offsets, ends: Offsets, most: int | None = None) -> list[OffsetRange]:
    """What lies between a position and the ends, without empty ranges; at most about `most` offsets.

    If that is not all, each partition gives the same share of what it has, rounded up: so all come to their ends
    together, and the times of their messages stay close to each other.
    """
    left = {partition: (first, ends[partition]) for partition, first in position.items() if ends[partition] > first}
    total = sum(end - first for first, end in left.values())
    share = 1.0 if most is None or total <= most else most / total
    return [
        OffsetRange(partition, first, min(end, first + max(1, int((end - first) * share + 0.5))))
        for partition, (first, end) in sorted(left.items())
    ]


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets by topic and partition, as a checkpoint holds them."""
    found: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        found.setdefault(partition.topic, {})[str(partition.number)] = offset
    return found


def offsets_from_json(saved: Mapping[str, Mapping[str, int]]) -> dict[Partition, int]:
    """The inverse of `offsets_to_json`."""
    return {Partition(topic, int(number)): at for topic, each in saved.items() for number, at in each.items()}
