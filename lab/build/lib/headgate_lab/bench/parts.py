"""The parts of a bench: announced one by one as it runs, and kept if a later one fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
Announce = Callable[[str], None]


class Parts:
    """What a bench has measured so far, by part."""

    def __init__(self, announce: Announce) -> None:
        self.announce = announce
        self.measured: dict[str, Any] = {}


_current: ContextVar[Parts | None] = ContextVar("parts", default=None)


@contextmanager
def collecting(announce: Announce) -> Iterator[Parts]:
    """Collect the parts of the bench that runs inside; `announce` is called with the name of each part as it begins."""
    parts = Parts(announce)
    token = _current.set(parts)
    try:
        yield parts
    finally:
        _current.reset(token)


def part(name: str, measure: Callable[[], T]) -> T:
    """Measure a part and keep its result, even if a later part fails."""
    parts = _current.get()
    if parts is None:  # not inside `collecting`
        return measure()
    parts.announce(name)
    found = measure()
    parts.measured[name] = found
    return found
