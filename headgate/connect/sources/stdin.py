"""The standard input of the process as a stream."""

from __future__ import annotations

import os
import select
import sys

from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.lines import Feed, LineSource
from headgate.errors import ApplicationError

_CHUNK = 1 << 20


class Stdin(LineSource):
    """Lines from the standard input. Only one stream of an application can read it; it ends with the input."""

    kind = "stdin"
    torn_counts = True

    def _feed(self, context: SourceContext) -> Feed:
        try:
            return _Input(sys.stdin.fileno())
        except (AttributeError, ValueError, OSError) as error:  # there is none, it is closed, or it is not a file
            raise ApplicationError(context.place, "this process has no standard input", "start it with one") from error


class _Input:
    """The bytes of a file descriptor, without ever waiting for them. A terminal, a pipe or a file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.ended = False

    def take(self, now: float) -> bytes | None:
        """See `Feed`."""
        if self.ended or not select.select([self._descriptor], [], [], 0)[0]:
            return None
        came = os.read(self._descriptor, _CHUNK)
        self.ended = not came
        return came

    def close(self) -> None:
        """See `Feed`. The input stays open: it is not ours."""
        self.ended = True
