"""Looks now and then whether topics have got more partitions, and whether the brokers answer."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from headgate.connect.kafka_client import partitions_of
from headgate.connect.sources.kafka.offsets import Partition

_ANSWER_S = 2.0  # how long a question may take; closing waits for it


class TopicWatch:
    """Asks the brokers in a thread of its own, so that nobody waits for the answer."""

    def __init__(self, client: Any, interval_s: float) -> None:
        self._client = client
        self._interval_s = interval_s
        self._topics: list[str] = []
        self._found: list[Partition] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headgate-kafka-topics", daemon=True)

    def start(self, partitions: Iterable[Partition]) -> None:
        """Begin to watch the topics of these partitions."""
        self._topics = sorted({partition.topic for partition in partitions})
        self._thread.start()

    def take_found(self) -> list[Partition]:
        """The partitions that were found since the last call, known or not."""
        found, self._found = self._found, []
        return found

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            try:
                self._found = [
                    Partition(topic, number)
                    for topic in self._topics
                    for number in partitions_of(self._client, topic, _ANSWER_S)
                ]
            except OSError:
                continue  # reading says what is wrong
