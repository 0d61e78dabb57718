"""A join of two windows, simulated pair by pair.

Two rows meet if both are in their windows at some instant, which follows from their stamps alone. Whether the pair then
matches is decided by a hash of seed, operator and both rows. The pair is output when the second of the two rows is
processed. So every schedule gives the same results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headgate.runtime.simulated.joins.join_window import Extent, JoinWindow, RowsExtent
from headgate.runtime.simulated.selectivity import Item, Outputs, join_result, mixed
from headgate.seeds import derived_seed

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_GOLDEN_64, _HALF = np.uint64(_GOLDEN), np.uint64(32)
_ODDS = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
FEWEST = 1024  # rows added since windows were last tidied, before tidying again is worthwhile


class PairJoin:
    """The state and the draws of one join. A call that is stopped takes back the rows that it had not finished
    (`forget`).

    `matches` has the probability that a pair matches if its later row is on the left, and if it is on the right.
    `carries` makes results remember how long they are valid, for a downstream join.
    """

    def __init__(
        self, name: str, seed: int, extents: tuple[Extent, Extent], matches: tuple[float, float], carries: bool
    ) -> None:
        self.extents = extents
        self._held = (JoinWindow(extents[0]), JoinWindow(extents[1]))
        self._limits = tuple(int(match * 2.0**64) for match in matches)
        self._salt = derived_seed(seed, "pairs", name)
        self._carries = carries
        self._since_tidied = 0
        self._next_tidying = FEWEST

    @property
    def held(self) -> int:
        """Rows in both windows."""
        return len(self._held[0]) + len(self._held[1])

    def draw(self, times: list[float], items: list[Item], inputs: list[int]) -> Sequence[Outputs]:
        """The results of rows, in the order in which they are processed; the rows are added to their windows."""
        ends: list[float] = []
        outputs: list[Item] = []
        for time, item, side in zip(times, items, inputs, strict=True):
            since, until = self.extents[side].stay(item)
            if since < until:  # else the row comes and goes between two evaluations
                results = self._results(item, side, since, until)
                ends += [time] * len(results)
                outputs += results
                self._held[side].add(item, since, until)
        self._since_tidied += len(items)
        return ((ends, outputs),)

    def forget(self, items: list[Item], inputs: list[int]) -> None:
        """Remove rows that were drawn but not finished; they will come again."""
        for item, side in zip(items, inputs, strict=True):
            since, until = self.extents[side].stay(item)
            if since < until:
                self._held[side].remove(item)

    @property
    def untidy(self) -> bool:
        return self._since_tidied >= self._next_tidying

    def tidy(self, frontiers: tuple[float, float], looked_at: int) -> None:
        """Drop rows that can meet nothing any more. Rows still to come on a side arrive at its frontier or later.
        `looked_at`, the number of tuples examined to find the frontiers, limits how often this is done."""
        for side, held in enumerate(self._held):
            held.drop(frontiers[1 - side])
            if isinstance(held.extent, RowsExtent):
                oldest = min(*frontiers, float(held.arrivals[0]) if len(held) else frontiers[side])
                held.extent.log.drop(held.extent.log.rank(oldest) - held.extent.count - 1)
        self._since_tidied = 0
        self._next_tidying = max(FEWEST, self.held, looked_at)

    def _results(self, item: Item, side: int, since: float, until: float) -> list[Item]:
        others = self._held[1 - side]
        met = others.alive(since, until)
        keys = others.keys[met]
        if not len(keys):
            return []
        values = self._pair_values(item[1], keys, side)
        mine, theirs = self._limits[side], self._limits[1 - side]
        fits = _below(values, mine)
        if mine != theirs:  # rows that arrived together: the left one counts as the later
            arrived = others.arrivals[met]
            later = arrived > item[0] if side == 0 else arrived >= item[0]
            fits = np.where(later, _below(values, theirs), fits)
        found = fits.nonzero()[0]
        if not len(found):
            return []
        arrivals = np.maximum(others.arrivals[met][found], item[0]).tolist()
        salt, weight = self._salt, item[2]
        results: list[Item] = [
            (arrival, mixed(value ^ salt), weight)
            for arrival, value in zip(arrivals, values[found].tolist(), strict=True)
        ]
        if not self._carries:
            return results
        starts = np.maximum(others.since[met][found], since).tolist()
        ends = np.minimum(others.until[met][found], until).tolist()
        return [join_result(*all_three) for all_three in zip(results, starts, ends, strict=True)]

    def _pair_values(self, key: int, others: NDArray[np.uint64], side: int) -> NDArray[np.uint64]:
        """64 random bits for each pair, the same whichever row is processed second."""
        if side == 0:
            values = others ^ np.uint64((key * _GOLDEN & _MASK) ^ self._salt)
        else:
            values = others * _GOLDEN_64
            values ^= np.uint64(key ^ self._salt)
        for odd in _ODDS:
            values *= odd
            values ^= values >> _HALF
        return values


def _below(values: NDArray[np.uint64], limit: int) -> NDArray[np.bool_]:
    if limit > _MASK:
        return np.ones(len(values), dtype=bool)
    found: NDArray[np.bool_] = values < np.uint64(limit)
    return found
