"""Fixtures for all tests: one Spark session for the whole run, started only when a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from headgate.runtime.spark.session import start_spark

    session = start_spark({"master": "local[2]", "spark.driver.memory": "2g"})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def session(spark: Any) -> Any:
    """A session with Headgate's SQL settings."""
    from headgate.runtime.spark.session import own_session

    return own_session(spark)
