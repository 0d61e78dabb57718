"""Reads the partitions of topics with librdkafka's consumer, from given offsets on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from headgate.connect.kafka_client import library, make_client, reason
from headgate.connect.sources.kafka.merge import Numbers
from headgate.connect.sources.kafka.offsets import Offsets, Partition
from headgate.connect.sources.kafka.watch import TopicWatch

log = logging.getLogger("headgate.kafka")

EARLIEST, LATEST = -2, -1  # in place of a timestamp, when offsets are asked for
ANSWER_S = 10.0  # how long to wait for an answer of the brokers
PATIENCE_S = 5.0  # how long others wait for a partition that has more messages but gives none
OUTAGE_S = 5.0  # how long librdkafka may try alone to reach the brokers
_STEP_S = 0.1  # a pause between two fetches counts for no more: nobody gave anything then
SETTINGS = {  # under those of the user
    "group.id": "headgate",  # librdkafka wants one; nothing is committed, and nobody joins
    "isolation.level": "read_committed",
    "fetch.wait.max.ms": "100",  # after the last message, the end of a partition is known so much later
    "fetch.queue.backoff.ms": "10",
    "reconnect.backoff.max.ms": "1000",
    "queued.max.messages.kbytes": "16384",  # of each stream, fetched ahead
    "topic.metadata.refresh.interval.ms": "30000",
}
_REQUIRED = {"enable.auto.commit": "false", "enable.partition.eof": "true", "auto.offset.reset": "error"}
_GONE = ("OFFSET_OUT_OF_RANGE", "_AUTO_OFFSET_RESET")
_FATAL = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")


OnLost = Callable[[Partition, int, str], bool]  # a partition, the offset that should come next, and what is wrong


class Fetched(NamedTuple):
    """Messages, with the number of their partition, and their offsets."""

    messages: list[Any]
    partitions: Numbers
    offsets: Numbers


_PASSING = ("NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PART")


class Lost(Exception):
    """Messages were deleted before they were read. Reading again would not bring them back."""


class TopicReader:
    """The messages of partitions, each read from its start on; bounded by `ends`, or endless.

    Partitions are known by their number in `partitions`. Those that topics get later are read from their beginning.
    """

    def __init__(self, settings: Mapping[str, Any], place: str, lost: OnLost) -> None:
        """`lost` is called when messages were deleted before they were read, and says whether to go on without them.

        ApplicationError: librdkafka refuses the settings.
        """
        self._confluent = library(place)
        self._trouble: tuple[float, str] | None = None  # since when nothing comes, and why
        self.partitions: list[Partition] = []
        self.next: list[int] = []  # the offset after the last message that was fetched, by partition
        self._ends: Offsets | None = None
        self._numbers: dict[tuple[str, int], int] = {}
        self._at_end: dict[int, int] = {}  # where a partition was seen to end
        self._heard: list[float] = []  # when a partition gave something, on a clock that stands still between fetches
        self._clock, self._fetched = 0.0, time.monotonic()
        self._lost = lost
        self._paused: set[int] = set()
        given = {**settings, **_REQUIRED, "error_cb": self._note}
        self.client = make_client(self._confluent.Consumer, given, place)
        refresh_s = int(settings["topic.metadata.refresh.interval.ms"]) / 1000
        self._watch = TopicWatch(self.client, lambda added: self.offsets(added, EARLIEST), refresh_s)

    def offsets(self, partitions: Iterable[Partition], at: int) -> dict[Partition, int]:
        """The offset of the first message from a time on (milliseconds since 1970, or EARLIEST, LATEST).

        The end where there is none. OSError: the brokers do not answer.
        """
        asked = [self._confluent.TopicPartition(*each, at) for each in partitions]
        if not asked:
            return {}
        answered = self._asked(asked)
        found = {}
        for each in answered:
            if each.error is not None:
                raise OSError(f"{each.topic}-{each.partition}: {each.error.str()}")
            found[Partition(each.topic, each.partition)] = each.offset
        after = [partition for partition, offset in found.items() if offset < 0]
        return found | (self.offsets(after, LATEST) if after and at != LATEST else {})

    def _asked(self, partitions: list[Any]) -> list[Any]:
        """Asks again for a while: a topic that was just made has no leaders yet."""
        until = time.monotonic() + ANSWER_S
        while True:
            try:
                return list(self.client.offsets_for_times(partitions, timeout=ANSWER_S))
            except self._confluent.KafkaException as error:
                if error.args[0].name() not in _PASSING or time.monotonic() > until:
                    raise OSError(f"the brokers do not answer: {reason(error)}") from None
            time.sleep(_STEP_S)

    def begin(self, starts: Offsets, ends: Offsets | None) -> None:
        """Read from these offsets on; with `ends`, up to those."""
        self._ends = ends
        self._assign(starts)
        if ends is None:
            self._watch.start(starts)

    def go_to(self, offsets: Offsets) -> None:
        """Go on at other offsets; what was fetched already is not given again."""
        given = [self._topic_partition(partition) for partition in offsets]
        self.client.resume(given)
        self.client.incremental_unassign(given)
        self._assign(offsets)

    def fetch(self, most: int, wait_s: float = 0.0) -> Fetched:
        """Up to so many messages. OSError: the brokers do not answer, or refuse. Lost: messages are gone."""
        now = time.monotonic()
        self._clock += min(now - self._fetched, _STEP_S)
        self._fetched = now
        if self._trouble is not None and self._clock - self._trouble[0] > OUTAGE_S:
            raise ConnectionError(self._trouble[1])
        if added := self._watch.take_added():
            log.info("new partitions: %s", ", ".join(map(str, added)))
            self._assign(added)
        messages = []
        for message in self.client.consume(most, wait_s):
            if message.error() is None:
                messages.append(message)
            else:
                self._event(message)
        index = self._numbers
        numbers = np.array([index[m.topic(), m.partition()] for m in messages], np.int64)
        offsets = np.array([m.offset() for m in messages], np.int64)
        for number in np.unique(numbers).tolist():
            self._advance(number, int(offsets[numbers == number].max()) + 1)
        return self._within_ends(Fetched(messages, numbers, offsets))

    def unread(self) -> list[int]:
        """The partitions that have more messages, as far as is known."""
        return [
            number
            for number in range(len(self.partitions))
            if not self._is_at_end(number) and self._clock - self._heard[number] < PATIENCE_S
        ]

    def end_of(self, number: int) -> int | None:
        """The offset after the last message of a partition, as of the latest fetch; None: not known yet."""
        if self._ends is not None:
            return self._ends[self.partitions[number]]
        _, high = self.client.get_watermark_offsets(self._topic_partition(self.partitions[number]), cached=True)
        return None if high < 0 else int(high)

    @property
    def finished(self) -> bool:
        """Has everything up to the ends been fetched?"""
        return self._ends is not None and all(self._is_at_end(number) for number in range(len(self.partitions)))

    def pause(self, numbers: Collection[int]) -> None:
        """Fetch nothing from these partitions, until it is called without them."""
        wanted = set(numbers) | {number for number in range(len(self.next)) if self._ends and self._is_at_end(number)}
        for change, changed in (
            (self.client.pause, wanted - self._paused),
            (self.client.resume, self._paused - wanted),
        ):
            if changed:
                change([self._topic_partition(self.partitions[number]) for number in changed])
        self._paused = wanted

    def close(self) -> None:
        """Let go of the brokers."""
        self._watch.stop()
        self.client.close()

    def _assign(self, starts: Offsets) -> None:
        for partition, offset in starts.items():
            number = self._numbers.setdefault(partition, len(self.partitions))
            if number == len(self.partitions):
                self.partitions.append(partition)
                self.next.append(offset)
                self._heard.append(self._clock)
            self.next[number], self._heard[number] = offset, self._clock
            self._at_end.pop(number, None)
            self._paused.discard(number)
        self.client.incremental_assign([self._topic_partition(each, at) for each, at in starts.items()])

    def _advance(self, number: int, offset: int) -> None:
        self.next[number] = max(self.next[number], offset)
        self._heard[number] = self._clock
        self._trouble = None

    def _is_at_end(self, number: int) -> bool:
        at = self.next[number]
        if self._at_end.get(number) == at:
            return True
        end = self.end_of(number)
        return end is not None and at >= end

    def _within_ends(self, fetched: Fetched) -> Fetched:
        if self._ends is None or not fetched.messages:
            return fetched
        ends = np.array([self._ends[partition] for partition in self.partitions], np.int64)
        good = np.flatnonzero(fetched.offsets < ends[fetched.partitions])
        if len(good) == len(fetched.messages):
            return fetched
        messages = [fetched.messages[at] for at in good.tolist()]
        return Fetched(messages, fetched.partitions[good], fetched.offsets[good])

    def _event(self, message: Any) -> None:
        """What comes in place of a message: the end of a partition, or a problem."""
        error, partition = message.error(), Partition(message.topic(), message.partition())
        name = error.name()
        if name == "_PARTITION_EOF":
            number = self._numbers[partition]
            self._advance(number, message.offset())
            self._at_end[number] = message.offset()
        elif name in _GONE:
            self._go_on_after_loss(partition)
        elif error.fatal() or name in _FATAL or name.endswith("AUTHORIZATION_FAILED"):
            raise OSError(f"{partition if message.topic() else 'the brokers'}: {error.str()}")
        else:
            self._begin_trouble(error)

    def _note(self, error: Any) -> None:
        """librdkafka's word on its connections; it goes on trying."""
        if error.name() in ("_ALL_BROKERS_DOWN", "_AUTHENTICATION", "_RESOLVE"):
            self._begin_trouble(error)

    def _begin_trouble(self, error: Any) -> None:
        self._trouble = self._trouble or (self._clock, error.str())

    def _go_on_after_loss(self, partition: Partition) -> None:
        wanted = self.next[self._numbers[partition]]
        first = self.offsets([partition], EARLIEST)[partition]
        if first > wanted:
            problem = f"{first - wanted} messages were deleted before they were read"
        else:
            problem = "the partition ends before this offset, where reading should go on; it may have been made anew"
        if not self._lost(partition, wanted, problem):
            raise Lost(f"{partition}@{wanted}: {problem}; `lost: skip` would go on with the oldest one that is there")
        log.warning("%s@%d: %s; going on at offset %d", partition, wanted, problem, first)
        self.go_to({partition: first})

    def _topic_partition(self, partition: Partition, offset: int | None = None) -> Any:
        make = self._confluent.TopicPartition
        return make(*partition) if offset is None else make(*partition, offset)
