"""The messages of several partitions in one order: by time, as far as all partitions have been read.

Partitions are fetched one after another, each by thousands of messages. In the order of fetching, the time of a stream
would jump ahead with each partition, and the tuples of the next one would be late. So rows wait here until every
partition that has more messages has been read up to their time. The order is that of (time, partition, offset), so a
replay gives the same order, however it was fetched. Within a partition, offsets keep their order: a row counts with the
latest time up to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
FIRST = int(np.iinfo(np.int64).min)


class Rows(NamedTuple):
    """Typed rows, with the number of their partition, their offsets and their times."""

    table: pa.Table
    partitions: Numbers
    offsets: Numbers
    times: Numbers

    def take(self, order: Numbers) -> Rows:
        """These rows, in this order."""
        at = pa.array(order)
        return Rows(self.table.take(at), self.partitions[order], self.offsets[order], self.times[order])

    def slice(self, first: int, rows: int | None = None) -> Rows:
        """A run of rows."""
        end = None if rows is None else first + rows
        parts = (each[first:end] for each in self[1:])
        return Rows(self.table.slice(first, rows), *parts)


class PartitionMerge:
    """Takes rows as they are fetched, and gives those whose turn has come.

    Partitions are known by number. With one partition nothing waits.
    """

    def __init__(self) -> None:
        self._held: list[Rows] = []
        self._reached: dict[int, int] = {}  # the latest time of each partition

    @property
    def held(self) -> int:
        """How many rows wait."""
        return sum(len(rows.offsets) for rows in self._held)

    def first_held(self) -> dict[int, int]:
        """The offset of the first row that waits, of each partition that has any."""
        return first_offsets(self._held)

    def add(self, rows: Rows) -> None:
        """Rows in the order in which they were fetched."""
        if not len(rows.offsets):
            return
        times = rows.times.copy()
        for number in np.unique(rows.partitions).tolist():
            own = np.flatnonzero(rows.partitions == number)
            reached = np.maximum(np.maximum.accumulate(times[own]), self._reached.get(number, FIRST))
            times[own] = reached
            self._reached[number] = int(reached[-1])
        self._held.append(rows._replace(times=times))

    def ahead(self, unread: Sequence[int]) -> set[int]:
        """The partitions that have been read further than one of those in `unread`."""
        if not unread:
            return set()
        slowest = min(self._reached.get(number, FIRST) for number in unread)
        return {number for number, reached in self._reached.items() if reached > slowest}

    def take(self, unread: Sequence[int]) -> Rows | None:
        """The rows that nothing can precede anymore; `unread` are the partitions that have more messages."""
        if not self._held:
            return None
        rows = _together(self._held)
        order = np.lexsort((rows.offsets, rows.partitions, rows.times))
        ready = len(order)
        if unread:
            time, number = min((self._reached.get(number, FIRST), number) for number in unread)
            times, partitions = rows.times[order], rows.partitions[order]
            ready = int(np.count_nonzero((times < time) | ((times == time) & (partitions <= number))))
        self._held = [rows.take(order[ready:])] if ready < len(order) else []
        return rows.take(order[:ready]) if ready else None


def first_offsets(pieces: Sequence[Rows]) -> dict[int, int]:
    """The first offset of each partition that is among these rows."""
    found: dict[int, int] = {}
    for rows in pieces:
        numbers, places = np.unique(rows.partitions, return_index=True)
        for number, place in zip(numbers.tolist(), places.tolist(), strict=True):
            found.setdefault(number, int(rows.offsets[place]))
    return found


def _together(pieces: Sequence[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    arrays = (np.concatenate([rows[at] for rows in pieces]) for at in range(1, 4))
    return Rows(pa.concat_tables([rows.table for rows in pieces]), *arrays)
