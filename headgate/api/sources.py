"""Sources of streams: `Push`, `Csv`, `Json`, `Feeder`, and the base class of your own."""

from headgate.connect.sources import Csv, Feeder, Json, Push, SourceContext, SourceKind

__all__ = ["Csv", "Feeder", "Json", "Push", "SourceContext", "SourceKind"]
