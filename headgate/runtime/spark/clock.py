"""The clock of a run."""

from __future__ import annotations

import time


class RunClock:
    """Seconds since a run's time 0, which is its start.

    A run that goes on from a checkpoint has the time 0 of the run before, so that stamps stay comparable: its clock
    starts with the seconds that have passed since then, and never with fewer than the checkpoint's.
    """

    def __init__(self, epoch_us: int | None = None, least: float = 0.0) -> None:
        self.epoch_us = epoch_us  # date and time of time 0, in microseconds since 1970; None until the start
        self.started = 0.0  # when this run started
        self._goes_on = epoch_us is not None
        self._least = least
        self._zero: float | None = None  # time 0 on the monotonic clock

    @property
    def start_now(self) -> float:
        """When the run would start if it did so now."""
        if not self._goes_on or self.epoch_us is None:
            return 0.0
        return max(self._least, (time.time_ns() // 1000 - self.epoch_us) / 1e6)

    def start(self) -> None:
        """The run starts now. A second call is the one that counts."""
        self.started = self.start_now
        if not self._goes_on:
            self.epoch_us = time.time_ns() // 1000
        self._zero = time.monotonic() - self.started

    def now(self) -> float:
        """Seconds since time 0; before the start 0."""
        return 0.0 if self._zero is None else time.monotonic() - self._zero

    @property
    def unix(self) -> float:
        """Now, as a Unix time that fits `now`: the clock of the machine may have been set since."""
        return (self.epoch_us or 0) / 1e6 + self.now()

    @property
    def lasted(self) -> float:
        """Seconds since the start."""
        return max(0.0, self.now() - self.started)
