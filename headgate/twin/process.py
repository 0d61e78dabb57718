"""Has forecasts made by a helper process."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import cast

from headgate.policies.registry import POLICIES
from headgate.twin.helper import Answer, Task
from headgate.twin.prediction import Alternative

log = logging.getLogger("headgate.twin")


class HelperError(RuntimeError):
    """The helper process ended without an answer."""


def answers(snapshot: bytes, alternatives: Sequence[Alternative], seconds: float) -> Iterator[Answer]:
    """The answers, as they come. Closing the iterator ends the process."""
    task = Task(snapshot, alternatives, seconds, _foreign_modules())
    command = [sys.executable, "-m", "headgate.twin.helper"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as helper:
        try:
            assert helper.stdin is not None
            assert helper.stdout is not None
            pickle.dump(task, helper.stdin)
            helper.stdin.close()
            for _ in alternatives:
                yield cast(Answer, pickle.load(helper.stdout))
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            raise HelperError("the process that makes forecasts has ended; its messages say why") from error
        finally:
            helper.kill()


def _foreign_modules() -> list[str]:
    """The modules of policies that do not belong to Headgate."""
    found = {POLICIES[name].__module__ for name in POLICIES if name not in POLICIES.own}
    return sorted(found - {"__main__"})
