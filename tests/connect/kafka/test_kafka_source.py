"""Streams that read a topic of a real broker."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sources import Source, SourceContext
from headgate.connect.sources.kafka import Kafka
from headgate.plan.model import Stream
from headgate.sql.schema import SEQUENCE, parse_schema
from headgate_lab.bench.kafka_broker import make_topic
from tests.kafka import produce, read_all

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
        position = json.loads(json.dumps(source.position))
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
