"""Lottery tickets: weighted random draws in logarithmic time."""

from __future__ import annotations


class Tickets:
    """Numbers 0 .. n-1, each with a weight. A draw finds each with a probability proportional to its weight.

    The weights are kept in a Fenwick tree.
    """

    def __init__(self, number: int) -> None:
        self._weights = [0.0] * number
        self._sums = [0.0] * (number + 1)
        self._top = 1 << max(0, number.bit_length() - 1)
        self._holders = 0

    def __len__(self) -> int:
        """How many numbers have a weight above 0."""
        return self._holders

    def put(self, number: int, weight: float) -> None:
        """Set the weight of a number; 0 removes it."""
        change = weight - self._weights[number]
        if change == 0.0:
            return
        self._holders += (weight > 0.0) - (self._weights[number] > 0.0)
        self._weights[number] = weight
        at = number + 1
        while at < len(self._sums):
            self._sums[at] += change
            at += at & -at

    def draw(self, chance: float) -> int:
        """The number at the fraction `chance` (0 <= chance < 1) of the total weight, which must be above 0."""
        left, at, step = chance * self._total(), 0, self._top
        while step:
            if at + step < len(self._sums) and self._sums[at + step] <= left:
                at += step
                left -= self._sums[at]
            step >>= 1
        return at if at < len(self._weights) and self._weights[at] > 0.0 else self._nearest(at)

    def _total(self) -> float:
        at, total = len(self._weights), 0.0
        while at:
            total += self._sums[at]
            at -= at & -at
        return total

    def _nearest(self, at: int) -> int:
        """The nearest number with a weight: rounding of the sums may end a draw beside it."""
        held = [number for number, weight in enumerate(self._weights) if weight > 0.0]
        return min(held, key=lambda number: abs(number - at))
