"""Parameter checks, shared by the arrival processes. Each ValueError says what would be right."""

from __future__ import annotations

import math
import numbers
from typing import Any


def number(name: str, value: Any, right: str, above: float = -math.inf, least: float = -math.inf) -> float:
    """`value` as a float if it is finite, > `above` and >= `least`. `right` says the same in words."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not ok or not math.isfinite(value) or value <= above or value < least:
        raise ValueError(f"{name} must be {right}, not {value!r}")
    return float(value)


def whole(name: str, value: Any, least: int) -> int:
    """`value` as an int if it is a whole number >= `least`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def positive_rate(value: Any) -> float:
    """`value` as a rate in tuples per second."""
    return number("rate", value, "a positive number of tuples per second", above=0.0)
