"""Runs work in a thread, so that the main thread, the only one that notices signals, does not wait inside Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LEAVE_S = 5.0  # how long work that was cut off may take to clean up


def in_background(work: Callable[[], T]) -> T:
    """What `work` returns or raises. A signal raises in here; it has ended Spark's JVM, so the work fails and ends."""
    results: list[T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    threading.Thread(target=run, name="headgate-start", daemon=True).start()
    try:
        done.wait()
    except BaseException:
        done.wait(LEAVE_S)
        raise
    if errors:
        raise errors[0]
    return results[0]
