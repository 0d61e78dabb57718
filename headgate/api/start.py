"""From a checked application to a run that rows can be pushed into."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from headgate.api.run import Run
from headgate.application.checked import CheckedApplication
from headgate.connect.sources.push import OpenPush, Push, PushChannel
from headgate.plan.operators.base import Port


def start(app: CheckedApplication, spark: Any, located: Callable[[], AbstractContextManager[None]]) -> Run:
    """Start Spark, unless `spark` is a session, give every pushed stream its channel, and let the run go.

    ApplicationError, located by `located`: Spark refuses a query, or a sink cannot be opened.
    """
    channels: dict[str, PushChannel] = {}
    streams = dict(app.plan.streams)
    for name, stream in streams.items():
        if isinstance(stream.connector, Push):
            channels[name] = PushChannel(stream, stream.connector.memory)
            if not app.plan.consumers[Port(name)]:
                channels[name].close()  # nobody reads it: nothing would take rows out
            streams[name] = replace(stream, connector=OpenPush(channel=channels[name], memory=stream.connector.memory))
    with located():
        from headgate.runtime.spark.engine import SparkRuntime

        return Run(SparkRuntime(replace(app, plan=replace(app.plan, streams=streams)), spark), channels, located)
