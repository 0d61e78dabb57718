"""Durations as people write them: `20us`, `5 ms`, `2 seconds`, `1 minute`; a bare number means seconds."""

from __future__ import annotations

import math
import re
from typing import Any

_UNITS = {
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("us", "µs", "μs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_TEXT = re.compile(r"([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+)\s*([a-zµμ]*)", re.IGNORECASE)
REMEDY = "write it like 20us, 5 ms, 2 seconds or 1 minute; a bare number means seconds"


def parse_duration(value: Any) -> float:
    """A duration in seconds. ValueError says what is wrong with it; `REMEDY` says what is accepted."""
    if isinstance(value, str):
        return _from_text(value.strip())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a duration")
    return _checked(value, value)


def _from_text(text: str) -> float:
    if text.startswith("-"):
        raise ValueError(f"'{text}' is negative")
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is not a duration")
    number, unit = found.groups()
    if unit and unit.lower() not in _UNITS:
        raise ValueError(f"'{text}' has the unknown unit '{unit}'")
    # Divide for small units: 3 * 1e-6 is not 3e-06, 3 / 1e6 is.
    factor = _UNITS[unit.lower()] if unit else 1.0
    return _checked(float(number) / round(1 / factor) if factor < 1 else float(number) * factor, text)


def _checked(seconds: float, written: Any) -> float:
    try:
        result = float(seconds)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise ValueError(f"'{written}' is not a finite time")
    if result < 0:
        raise ValueError(f"{written!r} is negative")
    return result


def format_duration(seconds: float | None) -> str:
    """A duration for people, in the largest unit that gives a number of at least 1: `20 us`, `1.5 s`."""
    if seconds is None:
        return "?"
    if seconds == 0:
        return "0 s"
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= factor * 0.9999999:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"
