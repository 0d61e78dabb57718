"""Looks now and then whether topics have got more partitions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from typing import Any

from headgate.connect.kafka_client import partitions_of
from headgate.connect.sources.kafka.offsets import Offsets, Partition

_ANSWER_S = 2.0  # how long a question may take; closing waits for it


class TopicWatch:
    """Asks the brokers in a thread of its own, so that nobody waits for the answer."""

    def __init__(self, client: Any, firsts: Callable[[Collection[Partition]], Offsets], interval_s: float) -> None:
        """`firsts` finds the first offsets of partitions."""
        self._client = client
        self._firsts = firsts
        self._interval_s = interval_s
        self._known: set[Partition] = set()
        self._added: dict[Partition, int] = {}
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headgate-kafka-topics", daemon=True)

    def start(self, partitions: Collection[Partition]) -> None:
        """Begin to watch the topics of these partitions."""
        self._known = set(partitions)
        self._thread.start()

    def take_added(self) -> Offsets:
        """The partitions that were added since the last call, with their first offsets."""
        with self._guard:
            added, self._added = self._added, {}
        return added

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        topics = sorted({partition.topic for partition in self._known})
        while not self._stopping.wait(self._interval_s):
            try:
                found = {Partition(t, number) for t in topics for number in partitions_of(self._client, t, _ANSWER_S)}
                added = self._firsts(found - self._known) if found > self._known else {}
            except OSError:
                continue  # reading says what is wrong
            self._known |= added.keys()
            with self._guard:
                self._added |= added
