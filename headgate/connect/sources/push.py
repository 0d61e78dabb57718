"""The pushed source: a program hands rows to a run, which takes them as fast as it has room."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sources.base import Source
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.push_channel import MEMORY, PushChannel
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.settings.sections import Filled
from headgate.settings.sizes import MemorySize


class Push(SourceKind):
    """Rows that a program pushes into a run: `run.push("clicks", rows)`.

    `memory` bounds the rows that wait to be taken. While they fill it, a push waits. `log` keeps rows on disk before a
    push is answered, until a checkpoint covers them: true is a folder beside the checkpoint, or it is a folder.
    """

    kind = "push"
    may_change = frozenset({"memory"})
    memory: MemorySize = MEMORY
    log: bool | Filled | None = None

    @property
    def files(self) -> list[str]:
        """See `SourceKind`."""
        return [self.log] if isinstance(self.log, str) else []

    @property
    def live(self) -> bool:
        """See `SourceKind`."""
        return True

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`. ApplicationError: nobody can push; a run that can be pushed to opens a `PushChannel`."""
        raise nobody_can_push(context.stream.name)


def nobody_can_push(stream: str) -> ApplicationError:
    """The error for a pushed stream in a run that nothing can be pushed into."""
    problem = "rows are pushed into this stream, and nobody can push into this run"
    remedy = "start it from Python with Application.start(), or give the stream another source"
    return ApplicationError(f"streams.{stream}.source", problem, remedy)


class OpenPush(SourceKind):
    """A pushed source of a run: its rows come through the channel that the run gave it."""

    kind = "push"
    channel: Any
    memory: MemorySize = MEMORY
    log: bool | Filled | None = None

    @property
    def live(self) -> bool:
        """See `SourceKind`."""
        return True

    def settings(self) -> dict[str, Any]:
        """See `Connector`; those of `Push`."""
        log = {} if self.log is None else {"log": self.log}
        return {"kind": self.kind, "memory": self.memory, **log}

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`; it was checked as `Push`."""

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`. A sample has no rows: what is pushed is read once."""
        if context.sample:
            return PushedSource(PushChannel(context.stream), ended=True)
        self.channel.open(context.resume)
        return PushedSource(self.channel)

    def had_ended(self) -> None:
        """See `SourceKind`."""
        self.channel.end()


class PushedSource:
    """The `Source` at the run's end of a channel. It is read for as long as queues have room, on disk at the latest;
    then the channel fills up, and pushes wait."""

    replayable = False
    rejected = 0

    def __init__(self, channel: PushChannel, ended: bool = False) -> None:
        self._channel = channel
        self.schema = channel.schema
        if ended:
            channel.end()

    @property
    def exhausted(self) -> bool:
        return self._channel.over

    @property
    def position(self) -> dict[str, Any]:
        """See `position_of`. Without a log, rows that wait are lost when the process dies."""
        return self._channel.position

    @property
    def lag(self) -> int:
        """See `lag_of`."""
        return self._channel.lag

    @property
    def complete(self) -> bool:
        """See `is_complete`."""
        return self._channel.complete

    def forget(self, position: Any) -> None:
        """See `forget`."""
        self._channel.forget(position)

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""
        return self._channel.take(now, limit)

    def next_arrival(self) -> float | None:
        """See `Source`; nobody knows when the next row will be pushed."""
        return self._channel.first_due()

    def close(self) -> None:
        """See `Source`."""
        self._channel.close()
