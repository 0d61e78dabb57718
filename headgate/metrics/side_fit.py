"""Which of an operator's results are due to which of its inputs: least squares over calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FORGET = 0.98  # weight of the past at each call: about the last 50 calls count
CAUTION = 0.003  # how much the sides' shares must vary from call to call before the fit is believed
START_ROWS = 100.0  # rows that the start values count for

Floats = NDArray[np.float64]


class SideFit:
    """The selectivities of an operator's sides, from the rows in by each side and the rows out in all, call by call.

    Rows out are about s_1 n_1 + s_2 n_2 + ..; the squares of what that misses, each divided by the call's rows (as
    counts vary), are made least, and old calls fade. When the sides' shares hardly vary, many solutions fit as well:
    then the one nearest to the start values is taken, these scaled so that they explain the sum of all rows out. None
    is below 0.
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
        """Take in one call."""
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
        """Results per row of each side; as at the start until something is learned."""
        if self._values is None:
            self._values = tuple(self._solve().tolist())
        return self._values

    def _solve(self) -> Floats:
        start = self._start if self._start.any() else np.ones_like(self._start)
        explained = float(start @ self._in)
        near = start * (self._out / explained if explained else 0.0)
        doubt = CAUTION * float(np.trace(self._squares))
        squares = self._squares + doubt * np.eye(len(near))
        products = self._products + doubt * near
        free = np.ones(len(near), dtype=bool)
        found = np.zeros(len(near))
        while free.any():  # a side that would come out below 0 is 0, and the others explain the rest
            found[:] = 0.0
            found[free] = np.linalg.solve(squares[np.ix_(free, free)], products[free])
            if (found >= 0.0).all():
                break
            free &= found > 0.0
        return np.maximum(found, 0.0)
