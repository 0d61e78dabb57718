"""From a checked application to a run that rows can be pushed into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headgate.api.channels import with_channels
from headgate.api.run import Run
from headgate.connect.sources.push_channel import PushChannel

if TYPE_CHECKING:
    from headgate.api.application import Application


def start(
    app: Application,
    spark: Any,
    force: bool = False,
    stay_open: bool = False,
    fresh: bool = False,
    since: Mapping[str, float] | None = None,
) -> Run:
    """Start Spark, unless `spark` is a session, give every pushed stream its channel, and start the run.

    The run keeps `app`, and adds to it the queries that join. ApplicationError: Spark refuses a query, or a sink cannot
    be opened.
    """
    channels: dict[str, PushChannel] = {}
    checked = with_channels(app.checked(may_be_empty=stay_open), channels, fresh=fresh)
    if checked.checkpoint is not None:
        checked = replace(checked, checkpoint=replace(checked.checkpoint, since=since))
    with app.located():
        from headgate.runtime.spark.engine import SparkRuntime

        return Run(SparkRuntime(checked, spark, force=force, fresh=fresh), channels, app, stay_open)
