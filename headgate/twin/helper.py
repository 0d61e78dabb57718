"""The process that makes forecasts, so that they do not hold up the run: `python -m headgate.twin.helper`.

Reads a pickled `Task` from standard input, and writes pickled answers to standard output, one for each alternative.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from headgate.twin.prediction import Alternative, Forecast, forecast

NICE = 10  # the run comes first


@dataclass(frozen=True)
class Task:
    """What is to be forecast. `modules` register policies that do not belong to Headgate."""

    snapshot: bytes
    alternatives: Sequence[Alternative]
    seconds: float
    modules: Sequence[str] = ()


@dataclass(frozen=True)
class Failed:
    """An alternative that cannot be forecast, and why."""

    alternative: Alternative
    reason: str


Answer = Forecast | Failed


def answer(task: Task, alternative: Alternative) -> Answer:
    """One forecast. A policy that fails fails alone."""
    try:
        return forecast(pickle.loads(task.snapshot), alternative, task.seconds)
    except Exception as error:
        return Failed(alternative, f"{type(error).__name__}: {error}")


def main() -> None:
    """Answer one task."""
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # what policies print must not get between the answers
    task = pickle.load(sys.stdin.buffer)
    for module in task.modules:
        with suppress(ImportError):  # its policies are then reported as unknown
            importlib.import_module(module)
    for alternative in task.alternatives:
        pickle.dump(answer(task, alternative), out)
        out.flush()


if __name__ == "__main__":
    from headgate.twin import helper  # so that what is pickled here is known by its real name

    helper.main()
