"""How many direct calls may run at once. They use the driver's cores, which on a cluster serve other purposes, too."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

REMOTE_SHARE = 0.5  # of the driver's cores behind a remote master, unless the application says otherwise


def direct_places(session: SparkSession, share: float | None) -> int | None:
    """How many direct calls may run at the same time; None: as many as there are slots.

    With a local master the driver's cores are Spark's cores, so by default there is no limit.
    """
    jvm: Any = session._jvm
    if share is None:
        if str(session.sparkContext.master).startswith("local"):
            return None
        share = REMOTE_SHARE
    cores: int = jvm.java.lang.Runtime.getRuntime().availableProcessors()
    return max(1, int(share * cores)) if share else 0
