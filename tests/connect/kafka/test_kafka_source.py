"""Streams that read a topic of a real broker."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from headgate.connect.sources import Source, SourceContext
from headgate.connect.sources.base import lag_of, position_of
from headgate.connect.sources.kafka import Kafka
from headgate.connect.sources.kafka.reader import Lost
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.sql.schema import SEQUENCE, parse_schema
from headgate_lab.bench.kafka_broker import Broker, make_topic
from tests.kafka import produce, read_all

pytestmark = pytest.mark.slow  # a broker is started

SCHEMA = "k INT, v DOUBLE"
Letters = list[tuple[Any, str, str, str]]


def open_source(servers: str, topic: Any, schema: str = SCHEMA, time: str | None = None, **settings: Any) -> Source:
    """With `resume`, `sample` and `letters`, what the runtime would pass."""
    context = {name: settings.pop(name) for name in ("resume", "sample") if name in settings}
    letters: Letters = settings.pop("letters", [])
    kind = Kafka(servers=servers, topic=topic, **settings)
    stream = Stream("s", parse_schema(schema, "schema"), kind.settings(), time, connector=kind)
    kind.check(stream, "streams.s.source", Path())
    return kind.open(SourceContext(stream, on_reject=lambda *letter: letters.append(letter), **context))


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    names = [name for name in table.column_names if not name.startswith("_")]
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))


def test_messages_become_rows_and_malformed_ones_dead_letters(kafka: str) -> None:
    topic = make_topic(kafka, "malformed")
    values = [
        {"k": 1, "v": 0.5},
        b"{broken",
        {"k": "x"},
        None,
        b'{"k": 2,\n "v": 3}',
        b"[1]",
        b'{"k": 3}{"k": 4}',
        {"k": 5},
    ]
    produce(kafka, topic, values)
    letters: Letters = []
    source = open_source(kafka, topic, until="latest", letters=letters)
    table = read_all(source)
    source.close()
    assert rows(table) == [(1, 0.5), (2, 3.0), (5, None)]
    assert table.column(SEQUENCE).to_pylist() == [0, 1, 2]
    assert [letter[0] for letter in letters] == [f"malformed-0@{at}" for at in (1, 2, 3, 5, 6)]
    assert source.rejected == 5
    assert letters[0][1:] == ("{broken", "is not JSON", "malformed")
    assert "column k: 'x' does not fit the type int32" in letters[1][2]
    assert letters[2][2] == "has no value"


def test_it_goes_on_at_its_position(kafka: str) -> None:
    topic = make_topic(kafka, "resumed", partitions=3)
    for partition in range(3):
        produce(kafka, topic, [{"k": n, "v": partition} for n in range(1000)], partition)
    whole = open_source(kafka, topic, until="latest")
    undisturbed = read_all(whole)
    whole.close()
    assert undisturbed.num_rows == 3000
    found, position = [], None
    for _ in range(4):
        source = open_source(kafka, topic, until="latest", resume=position)
        begun = 0
        while begun < 700 and not source.exhausted:
            table = source.poll(1.0, 137)
            if table is None:
                time.sleep(0.005)
                continue
            found.append(table)
            begun += table.num_rows
        position = json.loads(json.dumps(position_of(source)))
        source.close()
        if position["given"] == 2000:
            produce(kafka, topic, [{"k": -1, "v": 9}])  # comes after the ends that were found at the start
    source = open_source(kafka, topic, until="latest", resume=position)
    found.append(read_all(source))
    source.close()
    together = pa.concat_tables(found)
    assert together.column(SEQUENCE).to_pylist() == list(range(3000))
    assert sorted(rows(together)) == sorted(rows(undisturbed))
    for partition in range(3):
        assert [k for k, v in rows(together) if v == partition] == list(range(1000))


def test_partitions_are_read_in_the_order_of_time(kafka: str) -> None:
    """However they are fetched: a replay gives the same rows in the same order."""
    topic = make_topic(kafka, "ordered", partitions=3)
    for partition in (2, 0, 1):
        times = range(partition, 6000, 3) if partition else [0, 9, 3, *range(12, 6000, 3)]  # 3 comes after 9
        produce(kafka, topic, [{"at": at, "p": partition} for at in times], partition)
    read = []
    for limit in (None, 7):
        source = open_source(kafka, topic, "at BIGINT, p INT", "at", until="latest")
        tables = [source.schema.empty_table()]
        while not source.exhausted:
            table = source.poll(1.0, limit)
            if table is not None:
                tables.append(table)
        source.close()
        read.append(rows(pa.concat_tables(tables)))
    assert read[0] == read[1]
    assert read[0][:12] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (4, 1),
        (5, 2),
        (7, 1),
        (8, 2),
        (9, 0),
        (3, 0),
        (10, 1),
        (11, 2),
        (12, 0),
    ]
    assert [at for at, _ in read[0][10:]] == list(range(11, 6000))


def test_live_messages_wait_for_no_idle_partition(kafka: str) -> None:
    topic = make_topic(kafka, "idle", partitions=4)
    source = open_source(kafka, topic, start="latest")
    assert source.poll(0.0) is None
    found = []
    for n in range(20):
        produce(kafka, topic, [{"k": n}], n % 2)
        began = time.monotonic()
        found += rows(read_all(source, 1, 2.0))
        assert time.monotonic() - began < 1.0
    source.close()
    assert [k for k, _ in found] == list(range(20))


def test_keys_and_times_of_messages_as_columns(kafka: str) -> None:
    topic = make_topic(kafka, "columns")
    produce(kafka, topic, [b"one", None], key=b"7", timestamp=1_700_000_000_123)
    produce(kafka, topic, [b"two"], key=b"seven", timestamp=1_700_000_000_124)
    produce(kafka, topic, [b"\xff"], timestamp=1_700_000_000_125)
    letters: Letters = []
    settings = {"until": "latest", "key": "id", "letters": letters}
    schema = "id INT, text STRING, at TIMESTAMP"
    table = read_all(open_source(kafka, topic, schema, format="raw", timestamp="at", **settings))
    at = pa.array([1_700_000_000_123_000] * 2, table.schema.field("at").type)
    assert (table.column("id").to_pylist(), table.column("text").to_pylist()) == ([7, 7], ["one", None])
    assert table.column("at").combine_chunks().equals(at)
    assert [letter[:3] for letter in letters] == [
        ("columns-0@2", "two", "column id: 'seven' does not fit the type int32"),
        ("columns-0@3", "�", "column text: '�' does not fit the type string"),
    ]


def test_records_of_csv(kafka: str) -> None:
    topic = make_topic(kafka, "records")
    values = [b'1,"a, ""b""\n"', b"2,\r\n", b"3", b'4,"open', b"5,x\n6,y", b"", b"z,z", b"7,x"]
    produce(kafka, topic, values)
    letters: Letters = []
    source = open_source(kafka, topic, "k INT, s STRING", format="csv", until="latest", letters=letters)
    assert rows(read_all(source)) == [(1, 'a, "b"\n'), (2, None), (7, "x")]
    assert [(letter[0], letter[2]) for letter in letters] == [
        ("records-0@2", "has 1 fields instead of 2"),
        ("records-0@3", "is not one record of CSV"),
        ("records-0@4", "is not one record of CSV"),
        ("records-0@5", "has no value"),
        ("records-0@6", "column k: 'z' does not fit the type int32"),
    ]


def test_where_reading_starts(kafka: str) -> None:
    topic = make_topic(kafka, "starts")
    for n in range(10):
        produce(kafka, topic, [{"k": n}], timestamp=1_700_000_000_000 + n * 1000)
    since = {"timestamp": "2023-11-14 22:13:25"}  # 1,700,000,005
    found = read_all(open_source(kafka, topic, start=since, until="latest"))
    assert [k for k, _ in rows(found)] == [5, 6, 7, 8, 9]
    assert read_all(open_source(kafka, topic, start="latest", until="latest")).num_rows == 0
    beyond = open_source(kafka, topic, start={"timestamp": "2099-01-01"}, until="latest")
    assert read_all(beyond).num_rows == 0
    sample = open_source(kafka, topic, start="latest", sample=True)  # of what may come: what came last
    assert read_all(sample).num_rows == 10


def test_messages_that_were_deleted(kafka: str, caplog: pytest.LogCaptureFixture) -> None:
    topic = make_topic(kafka, "deleted")
    produce(kafka, topic, [{"k": n} for n in range(100)])
    position = {"given": 10, "offsets": {topic: {"0": 10}}}
    client = AdminClient({"bootstrap.servers": kafka})
    for done in client.delete_records([TopicPartition(topic, 0, 60)]).values():
        done.result(10)
    failing = open_source(kafka, topic, resume=position)
    with pytest.raises(Lost, match="deleted-0@10: 50 messages were deleted before they were read"):
        read_all(failing, 1)
    failing.close()
    letters: Letters = []
    skipping = open_source(kafka, topic, resume=position, lost="skip", letters=letters)
    table = read_all(skipping, 40)
    assert [k for k, _ in rows(table)] == list(range(60, 100))
    assert table.column(SEQUENCE).to_pylist() == list(range(10, 50))
    assert lag_of(skipping) == 0
    skipping.close()
    assert [(where, why, kind) for where, _, why, kind in letters] == [
        ("deleted-0@10", "50 messages were deleted before they were read", "lost")
    ]
    assert "going on at offset 60" in caplog.text


def test_partitions_that_are_added_are_read_from_their_beginning(kafka: str) -> None:
    topic = make_topic(kafka, "grown")
    options = {"topic.metadata.refresh.interval.ms": "100"}
    source = open_source(kafka, topic, start="latest", options=options)
    assert source.poll(0.0) is None
    client = AdminClient({"bootstrap.servers": kafka})
    for done in client.create_partitions([NewPartitions(topic, 2)]).values():
        done.result(10)
    produce(kafka, topic, [{"k": 1}], 1)
    assert rows(read_all(source, 1)) == [(1, None)]
    assert position_of(source)["offsets"] == {topic: {"0": 0, "1": 1}}
    source.close()


def test_transactions_that_were_aborted_are_not_read(kafka: str) -> None:
    topic = make_topic(kafka, "aborted", partitions=2)
    producer = Producer({"bootstrap.servers": kafka, "transactional.id": "tests-aborted"})
    producer.init_transactions(10)
    for n, end in ((1, producer.commit_transaction), (2, producer.abort_transaction), (3, producer.commit_transaction)):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(topic, json.dumps({"k": n}).encode(), partition=partition)
        end(10)
    source = open_source(kafka, topic, until="latest")
    assert [k for k, _ in rows(read_all(source))] == [1, 1, 3, 3]
    source.close()


def test_what_is_refused_when_it_is_opened(kafka: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.connect.kafka_client.ANSWER_S", 1.0)
    make_topic(kafka, "orders")
    for settings, said in (
        ({"topic": "order"}, "there is no topic 'order' at .*did you mean 'orders'"),
        ({"servers": "127.0.0.1:1"}, "source.servers: the brokers do not answer.*is a broker of Kafka listening at"),
        ({"options": {"no.such": "x"}}, 'source.options: No such configuration property: "no.such"'),
        ({"options": {"client.id": "${NOT_SET}"}}, "options.client.id: the environment variable NOT_SET is not set"),
    ):
        with pytest.raises(ApplicationError, match=said):
            open_source(**{"servers": kafka, "topic": "orders", **settings})


@pytest.mark.nightly
def test_a_broker_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with Broker(tmp_path / "broker") as broker:
        topic = make_topic(broker.servers, "gone", partitions=2)
        produce(broker.servers, topic, [{"k": n} for n in range(100)])
        source = open_source(broker.servers, topic)
        found = [read_all(source, 100)]
        broker.kill()
        for _ in range(20):  # librdkafka tries to reach it
            assert source.poll(1.0) is None
            time.sleep(0.05)
        broker.start()
        produce(broker.servers, topic, [{"k": n} for n in range(100, 200)])
        found.append(read_all(source, 100, 30))
        broker.kill()
        with pytest.raises(ConnectionError):  # the runtime opens it again then, at its position
            read_all(source, 1, 20)
        position = position_of(source)
        source.close()
        with pytest.raises(OSError, match="do not answer"):
            open_source(broker.servers, topic, resume=position)
        broker.start()
        source = open_source(broker.servers, topic, resume=position)
        produce(broker.servers, topic, [{"k": n} for n in range(200, 300)])
        found.append(read_all(source, 100, 30))
        source.close()
    assert sorted(k for k, _ in rows(pa.concat_tables(found))) == list(range(300))
