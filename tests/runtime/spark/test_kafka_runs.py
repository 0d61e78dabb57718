"""Runs on Spark that read topics of a real broker and write to them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate_lab.bench.kafka_broker import Broker, make_topic
from tests.kafka import consume, produce

pytestmark = pytest.mark.spark


def application(servers: str, source: str, sink: str, **settings: Any) -> hg.Application:
    """Clicks of more than one coin go on to another topic; in `counts`, their number in every 10 seconds."""
    app = hg.Application(slots=2)
    clicks = hg.sources.Kafka(servers=servers, topic=source, **settings)
    app.stream("clicks", "user STRING, coins INT, at BIGINT", time="at", source=clicks)
    to_topic = hg.sinks.Kafka(servers=servers, topic=sink, key="user")
    app.query("large", "SELECT user, coins FROM clicks WHERE coins > 1", sink=to_topic)
    app.query("counts", "SELECT count(*) AS n FROM clicks [RANGE 10 SLIDE 10]", sink=hg.sinks.Memory(limit=1000))
    return app


def clicks(numbers: range) -> list[Any]:
    return [{"user": f"u{n % 7}", "coins": n % 3, "at": n} for n in numbers]


def test_from_kafka_through_spark_to_kafka(spark: Any, kafka: str, tmp_path: Path) -> None:
    source, sink = make_topic(kafka, "run-in", partitions=2), make_topic(kafka, "run-out")
    for partition in (1, 0):
        produce(kafka, source, [*clicks(range(partition, 1000, 2)), b"?"], partition)
    app = application(kafka, source, sink, until="latest")
    report = app.with_settings(dead_letters=str(tmp_path / "letters.jsonl")).run(until_idle=True, spark=spark)
    found = consume(kafka, sink, 333)
    assert [message.key() for message in found] == [f"u{n % 7}".encode() for n in range(2, 1000, 3)]
    assert json.loads(found[0].value()) == {"user": "u2", "coins": 2}
    assert (report.queries["large"].inputs, report.queries["large"].outputs) == (1000, 333)
    assert report.to_dict()["rejected"] == {"clicks": 2}
    letters = [json.loads(line) for line in (tmp_path / "letters.jsonl").read_text().splitlines()]
    assert sorted(letter["position"] for letter in letters) == ["run-in-0@500", "run-in-1@500"]


@pytest.mark.nightly
def test_a_broker_that_is_stopped_in_mid_run(spark: Any, kafka: str, tmp_path: Path) -> None:
    """Other queries go on, and nothing is lost."""
    with Broker(tmp_path / "broker") as broker:
        source, sink = make_topic(broker.servers, "in"), make_topic(broker.servers, "out")
        app = application(broker.servers, source, sink)
        app.stream("ticks", "n INT", source=hg.sources.Push())
        app.query("others", "SELECT n FROM ticks")
        with app.start(spark=spark) as run:
            produce(broker.servers, source, clicks(range(300)))
            assert len(consume(broker.servers, sink, 100)) == 100
            broker.kill()
            for n in range(5):
                run.push("ticks", [{"n": n}])
                time.sleep(0.2)
            wait_for(lambda: run.results("others").to_arrow().num_rows == 5)
            broker.start()
            produce(broker.servers, source, clicks(range(300, 600)))
            found = consume(broker.servers, sink, 200, 60)
        assert {json.loads(message.value())["coins"] for message in found} == {2}
        assert len(found) == 200


def wait_for(reached: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < until
        time.sleep(0.02)
