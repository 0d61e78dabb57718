"""Kafka in tests: helpers that write and read topics. The fixture `kafka` is the address of a broker."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headgate.connect.sources import Source


def produce(servers: str, topic: str, values: Sequence[Any], partition: int = -1, **more: Any) -> None:
    """Write messages, in order; values that are not bytes are written as JSON. `key`, `timestamp` go to all."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": servers, "linger.ms": 5})
    for value in values:
        text = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
        where = {} if partition < 0 else {"partition": partition}
        producer.produce(topic, text, **where, **more)
        producer.poll(0)
    assert producer.flush(30) == 0


def consume(
    servers: str, topic: str, count: int, seconds: float = 15.0, isolation: str = "read_committed"
) -> list[Any]:
    """The messages of a topic from its beginning; waits for so many, and a moment for more."""
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "tests",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 50,
        }
    )
    partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
    found: list[Any] = []
    until = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < until:
        found += [message for message in consumer.consume(10_000, 0.2) if message.error() is None]
    found += [message for message in consumer.consume(10_000, 0.3) if message.error() is None]
    consumer.close()
    return found


def read_all(source: Source, count: int | None = None, seconds: float = 15.0) -> pa.Table:
    """What a source gives until it ends, or has given so many rows."""
    tables = [source.schema.empty_table()]
    until = time.monotonic() + seconds
    while not source.exhausted and (count is None or sum(map(len, tables)) < count):
        assert time.monotonic() < until, f"only {sum(map(len, tables))} rows within {seconds} s"
        table = source.poll(1.0)
        if table is None:
            time.sleep(0.005)
        else:
            tables.append(table)
    return pa.concat_tables(tables)
