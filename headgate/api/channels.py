"""Channels for the rows that are pushed into a run."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from headgate.application.checked import CheckedApplication
from headgate.connect.sources.push import OpenPush, Push, PushChannel
from headgate.plan.operators.base import Port


def with_channels(
    app: CheckedApplication, channels: dict[str, PushChannel], still_read: Collection[str] = ()
) -> CheckedApplication:
    """The application with a channel for every pushed stream: the one in `channels`, or a new one that is added there.

    A channel is replaced if a query reads its stream now and none did before: it was closed, or is about to be.
    `still_read` are the streams that a run reads.
    """
    streams = dict(app.plan.streams)
    for name, stream in streams.items():
        if isinstance(stream.connector, Push):
            read = bool(app.plan.consumers[Port(name)])
            if name not in channels or (read and (channels[name].closed or name not in still_read)):
                channels[name] = PushChannel(stream, stream.connector.memory)
                if not read:
                    channels[name].close()  # nothing would take rows out
            streams[name] = replace(stream, connector=OpenPush(channel=channels[name], memory=stream.connector.memory))
    return replace(app, plan=replace(app.plan, streams=streams))
