"""Runs that read a topic, write another one, and are killed: each result is there exactly once."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from headgate_lab.bench.kafka_broker import make_topic
from tests.kafka import consume

ROWS = 3000
APPLICATION = """
checkpoint: {{path: state, interval: 0.5 seconds}}
streams:
  numbers:
    schema: "n BIGINT, at BIGINT"
    time: at
    slack: 50
    source: {{kind: kafka, servers: "{servers}", topic: {source}}}
queries:
  all:
    cql: "SELECT n FROM numbers"
    sink: {{kind: kafka, servers: "{servers}", topic: {target}}}
  sums:
    cql: "RSTREAM(SELECT sum(n) AS n FROM numbers [RANGE 100 SLIDE 100])"
    sink: {{kind: kafka, servers: "{servers}", topic: {sums}, delivery: exactly_once}}
"""


@contextmanager
def running(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in a process of its own, which is killed at the end."""
    command = [sys.executable, "-m", "headgate", "run", "app.yaml", "--json"]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.spark
@pytest.mark.nightly
def test_each_result_is_there_once_however_often_it_is_killed(kafka: str, tmp_path: Path) -> None:
    topics = {
        "source": make_topic(kafka, "crash-in", partitions=2),
        "target": make_topic(kafka, "crash-out"),
        "sums": make_topic(kafka, "crash-sums"),
    }
    (tmp_path / "app.yaml").write_text(APPLICATION.format(servers=kafka, **topics))
    producer = Producer({"bootstrap.servers": kafka, "linger.ms": 0})
    written = 0

    def write(rows: int) -> None:
        nonlocal written
        for n in range(written, written + rows):
            producer.produce(topics["source"], json.dumps({"n": n, "at": n}), partition=n % 2)
        producer.flush(10)
        written += rows

    moments = random.Random(7)
    while written < ROWS:
        with running(tmp_path):
            seen, until = written, time.monotonic() + 60
            while len(consume(kafka, topics["target"], seen + 1, 2.0)) <= seen:  # until it is up, and has gone on
                assert time.monotonic() < until, (tmp_path / "log").read_text()[-3000:]
                write(50)
            time.sleep(moments.random())
            write(200)
            time.sleep(moments.random())
    write(200)
    with running(tmp_path):
        found = consume(kafka, topics["target"], written, 60)
        windows = (written - 60) // 100  # whose end has come, whatever the slack
        sums = consume(kafka, topics["sums"], windows + 1, 30)
    assert sorted(json.loads(message.value())["n"] for message in found) == list(range(written))
    whole = [0, *(sum(range(end - 99, end + 1)) for end in range(100, written, 100))]
    assert [json.loads(message.value())["n"] for message in sums][: windows + 1] == whole[: windows + 1]
