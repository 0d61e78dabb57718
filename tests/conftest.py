"""Fixtures for all tests: one Spark session for the whole run, started only when a test asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests import tiers

settings.load_profile(tiers.DEFAULT)  # `--hypothesis-profile` is read later, and wins


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from headgate.runtime.spark.launch.session import start_spark

    session = start_spark({"master": "local[2]", "spark.driver.memory": "2g"})
    yield session
    session.stop()


@pytest.fixture(scope="session")
def session(spark: Any) -> Any:
    """A session with Headgate's SQL settings."""
    from headgate.runtime.spark.launch.session import own_session

    return own_session(spark)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker that all tests share: each makes topics of its own. One that stops it starts another."""
    from headgate_lab.bench.kafka_broker import Broker, NoKafka

    try:
        broker = Broker(tmp_path_factory.mktemp("kafka"), fetch=False)
    except NoKafka as error:
        pytest.skip(str(error))
    with broker:
        yield broker.servers


@pytest.fixture(scope="module")
def server(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One server for all tests of a file: `url`, `service`. A test removes what it registers.

    Not for the whole session: other files look for threads that a run has left behind.
    """
    from tests.serving import serving

    with serving(tmp_path_factory.mktemp("server"), spark) as running:
        yield running


@pytest.fixture
def client(server: Any) -> Iterator[Any]:
    """A client of that server. What a test registers with it is removed after the test."""
    from tests.serving import clean_client

    with clean_client(server.url) as client:
        yield client


@pytest.fixture(autouse=True)
def state_is_made_smaller(request: pytest.FixtureRequest) -> Iterator[None]:
    """A log that could not be compacted goes on growing: a run survives that, a test does not."""
    failures: list[str] = []

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "could not be compacted" in record.getMessage():
                failures.append(record.getMessage())

    notes, logger = Notes(logging.WARNING), logging.getLogger("headgate.spark")
    logger.addHandler(notes)
    yield
    logger.removeHandler(notes)
    if failures and request.node.get_closest_marker("fails_to_compact") is None:
        pytest.fail("\n".join(failures))
