"""How much one server takes: of requests, of rows, of what is registered."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.application.untrusted import Allowed


@dataclass(frozen=True)
class Limits:
    """Set by the operator. Sizes in bytes, times in seconds."""

    request_bytes: int = 16 * 2**20
    requests_per_second: float = 500.0  # of one caller; bursts of twice as many are fine
    most_of_each: int = 5_000  # streams, tables, classes, queries
    push_seconds: float = 5.0  # how long a push may wait for room
    snapshot_seconds: float = 30.0
    most_listeners: int = 2_000
    allowed: Allowed = field(default_factory=Allowed)  # what requests may name


class RequestRate:
    """Lets each caller send so many requests a second; a pause saves up for a burst of two seconds' worth."""

    _FORGET_AT = 10_000  # callers; those that saved up a whole burst are then forgotten

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = 2 * per_second
        self._clock = clock
        self._saved: dict[str, tuple[float, float]] = {}  # caller -> requests saved up, at which time
        self._lock = threading.Lock()

    def wait_s(self, caller: str) -> float:
        """Count a request; returns 0, or how long the caller has to wait before it will be taken."""
        with self._lock:
            now = self._clock()
            if len(self._saved) >= self._FORGET_AT:
                self._saved = {one: found for one, found in self._saved.items() if self._left(found, now) < self._burst}
            left = self._left(self._saved.get(caller, (self._burst, now)), now)
            if left < 1:
                return (1 - left) / self._per_second
            self._saved[caller] = (left - 1, now)
            return 0.0

    def _left(self, found: tuple[float, float], now: float) -> float:
        saved, at = found
        return min(self._burst, saved + (now - at) * self._per_second)
