"""Tuples for a topic at a steady rate, and how long their results take to come out of another one.

A process of its own, so that neither side of a comparison pays for it:
`python -m headgate_lab.bench.kafka_load SERVERS FROM TO RATE WARM SECONDS` prints the latencies in seconds, as JSON.
Each tuple carries the time at which it was written, and its result carries it on. Tuples of the first WARM seconds do
not count.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from typing import Any

STEP_S = 0.001  # between two writes
LATE_S = 30.0  # how long to wait for the last results
PATIENCE_S = 600.0

SCHEMA = "k INT, v DOUBLE, sent BIGINT"
QUERY = "SELECT k, v * 2 AS w, sent FROM {stream} WHERE v > 0.3"
_PASSES = 0.3


def measured(servers: str, source: str, target: str, rate: int, warm_s: float, seconds: float) -> list[float]:
    """The latencies of all results, measured by another process while a query runs."""
    arguments = [servers, source, target, str(rate), str(warm_s), str(seconds)]
    command = [sys.executable, "-m", "headgate_lab.bench.kafka_load", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    if done.returncode:
        raise RuntimeError(f"the load could not be measured: {done.stderr.strip()[-2000:]}")
    found: list[float] = json.loads(done.stdout)
    return found


class _Writer(threading.Thread):
    """Writes tuples at their times. `passed`: when those were written that the query lets through."""

    def __init__(self, servers: str, topic: str, rate: int, seconds: float) -> None:
        super().__init__()
        self.passed: list[int] = []
        self._servers = servers
        self._topic = topic
        self._rate = rate
        self._seconds = seconds

    def run(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self._servers, "linger.ms": 0})
        values = random.Random(7)
        began = time.perf_counter()
        for number in range(round(self._rate * self._seconds)):
            while (left := began + number / self._rate - time.perf_counter()) > 0:
                producer.poll(min(left, STEP_S))
            value, sent = values.random(), time.time_ns() // 1000
            producer.produce(self._topic, json.dumps({"k": number % 100, "v": value, "sent": sent}).encode())
            if value > _PASSES:
                self.passed.append(sent)
        producer.flush(LATE_S)


def main(servers: str, source: str, target: str, rate: int, warm_s: float, seconds: float) -> list[float]:
    """Write and read at once; RuntimeError: results are missing."""
    from confluent_kafka import OFFSET_END, Consumer, TopicPartition

    settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": "load", "fetch.wait.max.ms": 10}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.assign([TopicPartition(target, 0, OFFSET_END)])
    consumer.consume(1, 1.0)  # it stands at the end now
    writer = _Writer(servers, source, rate, warm_s + seconds)
    first = time.time_ns() // 1000 + round(warm_s * 1e6)  # when tuples begin to count
    writer.start()
    came: list[tuple[int, int]] = []  # when it was written, when its result was read
    until = time.monotonic() + warm_s + seconds + LATE_S
    while time.monotonic() < until and (writer.is_alive() or len(came) < len(writer.passed)):
        messages = consumer.consume(1000, 0.001)
        now = time.time_ns() // 1000
        came += [(json.loads(message.value() or b"")["sent"], now) for message in messages if message.error() is None]
    writer.join()
    consumer.close()
    if missing := len(set(writer.passed) - {sent for sent, _ in came}):
        raise RuntimeError(f"{missing} of {len(writer.passed)} results did not come")
    return [(now - sent) / 1e6 for sent, now in came if sent >= first]


if __name__ == "__main__":
    _servers, _source, _target, _rate, _warm, _seconds = sys.argv[1:]
    print(json.dumps(main(_servers, _source, _target, int(_rate), float(_warm), float(_seconds))))
