"""A stream that reads topics."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headgate.connect.kafka_client import partitions_of
from headgate.connect.sources.base import stamp, stored_columns
from headgate.connect.sources.kafka.merge import PartitionMerge, Rows, first_offsets
from headgate.connect.sources.kafka.messages import Decoder
from headgate.connect.sources.kafka.offsets import Offsets, Partition, offsets_from_json, offsets_to_json
from headgate.connect.sources.kafka.reader import EARLIEST, LATEST, SETTINGS, Fetched, TopicReader
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.errors import ApplicationError, known_names

if TYPE_CHECKING:
    from headgate.connect.sources.kafka.kind import Kafka

FETCH_ROWS = 20_000  # most messages decoded at once
HELD_ROWS = 200_000  # rows that wait for other partitions; with more, the partitions that are ahead are not read
_SAMPLE_ROWS = 1000  # messages of each partition that a sample begins before the end
_LAG_S = 1.0
_SAMPLE_S = 3.0  # how long a sample waits for them


class NoAnswer(ApplicationError, ConnectionError):
    """The brokers do not answer: at the start of a run, a mistake of the user's; later, something that may pass."""


class KafkaSource:
    """The messages of all partitions of one or several topics, as they come.

    Rows arrive when they are polled.
    """

    replayable = True

    def __init__(self, kind: Kafka, context: SourceContext) -> None:
        """ApplicationError: there is no such topic, no broker answers, or a setting is wrong."""
        self.schema = context.schema
        self._kind = kind
        self._place = context.place
        self._stream = context.stream
        self._rejects = Rejects(f"stream {context.stream.name}")
        self._rejects.quiet, self._rejects.on_reject = context.sample, context.on_reject
        columns = stored_columns(self.schema)
        self._times_seen = context.times_seen()
        limits = make_limits(context.stream, self._times_seen.latest if self._times_seen else None)
        self._decoder = Decoder(columns, kind.format, kind.key, kind.timestamp, limits, self._rejects)
        self._time = context.time_column
        self._sample_until = time.monotonic() + _SAMPLE_S if context.sample else None
        resume = context.resume or {}
        self._given = int(resume.get("given", 0))
        self._merge = PartitionMerge()
        self._ready: Rows | None = None  # rows whose turn has come, in order
        self._closed = False
        self._lag, self._count_lag_at = 0, 0.0
        self._reader = TopicReader(kind.client_settings(self._place, SETTINGS), self._place, self._lost)
        try:
            self._ends: Offsets | None = None
            self._begin(resume, context.sample)
        except BaseException:
            self._reader.close()
            raise

    @property
    def position(self) -> dict[str, Any]:
        """See `position_of`."""
        found: dict[str, Any] = {"given": self._given, "offsets": offsets_to_json(self.next_offsets)}
        if self._ends is not None:
            found["ends"] = offsets_to_json(self._ends)
        if self._times_seen is not None:
            found["times"] = [self._times_seen.first, self._times_seen.latest]
        return found

    @property
    def next_offsets(self) -> dict[Partition, int]:
        """Where each partition goes on after everything that was delivered."""
        waiting = self._merge.first_held() | (first_offsets([self._ready]) if self._ready else {})
        following = enumerate(zip(self._reader.partitions, self._reader.next, strict=True))
        return {partition: waiting.get(number, at) for number, (partition, at) in following}

    @property
    def end_offsets(self) -> dict[Partition, int]:
        """The ends of the partitions, as of the latest fetch, or those at which the stream ends."""
        ends = {each: self._reader.end_of(number) for number, each in enumerate(self._reader.partitions)}
        following = self.next_offsets
        return {each: following[each] if end is None else end for each, end in ends.items()}

    @property
    def lag(self) -> int:
        """How many messages are there that were not delivered yet, counted once a second."""
        if time.monotonic() > self._count_lag_at:
            self._count_lag_at = time.monotonic() + _LAG_S
            ends = self.end_offsets
            self._lag = sum(max(0, ends[each] - at) for each, at in self.next_offsets.items())
        return self._lag

    @property
    def rejected(self) -> int:
        return self._rejects.count

    @property
    def exhausted(self) -> bool:
        if self._closed or (self._sample_until is not None and time.monotonic() > self._sample_until):
            return True
        return self._ready is None and not self._merge.held and self._reader.finished

    def next_arrival(self) -> float | None:
        """See `Source`; nobody knows when the next message comes."""
        waits = self._ready is not None or (self._sample_until is not None and not self.exhausted)
        return 0.0 if waits else None

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`. OSError: the brokers do not answer, or refuse. Lost: messages are gone."""
        if self._closed or limit == 0:
            return None
        if self._ready is None:
            self._fetch(FETCH_ROWS if limit is None else min(limit, FETCH_ROWS))
        if self._ready is None:
            return None
        ready = self._ready
        rows = len(ready.offsets) if limit is None else min(limit, len(ready.offsets))
        arrivals = np.full(rows, round(now * 1e6), np.int64)
        table = stamp(ready.table.slice(0, rows).columns, self.schema, arrivals, self._given)
        self._given += rows
        if self._times_seen is not None:
            self._times_seen.add(table)
        self._ready = ready.slice(rows) if rows < len(ready.offsets) else None
        return table

    def skip_to(self, offsets: Offsets, rows: int) -> None:
        """Go on at these offsets: so many rows before them were read by somebody else."""
        self._ready, self._merge = None, PartitionMerge()
        self._reader.go_to(offsets)
        self._given += rows

    def close(self) -> None:
        """See `Source`."""
        if not self._closed:
            self._closed = True
            self._ready = None
            self._reader.close()
            self._rejects.summarize()

    def _begin(self, resume: dict[str, Any], sample: bool) -> None:
        try:
            partitions = [Partition(topic, n) for topic in self._kind.topics for n in self._partitions(topic)]
            starts = self._starts(partitions, offsets_from_json(resume.get("offsets", {})), sample)
            if "ends" in resume:
                self._ends = offsets_from_json(resume["ends"])
                starts = {partition: at for partition, at in starts.items() if partition in self._ends}
            elif sample or self._kind.until is not None:
                self._ends = self._reader.offsets(partitions, LATEST)
            self._reader.begin(starts, self._ends)
        except OSError as error:
            remedy = f"is a broker of Kafka listening at {self._kind.servers}?"
            raise NoAnswer(f"{self._place}.servers", str(error), remedy) from None

    def _partitions(self, topic: str) -> list[int]:
        found = partitions_of(self._reader.client, topic)
        if not found:
            known = [name for name in self._reader.client.list_topics(timeout=10).topics if not name.startswith("__")]
            problem = f"there is no topic '{topic}' at {self._kind.servers}"
            raise ApplicationError(f"{self._place}.topic", problem, known_names("topics", known, topic))
        return found

    def _starts(self, partitions: list[Partition], resume: Offsets, sample: bool) -> dict[Partition, int]:
        """Where each partition begins; one that is new since the position was saved, at its first message."""
        earliest = self._reader.offsets(partitions, EARLIEST)
        if resume:
            return {partition: resume.get(partition, earliest[partition]) for partition in partitions}
        if self._kind.start_millis is not None:
            return self._reader.offsets(partitions, self._kind.start_millis)
        if self._kind.start == "earliest":
            return earliest
        latest = self._reader.offsets(partitions, LATEST)
        return {each: max(earliest[each], at - _SAMPLE_ROWS) for each, at in latest.items()} if sample else latest

    def _fetch(self, most: int) -> None:
        """Fetch, decode, and take the rows whose turn has come."""
        fetched = self._reader.fetch(most, 0.0 if self._sample_until is None else 0.5)
        rows = self._decoded(fetched) if fetched.messages else None
        if len(self._reader.partitions) == 1:
            self._ready = rows
            return
        if rows is not None:
            self._merge.add(rows)
        unread = self._reader.unread()
        self._ready = self._merge.take(unread)
        self._reader.pause(self._merge.ahead(unread) if self._merge.held > HELD_ROWS else ())

    def _decoded(self, fetched: Fetched) -> Rows | None:
        messages, numbers, offsets = fetched

        def where(at: int) -> str:
            return f"{self._reader.partitions[numbers[at]]}@{offsets[at]}"

        decoded = self._decoder(messages, where)
        if decoded.kept is not None:
            messages = [messages[at] for at in decoded.kept]
            numbers, offsets = numbers[decoded.kept], offsets[decoded.kept]
        if not messages:
            return None
        return Rows(decoded.table, numbers, offsets, self._times(decoded.table, messages))

    def _lost(self, partition: Partition, offset: int, problem: str) -> bool:
        if self._kind.lost == "fail":
            return False
        self._rejects.add(f"{partition}@{offset}", Reject(None, "", problem, "lost"), "")
        return True

    def _times(self, table: pa.Table, messages: list[Any]) -> Any:
        """What partitions are put in order by: the stream's time, else the times of the messages."""
        if len(self._reader.partitions) == 1:
            return np.zeros(len(messages), np.int64)
        if self._time is None:
            return np.array([message.timestamp()[1] for message in messages], np.int64)
        ticks = table.column(self._time).cast(pa.int64())
        return ticks.fill_null(np.iinfo(np.int64).min).to_numpy()
