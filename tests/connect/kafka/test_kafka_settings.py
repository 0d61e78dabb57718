"""What can be said about Kafka without a broker: settings, and the order over partitions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.connect.sources import SourceContext
from headgate.connect.sources.kafka.merge import PartitionMerge, Rows
from headgate.connect.sources.kafka.offsets import OffsetRange, Partition, offset_ranges
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema

SOURCE = {"kind": "kafka", "servers": "localhost:9092", "topic": "t"}


def application(schema: str = "k INT, v DOUBLE", **source: Any) -> hg.Application:
    app = hg.Application()
    app.add("streams", "s", {"schema": schema, "source": SOURCE | source})
    return app


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"topic": []}, r"topic: \[\] is not a topic; name one topic, or several as \[first, second\]"),
        ({"topic": ["a", "a"]}, "a topic is named twice"),
        ({"format": "avro"}, "format: 'avro'"),
        ({"start": "yesterday"}, "start"),
        ({"start": {"timestamp": "noon"}}, "start.timestamp: 'noon' is not a date and time"),
        ({"key": "x"}, "key: there is no column 'x'; known columns: k, v"),
        ({"key": "k", "timestamp": "k"}, "key and timestamp name the same column"),
        ({"timestamp": "v"}, "column 'v' cannot hold the time of a message"),
        ({"format": "raw"}, "format: raw gives one column, not k, v"),
        ({"options": {"auto.offset.reset": "latest"}}, "'auto.offset.reset' cannot be set here; say `start`"),
        ({"options": {"sasl.password": "hush"}}, "the value of 'sasl.password' is a secret"),
        ({"partitions": 3}, "there is no key 'partitions' here"),
    ],
)
def test_settings_that_are_wrong(source: dict[str, Any], said: str) -> None:
    with pytest.raises(ApplicationError, match=said) as caught:
        application(**source)
    assert "hush" not in str(caught.value)


def test_a_secret_is_shown_by_the_name_of_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "hush")
    kind = hg.sources.Kafka(servers="a:1", topic="t", options={"sasl.password": "${KAFKA_PASSWORD}"})
    assert kind.settings()["options"] == {"sasl.password": "${KAFKA_PASSWORD}"}
    assert "hush" not in repr(kind)
    assert kind.client_settings("streams.s.source", {})["sasl.password"] == "hush"


def test_without_the_package_a_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    app = application()
    app.query("q", "SELECT * FROM s")
    app.explain()
    source = hg.sources.Kafka(servers="a:1", topic="t")
    stream = Stream("s", parse_schema("k INT", "schema"), source.settings(), None, connector=source)
    with pytest.raises(ApplicationError, match=r"s.source: Kafka needs the package confluent-kafka; .*\[kafka\]"):
        source.open(SourceContext(stream))


def test_ranges_share_out_what_is_left() -> None:
    a, b, c = (Partition("t", n) for n in range(3))
    position, ends = {b: 0, a: 5, c: 7}, {a: 10, b: 100, c: 7}
    assert offset_ranges(position, ends) == [OffsetRange(a, 5, 10), OffsetRange(b, 0, 100)]
    assert offset_ranges(position, ends, 50) == [OffsetRange(a, 5, 7), OffsetRange(b, 0, 48)]
    assert offset_ranges(position, ends, 1) == [OffsetRange(a, 5, 6), OffsetRange(b, 0, 1)]
    assert offset_ranges(ends, ends) == []


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 20), max_size=12), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_way_to_fetch_gives_the_same_order(times: list[list[int]], random: Any) -> None:
    reached = [np.maximum.accumulate(each).tolist() for each in times]
    expected = sorted((at, p, offset) for p, each in enumerate(reached) for offset, at in enumerate(each))
    merge, given_out, offsets = PartitionMerge(), [], [0] * len(times)
    while True:
        unread = [p for p, each in enumerate(times) if offsets[p] < len(each)]
        ready = merge.take(unread)
        if ready is not None:
            given_out += list(zip(ready.partitions.tolist(), ready.offsets.tolist(), strict=True))
        for held, offset in merge.first_held().items():
            assert offset == sum(1 for p, _ in given_out if p == held)
        if not unread:
            break
        p = random.choice(unread)
        end = random.randint(offsets[p] + 1, len(times[p]))
        fetched = np.arange(offsets[p], end)
        table = pa.table({"at": [times[p][at] for at in fetched]})
        merge.add(Rows(table, np.full(len(fetched), p), fetched, np.array(times[p][offsets[p] : end])))
        offsets[p] = end
    assert given_out == [(p, offset) for _, p, offset in expected]
    assert merge.held == 0
