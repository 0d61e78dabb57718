"""Results as messages of a topic of Kafka."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator

from headgate.connect.kafka_client import (
    ANSWER_S,
    KafkaConnector,
    connection_of,
    library,
    make_client,
    partitions_of,
    reason,
)
from headgate.connect.sinks.base import EpochSink
from headgate.connect.sinks.checks import refuse_repeated_names, refuse_whole_relation
from headgate.connect.sinks.kind import EpochSinkKind, SinkContext
from headgate.connect.sinks.text import csv_rows, json_rows
from headgate.errors import ApplicationError, known_names
from headgate.settings.sections import Duration, Filled

_ROWS = 1 << 16  # rows turned into messages at a time
_COMMIT_S = 60.0  # how long the end of a transaction may take
_EPOCH = re.compile(r"epoch (\d+)")
_FENCED = ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
_NEVER = ("MSG_SIZE_TOO_LARGE", "INVALID_MSG_SIZE", "RECORD_LIST_TOO_LARGE")
_SETTINGS = {  # under those of the user
    "linger.ms": "0",  # an epoch is one batch already
    "partitioner": "murmur2_random",  # as Kafka's own clients do
    "message.timeout.ms": "30000",
}
_TAKEN_OVER = "another run of this application has taken over the results of this query"
_TEXTS = {"json": json_rows, "csv": csv_rows}

Encode = Callable[[pa.Table], Sequence[tuple[bytes | None, bytes]]]


def _columns(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Kafka(EpochSinkKind, KafkaConnector):
    """Results as messages, one per row.

    Exactly once, they come in transactions, which show when a checkpoint is durable. At least once, or without
    checkpoints, they come at once.
    """

    kind = "kafka"
    topic: Filled
    encoding: Literal["json", "csv"] = "json"
    key: Annotated[list[Filled] | None, BeforeValidator(_columns)] = None  # one column: its text; several: JSON
    every: Duration = 0.0  # as soon as the messages before have arrived

    def connect(self, context: SinkContext) -> EpochSink:
        """See `EpochSinkKind`. ApplicationError: there is no such topic, or a setting is wrong."""
        place, names = context.place, context.shape.names
        refuse_whole_relation(context.shape, place, self.kind)
        if self.encoding == "json":
            refuse_repeated_names(context.shape, place, self.kind)
        for name in self.key or ():
            if name not in names:
                problem = f"the results have no column '{name}'"
                raise ApplicationError(f"{place}.key", problem, known_names("columns", names, name))
        library(place)
        settings = self.client_settings(place, _SETTINGS)
        encode = make_encode(self.encoding, self.key or [])
        if not self.waits(context):
            messages = Messages(settings, self.topic, encode, place)
            _check_topic(messages.producer, self.topic, place)
            return messages
        application = Path(context.application).stem or "application"
        own = {"transactional.id": f"headgate.{application}.{context.query.name}"}  # the same after a restart
        transactions = Transactions({**own, **settings}, self.topic, encode, place)
        _check_topic(transactions.producer, self.topic, place)
        transactions.begin()
        return transactions


def _check_topic(producer: Any, topic: str, place: str) -> None:
    """OSError: no broker answers."""
    if not partitions_of(producer, topic):
        known = [name for name in producer.list_topics(timeout=ANSWER_S).topics if not name.startswith("__")]
        raise ApplicationError(f"{place}.topic", f"there is no topic '{topic}'", known_names("topics", known, topic))


def make_encode(encoding: str, keys: Sequence[str]) -> Encode:
    """What makes keys and values of messages from rows."""
    rows = _TEXTS[encoding]

    def encode(table: pa.Table) -> list[tuple[bytes | None, bytes]]:
        values = rows(table).cast(pa.binary()).to_pylist()
        return list(zip(_keys(table, keys), values, strict=True))

    return encode


def _keys(table: pa.Table, names: Sequence[str]) -> list[bytes | None]:
    if not names:
        return [None] * table.num_rows
    if len(names) > 1:
        return json_rows(table.select(names)).cast(pa.binary()).to_pylist()
    column = table.column(names[0]).combine_chunks()
    texts = column if pa.types.is_string(column.type) else csv_rows(table.select(names))
    return pc.if_else(column.is_valid(), texts.cast(pa.binary()), None).to_pylist()


class Messages:
    """An `EpochSink` that writes messages as they come. After a failure some of an epoch may be written twice."""

    last_epoch = 0

    def __init__(self, settings: Mapping[str, Any], topic: str, encode: Encode, place: str) -> None:
        """ApplicationError: librdkafka refuses the settings."""
        self._settings = {**settings, "enable.idempotence": "true"}
        self._topic = topic
        self._encode = encode
        self._place = place
        self._failed: list[Any] = []
        self.producer = self._made()

    def commit(self, epoch: int, table: pa.Table) -> None:
        """See `EpochSink`. Returns when the brokers have all messages. OSError: they do not."""
        self._failed = []
        try:
            produce(self.producer, self._topic, self._encode, table, self._delivered)
            self.producer.flush()  # ends with `message.timeout.ms` at the latest
            if self._failed:
                kind = ValueError if self._failed[0].name() in _NEVER else OSError
                raise kind(f"{len(self._failed)} messages were not delivered: {self._failed[0].str()}")
        except BaseException:
            self.close()
            self.producer = self._made()  # an error may have ended the one before for good
            raise

    def close(self) -> None:
        """See `EpochSink`."""
        let_go(self.producer)

    def _made(self) -> Any:
        return make_client(library(self._place).Producer, self._settings, self._place)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self._failed.append(error)


class Transactions:
    """An `EpochSink` that writes each epoch in a transaction, together with its number.

    The number is the metadata of an offset that a consumer group of the same name commits for partition 0. Only the
    newest run of an application and query may write: Kafka refuses those that were there before.
    """

    def __init__(self, settings: Mapping[str, Any], topic: str, encode: Encode, place: str) -> None:
        """ApplicationError: librdkafka refuses the settings."""
        self._confluent = library(place)
        self._settings = dict(settings)
        self._topic = topic
        self._encode = encode
        self._place = place
        self._last = 0
        self.producer: Any = make_client(self._confluent.Producer, self._settings, place)
        self._begun = False
        self._group: Any = None

    @property
    def last_epoch(self) -> int:
        """See `EpochSink`."""
        return self._last

    def begin(self) -> None:
        """End what another producer of this name has left, and find out which epoch came last. OSError: it failed."""
        try:
            if self.producer is None:
                self.producer = make_client(self._confluent.Producer, self._settings, self._place)
            self.producer.init_transactions(ANSWER_S)
            self._last = self._committed()
        except self._confluent.KafkaException as error:
            raise self._given_up(error) from None
        self._begun = True

    def commit(self, epoch: int, table: pa.Table) -> None:
        """See `EpochSink`. After a failure, the next call begins with a new producer: only the brokers know whether a
        transaction was committed whose answer was lost."""
        if not self._begun:
            self.begin()
            if self._last > epoch:
                raise ValueError(_TAKEN_OVER)
        if epoch <= self._last:
            return
        number = self._confluent.TopicPartition(self._topic, 0, epoch, f"epoch {epoch}")
        try:
            self.producer.begin_transaction()
            produce(self.producer, self._topic, self._encode, table)
            self.producer.send_offsets_to_transaction([number], self._group, _COMMIT_S)
            self.producer.commit_transaction(_COMMIT_S)
        except self._confluent.KafkaException as error:
            raise self._given_up(error) from None
        except OSError as error:  # from `produce`, which has the cause
            raise self._given_up(error.__cause__ or error) from None
        except BaseException:
            self._drop()
            raise
        self._last = epoch

    def close(self) -> None:
        """See `EpochSink`."""
        self._drop()

    def _committed(self) -> int:
        name = self._settings["transactional.id"]
        consumer = make_client(
            self._confluent.Consumer, {**connection_of(self._settings), "group.id": name}, self._place
        )
        try:
            self._group = consumer.consumer_group_metadata()
            (found,) = consumer.committed([self._confluent.TopicPartition(self._topic, 0)], ANSWER_S)
            if found.error is not None:
                raise self._confluent.KafkaException(found.error)
        finally:
            consumer.close()
        number = _EPOCH.fullmatch(found.metadata or "")
        return int(number[1]) if number else 0

    def _given_up(self, error: BaseException) -> Exception:
        """The error to raise, after letting go of the producer."""
        self._drop()
        if name_of(error) in _FENCED or "fenced" in reason(error).lower():
            return ValueError(_TAKEN_OVER)
        return (ValueError if name_of(error) in _NEVER else OSError)(reason(error))

    def _drop(self) -> None:
        producer, self.producer, self._begun = self.producer, None, False
        if producer is not None:
            let_go(producer)


def produce(producer: Any, topic: str, encode: Encode, table: pa.Table, delivered: Any = None) -> None:
    """Hand all rows to librdkafka, in order. ValueError: one of them is too large."""
    for first in range(0, table.num_rows, _ROWS):
        for at, (key, value) in enumerate(encode(table.slice(first, _ROWS))):
            while True:
                try:
                    producer.produce(topic, value, key, on_delivery=delivered)
                    break
                except BufferError:  # it has as many as it can hold
                    producer.poll(0.1)
                except Exception as error:
                    if name_of(error) in _NEVER:
                        raise ValueError(f"a result of {len(value):,} bytes: {reason(error)}") from None
                    raise OSError(reason(error)) from error
            if at % 1000 == 0:
                producer.poll(0)


def let_go(producer: Any) -> None:
    """Forget what was not delivered."""
    with suppress(Exception):  # the brokers forget it all the same
        producer.purge()
        producer.flush(1)


def name_of(error: BaseException) -> str:
    """What librdkafka calls an error."""
    found = error.args[0] if error.args else error
    return str(found.name()) if hasattr(found, "name") else ""
