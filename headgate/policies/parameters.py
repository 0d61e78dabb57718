"""Checks of policy parameters. They return the value or raise ValueError, which becomes a PolicyError."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
LARGEST = sys.float_info.max  # a larger whole number could not become a float


def one_of(name: str, value: T, allowed: Sequence[T]) -> T:
    """One of the allowed values."""
    if value not in allowed:
        known = ", ".join("null" if one is None else str(one) for one in allowed)
        raise ValueError(f"{name} is {value!r}; it must be one of {known}")
    return value


def positive(name: str, value: float) -> float:
    """A number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST:
        raise ValueError(f"{name} is {value!r}; it must be a number above 0")
    return float(value)


def percentage(name: str, value: float | None) -> float | None:
    """A number between 0 and 100, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 100):
        raise ValueError(f"{name} is {value!r}; it must be a number between 0 and 100, or null")
    return value


def whole(name: str, value: int) -> int:
    """A whole number above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number above 0")
    return value


def between(name: str, value: float, low: float, high: float) -> float:
    """A number above `low` and at most `high`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value <= high:
        raise ValueError(f"{name} is {value!r}; it must be a number above {low:g} and at most {high:g}")
    return float(value)
