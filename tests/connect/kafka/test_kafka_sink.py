"""Results as messages of a topic of a real broker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import KafkaException

from headgate.connect.kafka_client import connection_of
from headgate.connect.sinks import SinkContext
from headgate.connect.sinks.kafka import Kafka, Transactions, make_encode, produce
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import parse_schema
from headgate_lab.bench.kafka_broker import make_topic
from tests.kafka import consume

pytestmark = pytest.mark.slow  # a broker is started


def context(sink: Kafka, checkpointed: bool = True) -> SinkContext:
    query = Query("q", "default", Port("q/o"), ("q/o",), sink.settings(), connector=sink)
    schema = parse_schema("k INT, s STRING", "schema")
    return SinkContext(query, schema, Flow(), Path(), "app.yaml", checkpointed=checkpointed)


def results(first: int, rows: int) -> pa.Table:
    numbers = range(first, first + rows)
    return pa.table({"k": pa.array(numbers, pa.int32()), "s": [f"text {n}" for n in numbers]})


def numbers(messages: list[Any]) -> list[int]:
    return [json.loads(message.value())["k"] for message in messages]


def test_an_epoch_that_is_committed_again_is_left_out(kafka: str) -> None:
    topic = make_topic(kafka, "epochs")
    sink = Kafka(servers=kafka, topic=topic, key="s")
    first = sink.connect(context(sink))
    assert first.last_epoch == 0
    first.commit(1, results(0, 3))
    first.commit(2, results(3, 2))
    first.commit(2, results(3, 2))
    first.close()
    again = sink.connect(context(sink))
    assert again.last_epoch == 2
    again.commit(2, results(3, 2))
    again.commit(4, results(5, 1))
    again.close()
    found = consume(kafka, topic, 6)
    assert numbers(found) == [0, 1, 2, 3, 4, 5]
    assert found[0].key() == b"text 0"


def test_a_producer_killed_in_a_transaction_leaves_nothing(kafka: str) -> None:
    """The next one of its name ends its transaction, and it can write no more."""
    topic = make_topic(kafka, "killed")
    sink = Kafka(servers=kafka, topic=topic)
    killed = sink.connect(context(sink))
    assert isinstance(killed, Transactions)
    killed.commit(1, results(0, 1))
    killed.producer.begin_transaction()
    produce(killed.producer, topic, make_encode("json", []), results(100, 5))
    killed.producer.flush(10)
    successor = sink.connect(context(sink))
    assert successor.last_epoch == 1
    successor.commit(2, results(1, 2))
    with pytest.raises(KafkaException, match="fenced"):
        killed.producer.commit_transaction(10)
    killed.close()
    third = sink.connect(context(sink))
    with pytest.raises(ValueError, match="another run of this application"):
        successor.commit(3, results(3, 1))
    successor.close()
    third.commit(3, results(3, 1))
    third.close()
    assert numbers(consume(kafka, topic, 4)) == [0, 1, 2, 3]
    assert 100 in numbers(consume(kafka, topic, 9, isolation="read_uncommitted"))


def test_without_checkpoints_results_come_at_once(kafka: str) -> None:
    topic = make_topic(kafka, "at-once", partitions=2)
    sink = Kafka(servers=kafka, topic=topic, encoding="csv", key=["k", "s"])
    opened = sink.open(context(sink, checkpointed=False))
    stamped = (
        results(0, 1000)
        .append_column("_arrival", pa.array([0] * 1000))
        .append_column("_sequence", pa.array(range(1000)))
    )
    opened.write(stamped)
    found = consume(kafka, topic, 1000)
    assert opened.rows == 1000
    opened.close()
    assert sorted(message.value() for message in found) == sorted(f"{n},text {n}".encode() for n in range(1000))
    assert {message.partition() for message in found} == {0, 1}
    by_value = {message.value(): message.key() for message in found}
    assert by_value[b"7,text 7"] == b'{"k":7,"s":"text 7"}'


def test_a_result_that_is_too_large_can_never_be_written(kafka: str) -> None:
    topic = make_topic(kafka, "large")
    sink = Kafka(servers=kafka, topic=topic)
    target = sink.connect(context(sink))
    huge = pa.table({"k": pa.array([1], pa.int32()), "s": ["x" * 2_000_000]})
    with pytest.raises(ValueError, match=r"a result of 2,000,0\d\d bytes"):
        target.commit(1, huge)
    target.commit(2, results(0, 1))  # the one before has left nothing behind
    target.close()
    assert numbers(consume(kafka, topic, 1)) == [0]


def test_what_is_refused_when_it_is_opened(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.connect.kafka_client.ANSWER_S", 1.0)
    for settings, error, said in (
        ({"topic": "nowhere"}, ApplicationError, "there is no topic 'nowhere'"),
        ({"topic": "t", "key": "x"}, ApplicationError, "the results have no column 'x'; known columns: k, s"),
        ({"topic": "t", "servers": "127.0.0.1:1"}, OSError, "do not answer"),
    ):
        sink = Kafka(**{"servers": kafka, **settings})
        with pytest.raises(error, match=said):
            sink.connect(context(sink))


def test_keys_of_messages() -> None:
    table = pa.table({"a": [1, None], "b": ["x", None]})
    assert [key for key, _ in make_encode("json", ["a"])(table)] == [b"1", None]
    assert [key for key, _ in make_encode("json", ["b"])(table)] == [b"x", None]
    assert [key for key, _ in make_encode("json", ["b", "a"])(table)] == [b'{"b":"x","a":1}', b'{"b":null,"a":null}']


def test_another_client_gets_the_connection_alone() -> None:
    given = {"bootstrap.servers": "a", "sasl.username": "b", "linger.ms": "5", "ssl.ca.location": "c"}
    assert sorted(connection_of(given)) == ["bootstrap.servers", "sasl.username", "ssl.ca.location"]
