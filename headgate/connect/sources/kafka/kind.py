"""The source `kafka`: its settings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BeforeValidator

from headgate.connect.kafka_client import KafkaConnector, library
from headgate.connect.sources.base import Source
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.errors import ApplicationError, known_names
from headgate.plan.model import Stream
from headgate.settings.sections import Filled, refuse, shown


def _topics(value: Any) -> Any:
    topics = [value] if isinstance(value, str) else value
    if not isinstance(topics, list) or not topics or not all(isinstance(each, str) and each for each in topics):
        raise refuse(f"{shown(value)} is not a topic", "name one topic, or several as [first, second]")
    if len(set(topics)) < len(topics):
        raise refuse("a topic is named twice", "name each once")
    return value


def _start(value: Any) -> Any:
    if value in ("earliest", "latest"):
        return value
    if not isinstance(value, dict) or list(value) != ["timestamp"]:
        remedy = "use earliest, latest, or {timestamp: 2026-01-31 12:00:00}"
        raise refuse(f"{shown(value)} is not where reading can start", remedy)
    try:
        datetime.fromisoformat(str(value["timestamp"]))
    except ValueError:
        remedy = "write it like 2026-01-31 12:00:00"
        raise refuse(f"{shown(value['timestamp'])} is not a date and time", remedy, at="timestamp") from None
    return {"timestamp": str(value["timestamp"])}


class Kafka(KafkaConnector, SourceKind):
    """The messages of one or several topics of Kafka.

    Headgate keeps its positions itself and is in no consumer group. It reads what is committed.
    """

    kind = "kafka"
    topic: Annotated[Any, BeforeValidator(_topics)]
    format: Literal["json", "csv", "raw"] = "json"
    key: Filled | None = None  # the column that holds the key of a message
    timestamp: Filled | None = None  # the column that holds its time
    start: Annotated[Any, BeforeValidator(_start)] = "earliest"  # "latest"; {"timestamp": a date and time}
    until: Literal["latest"] | None = None  # the messages that are there when the run begins; else it never ends
    lost: Literal["fail", "skip"] = "fail"  # what to do when messages were deleted before they were read

    @property
    def topics(self) -> list[str]:
        """The topics, however many are given."""
        return [self.topic] if isinstance(self.topic, str) else list(self.topic)

    @property
    def start_millis(self) -> int | None:
        """Where to start, in milliseconds since 1970; without a zone it is UTC. None: it is not a time."""
        if isinstance(self.start, str):
            return None
        at = datetime.fromisoformat(self.start["timestamp"])
        return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)

    @property
    def live(self) -> bool:
        """See `SourceKind`."""
        return True

    @property
    def endless(self) -> bool:
        """See `SourceKind`."""
        return self.until is None

    @property
    def in_time(self) -> bool:
        """See `SourceKind`."""
        return self.until is None

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`."""
        if self.key is not None and self.key == self.timestamp:
            raise ApplicationError(f"{place}.key", "key and timestamp name the same column", "name two columns")
        for setting, name in (("key", self.key), ("timestamp", self.timestamp)):
            if name is not None and name not in stream.schema.names:
                known = known_names("columns", stream.schema.names, name)
                raise ApplicationError(f"{place}.{setting}", f"there is no column '{name}'", known)
        schema = SourceContext(stream).schema
        if self.timestamp is not None:
            kind = schema.field(self.timestamp).type
            if not (pa.types.is_timestamp(kind) or kind == pa.int64()):
                problem = f"column '{self.timestamp}' cannot hold the time of a message"
                raise ApplicationError(f"{place}.timestamp", problem, "make it a TIMESTAMP, or a BIGINT (milliseconds)")
        if self.format == "raw":
            self._check_raw(stream, schema, place)

    def _check_raw(self, stream: Stream, schema: pa.Schema, place: str) -> None:
        names = [name for name in stream.schema.names if name not in (self.key, self.timestamp)]
        if stream.relation or len(names) != 1:
            problem = f"format: raw gives one column, not {', '.join(names) or 'none'}"
            remedy = "declare one column of type STRING or BINARY, besides those of `key` and `timestamp`"
            raise ApplicationError(f"{place}.format", problem, remedy)

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`."""
        library(context.place)
        from headgate.connect.sources.kafka.source import KafkaSource

        return KafkaSource(self, context)
