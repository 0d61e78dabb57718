"""Sources of streams: one class for each kind, and the base class of your own."""

from headgate.connect.sources import (
    Csv,
    Feeder,
    Folder,
    Json,
    Kafka,
    Parquet,
    Push,
    PythonDataSource,
    SourceContext,
    SourceKind,
    Stdin,
    Tcp,
)

__all__ = [
    "Csv",
    "Feeder",
    "Folder",
    "Json",
    "Kafka",
    "Parquet",
    "Push",
    "PythonDataSource",
    "SourceContext",
    "SourceKind",
    "Stdin",
    "Tcp",
]
