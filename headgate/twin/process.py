"""Has forecasts made by a helper process."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import cast

from headgate.policies.registry import POLICIES
from headgate.twin.helper import Answer, Task
from headgate.twin.prediction import Alternative


class HelperError(RuntimeError):
    """The helper process ended without an answer."""


class Helper:
    """A process that works on one task. Iterate to get the answers as they come; `stop` ends it, from any thread."""

    def __init__(self, snapshot: bytes, alternatives: Sequence[Alternative], seconds: float) -> None:
        self._task = Task(snapshot, alternatives, seconds, _foreign_modules())
        command = [sys.executable, "-m", "headgate.twin.helper"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __iter__(self) -> Iterator[Answer]:
        """HelperError: the process has ended before its time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            pickle.dump(self._task, self._process.stdin)
            self._process.stdin.close()
            for _ in self._task.alternatives:
                yield cast(Answer, pickle.load(self._process.stdout))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:  # it may end within an answer
            raise HelperError("the process that makes forecasts has ended; its messages say why") from error
        finally:
            self.stop()

    def stop(self) -> None:
        """End the process; a second call does nothing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _foreign_modules() -> list[str]:
    """The modules of policies that do not belong to Headgate."""
    found = {POLICIES[name].__module__ for name in POLICIES if name not in POLICIES.own}
    return sorted(found - {"__main__"})
