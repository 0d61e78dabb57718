"""How many of an operator's results are due to each of its inputs: least squares over its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORGET = 0.98  # factor on the past at each call: about the last 50 calls count
CAUTION = 0.003  # how much the sides' shares must vary from call to call before the fit is trusted
START_ROWS = 100.0  # the initial values count as much as this many rows

Floats = NDArray[np.float64]


class SideFit:
    """The selectivities of an operator's sides, learned from the rows in by each side and the rows out of each call.

    Rows out are about s_1 n_1 + s_2 n_2 + ... The fit minimizes the squared errors, each divided by the rows of its
    call (the variance of a count grows with the count); old calls fade. When the sides' shares hardly vary, many
    solutions fit equally well. Then the one nearest to the initial values is taken, which are first scaled to explain
    the total of rows out. No selectivity is below 0.
    """

    def __init__(self, start: Sequence[float | None]) -> None:
        known = [value for value in start if value is not None]
        even = sum(known) / len(known) if known else 1.0
        self._start: Floats = np.array([even if value is None else value for value in start])
        sides = len(start)
        self._in = np.zeros(sides)
        self._out = 0.0
        self._squares = np.zeros((sides, sides))
        self._products = np.zeros(sides)
        if known:
            self._in += START_ROWS
            self._out = float(START_ROWS * self._start.sum())
        self._values: tuple[float | None, ...] | None = tuple(start)

    def learn(self, rows_in: Sequence[int], rows_out: int) -> None:
        """Update with one call."""
        total = sum(rows_in)
        if total <= 0:
            return
        rows = np.array(rows_in, dtype=np.float64)
        self._in = self._in * FORGET + rows
        self._out = self._out * FORGET + rows_out
        self._squares = self._squares * FORGET + np.outer(rows, rows) / total
        self._products = self._products * FORGET + rows * (rows_out / total)
        self._values = None

    @property
    def values(self) -> tuple[float | None, ...]:
        """Results per row of each side; the initial values until something is learned."""
        if self._values is None:
            self._values = tuple(self._solve().tolist())
        return self._values

    def state(self) -> list[Any]:
        """What was learned, as values that JSON can hold."""
        return [self._in.tolist(), self._out, self._squares.tolist(), self._products.tolist()]

    def restore(self, state: Sequence[Any]) -> None:
        """Go on from a state. One without rows says nothing but what was declared, which may be else now."""
        rows_in, self._out, squares, products = state
        self._in, self._squares, self._products = np.array(rows_in), np.array(squares), np.array(products)
        if self._squares.any():
            self._values = None

    def _solve(self) -> Floats:
        start = self._start if self._start.any() else np.ones_like(self._start)
        explained = float(start @ self._in)
        near = start * (self._out / explained if explained else 0.0)
        doubt = CAUTION * float(np.trace(self._squares))
        squares = self._squares + doubt * np.eye(len(near))
        products = self._products + doubt * near
        free = np.ones(len(near), dtype=bool)
        found = np.zeros(len(near))
        while free.any():  # a side that comes out below 0 is set to 0, and the others explain the rest
            found[:] = 0.0
            found[free] = np.linalg.solve(squares[np.ix_(free, free)], products[free])
            if (found >= 0.0).all():
                break
            free &= found > 0.0
        return np.maximum(found, 0.0)
