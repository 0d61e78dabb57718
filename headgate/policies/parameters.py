"""Checks of policy parameters; what they raise becomes a clear PolicyError."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")
LARGEST = sys.float_info.max  # a whole number may be larger, and is no float then


def one_of(name: str, value: T, allowed: Sequence[T]) -> T:
    if value not in allowed:
        known = ", ".join("null" if one is None else str(one) for one in allowed)
        raise ValueError(f"{name} is {value!r}; it must be one of {known}")
    return value


def positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST:
        raise ValueError(f"{name} is {value!r}; it must be a number above 0")
    return float(value)


def percentage(name: str, value: float | None) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 100):
        raise ValueError(f"{name} is {value!r}; it must be a number between 0 and 100, or null")
    return value


def whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number above 0")
    return value


def between(name: str, value: float, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low < value <= high:
        raise ValueError(f"{name} is {value!r}; it must be a number above {low:g} and at most {high:g}")
    return float(value)
