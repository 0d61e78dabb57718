"""Sources of streams: `Push`, `Csv`, `Json`, `Feeder`, `Kafka`, and the base class of your own."""

from headgate.connect.sources import Csv, Feeder, Json, Kafka, Push, SourceContext, SourceKind

__all__ = ["Csv", "Feeder", "Json", "Kafka", "Push", "SourceContext", "SourceKind"]
