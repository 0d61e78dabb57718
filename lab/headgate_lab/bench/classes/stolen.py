"""How much of the machine went to other tenants of its host while something was measured."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil


@dataclass
class Stolen:
    share: float = 0.0  # of the time of all cores


@contextmanager
def stolen_time() -> Iterator[Stolen]:
    """Its share is known when the block has ended; 0 where the system does not tell."""
    found, began, before = Stolen(), time.monotonic(), _stolen_s()
    yield found
    found.share = (_stolen_s() - before) / ((time.monotonic() - began) * (psutil.cpu_count() or 1))


def _stolen_s() -> float:
    return float(getattr(psutil.cpu_times(), "steal", 0.0))
