"""Sinks of queries: the kinds of Headgate, and the base classes of your own."""

from headgate.connect.sinks import (
    Callback,
    Console,
    Csv,
    EachBatch,
    EpochSinkKind,
    Json,
    Kafka,
    Memory,
    Nothing,
    Parquet,
    Postgresql,
    SinkContext,
    SinkKind,
)

__all__ = [
    "Callback",
    "Console",
    "Csv",
    "EachBatch",
    "EpochSinkKind",
    "Json",
    "Kafka",
    "Memory",
    "Nothing",
    "Parquet",
    "Postgresql",
    "SinkContext",
    "SinkKind",
]
