"""Runs a whole application on Spark, from its start to its report."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.runtime.spark.engine import SparkRuntime

log = logging.getLogger("headgate.spark")


def run(
    app: CheckedApplication,
    limits: RunLimits,
    spark: SparkSession | None = None,
    tick: Callable[[SparkRuntime], None] | None = None,
    force: bool = False,
    fresh: bool = False,
) -> dict[str, Any]:
    """Run an application on Spark until its limits or Ctrl-C; returns the report."""
    runtime = SparkRuntime(app, spark, force=force, fresh=fresh)
    runtime.start()
    try:
        runtime.wait(limits, None if tick is None else lambda: tick(runtime))
    except KeyboardInterrupt:
        log.info("stopping")
    except BaseException:
        runtime.stop()
        raise
    return runtime.stop()
