"""The share of the machine that other tenants of its host took during a measurement."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil


@dataclass
class Stolen:
    """The result of `stolen_time`."""

    share: float = 0.0  # of the time of all cores


@contextmanager
def stolen_time() -> Iterator[Stolen]:
    """Measure the stolen time of a block; the share is set when it ends, and is 0 if the system does not report it."""
    found, began, before = Stolen(), time.monotonic(), _stolen_s()
    yield found
    found.share = (_stolen_s() - before) / ((time.monotonic() - began) * (psutil.cpu_count() or 1))


def _stolen_s() -> float:
    return float(getattr(psutil.cpu_times(), "steal", 0.0))
