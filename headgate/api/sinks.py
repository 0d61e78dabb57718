"""Sinks of queries: `Memory`, `Csv`, `Json`, `Kafka`, `Callback`, `Nothing`, and the base class of your own."""

from headgate.connect.sinks import Callback, Csv, EachBatch, Json, Kafka, Memory, Nothing, SinkContext, SinkKind

__all__ = ["Callback", "Csv", "EachBatch", "Json", "Kafka", "Memory", "Nothing", "SinkContext", "SinkKind"]
