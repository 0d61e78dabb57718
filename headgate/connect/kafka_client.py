"""What Kafka sources and sinks share: settings, where secrets come from, and errors that people can act on."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Annotated, Any

from pydantic import AfterValidator

from headgate.connect.connector import Connector
from headgate.errors import ApplicationError
from headgate.settings.sections import Expression, Filled, refuse

log = logging.getLogger("headgate.kafka")

ANSWER_S = 10.0  # how long to wait for the brokers when a run starts
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_SECRET = re.compile(r"password|secret|\.pem$|oauthbearer\.config$")
_CONNECTION = ("bootstrap.", "broker.", "client.", "enable.ssl.", "sasl.", "security.", "socket.", "ssl.")
_OURS = {  # options of librdkafka that the settings stand for, or that the guarantees rest on
    "bootstrap.servers": "name the brokers in `servers`",
    "metadata.broker.list": "name the brokers in `servers`",
    "auto.offset.reset": "say `start`, and `lost` for messages that are gone",
    "enable.auto.commit": "Headgate keeps the positions itself",
    "enable.partition.eof": "Headgate needs it",
    "enable.idempotence": "Headgate needs it",
}


def _options(value: dict[str, str]) -> dict[str, str]:
    for name, text in value.items():
        if name in _OURS:
            raise refuse(f"'{name}' cannot be set here", _OURS[name], at=name)
        if _SECRET.search(name) and not _VARIABLE.fullmatch(text):
            remedy = "put it into an environment variable and write ${NAME} here"
            raise refuse(f"the value of '{name}' is a secret, which files and reports would show", remedy, at=name)
    return value


class KafkaConnector(Connector):
    """Brokers, and options of librdkafka. `${NAME}` in an option stands for an environment variable."""

    servers: Filled
    options: Annotated[dict[str, Expression], AfterValidator(_options)] = {}

    def client_settings(self, place: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """What a client is made with: `settings`, under the user's options. ApplicationError: a variable is not set."""
        options = {name: _expanded(text, f"{place}.options.{name}") for name, text in self.options.items()}
        return {**settings, **options, "bootstrap.servers": self.servers}


def _expanded(text: str, place: str) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in os.environ:
            raise ApplicationError(place, f"the environment variable {found[1]} is not set", "set it, then run again")
        return os.environ[found[1]]

    return _VARIABLE.sub(value, text)


def connection_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What concerns the connection alone, for another client of the same user."""
    return {name: value for name, value in settings.items() if name.startswith(_CONNECTION)}


def library(place: str) -> ModuleType:
    """confluent-kafka. ApplicationError: it is not installed."""
    try:
        import confluent_kafka
    except ImportError as error:
        remedy = "install it: pip install 'headgate[kafka]'"
        raise ApplicationError(place, "Kafka needs the package confluent-kafka", remedy) from error
    return confluent_kafka


class _Details:
    """Takes what librdkafka logs, each attempt to connect for example, as details. What matters comes as an error."""

    def log(self, level: int, text: str, *values: Any) -> None:
        log.debug(text, *values)


def make_client(kind: type, settings: Mapping[str, Any], place: str) -> Any:
    """A consumer or producer. ApplicationError: librdkafka refuses an option."""
    try:
        return kind(dict(settings), logger=_Details())
    except Exception as error:  # KafkaException, ValueError, TypeError
        raise ApplicationError(f"{place}.options", reason(error), "see librdkafka's list of options") from None


def reason(error: BaseException) -> str:
    """What went wrong, without the codes of librdkafka."""
    found = error.args[0] if error.args else error
    text = found.str() if hasattr(found, "str") else str(found)
    return text or type(error).__name__


def partitions_of(client: Any, topic: str, timeout_s: float | None = None) -> list[int]:
    """The partitions of a topic; none: there is no such topic. OSError: the brokers do not answer."""
    try:
        found = client.list_topics(topic, timeout=timeout_s or ANSWER_S).topics[topic]
    except Exception as error:
        raise OSError(f"the brokers do not answer: {reason(error)}") from None
    if found.error is not None:
        if found.error.name() in ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC"):
            return []
        raise OSError(f"topic {topic}: {found.error.str()}")
    return sorted(found.partitions)
