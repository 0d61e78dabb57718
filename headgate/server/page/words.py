"""Numbers as the page writes them: short, with a unit, and a dash for what is not known."""

from __future__ import annotations

from typing import Any

from headgate.display.tables import size as size_words

NOTHING = "–"
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def duration(seconds: float | None) -> str:
    """About three digits, as in `20.4 ms`."""
    if seconds is None:
        return NOTHING
    if seconds == 0:
        return "0 s"
    unit, factor = next(((unit, factor) for unit, factor in _UNITS if seconds >= factor * 0.9995), _UNITS[-1])
    return f"{digits(seconds / factor)} {unit}"


def digits(value: float) -> str:
    """Three digits, never as a power of ten; thousands are separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def count(value: float | None) -> str:
    """A whole number."""
    return NOTHING if value is None else f"{value:,.0f}"


def rate(per_second: float | None) -> str:
    """How many a second."""
    return NOTHING if per_second is None else f"{digits(per_second) if per_second % 1 else count(per_second)}/s"


def size(value: float | None) -> str:
    """Bytes in a suitable unit."""
    return size_words(value or 0.0)


def share(value: float | None) -> str:
    """A part of a whole, as percent."""
    return NOTHING if value is None else f"{value * 100:.0f} %"


def value_of(measure: str, value: float | None) -> str:
    """A value of a measure that may be promised."""
    if measure == "latency":
        return duration(value)
    return NOTHING if value is None else size(value) if measure == "memory" else rate(value)


def since(at: float, now: float) -> str:
    """How long ago, at run time `now`, something at run time `at` was."""
    seconds = max(0.0, now - at)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit} ago"
    return f"{seconds:.0f} s ago"


def plain(value: Any) -> str:
    """A value of a row of results."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
