"""Channels for the rows that are pushed into a run."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from headgate.application.checked import CheckedApplication
from headgate.connect.sources.push import OpenPush, Push
from headgate.connect.sources.push_channel import PushChannel
from headgate.errors import ApplicationError
from headgate.plan.operators.base import Port

_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:/")


def with_channels(
    app: CheckedApplication, channels: dict[str, PushChannel], still_read: Collection[str] = (), fresh: bool = False
) -> CheckedApplication:
    """The application with a channel for every pushed stream: the one in `channels`, or a new one that is added there.

    A channel is replaced if a query reads its stream now and none did before: it was closed, or is about to be.
    `still_read` are the streams that a run reads. A `fresh` run takes nothing from logs of earlier runs.
    """
    streams = dict(app.plan.streams)
    for name, stream in streams.items():
        if isinstance(stream.connector, Push):
            read = bool(app.plan.consumers[Port(name)])
            if name not in channels or (read and (channels[name].closed or name not in still_read)):
                log = log_folder(name, stream.connector.log, app)
                channels[name] = PushChannel(stream, stream.connector.memory, log, channels.get(name), fresh)
                if not read:
                    channels[name].close()  # nothing would take rows out
            push = stream.connector
            streams[name] = replace(
                stream, connector=OpenPush(channel=channels[name], memory=push.memory, log=push.log)
            )
    return replace(app, plan=replace(app.plan, streams=streams))


def log_folder(stream: str, log: bool | str | None, app: CheckedApplication) -> Path | None:
    """The folder of a stream's log, from its setting `log`; None: it has none. ApplicationError: there is no place."""
    if not log:
        return None
    place, remedy = f"streams.{stream}.source.log", "add checkpoint: state/ to the application"
    if app.checkpoint is None:
        raise ApplicationError(place, "a log is kept until a checkpoint covers it, and there are none", remedy)
    if isinstance(log, str):
        return app.folder / log
    if _URI.match(app.checkpoint.path):
        problem = f"the checkpoint is at {app.checkpoint.path}, and a log must be on a disk of this machine"
        raise ApplicationError(place, problem, "name a folder, as in log: pushed/")
    return app.folder / app.checkpoint.path / "pushed" / stream
