"""How many bytes a tuple takes in a queue: measured, declared, or estimated from its schema."""

from __future__ import annotations

from headgate.metrics.stats import Stats
from headgate.plan.model import Plan, Stream
from headgate.plan.operators import StreamJoin
from headgate.plan.operators.base import Port
from headgate.sql.schema import Schema

_STRING = 12.0  # a guess at a short text
_UNKNOWN = 8.0  # for a type that only Spark's analyzer knows, or that is not listed here
_SIZES = {
    "BOOLEAN": 1.0,
    "TINYINT": 1.0,
    "SMALLINT": 2.0,
    "INT": 4.0,
    "FLOAT": 4.0,
    "DATE": 4.0,
    "BIGINT": 8.0,
    "DOUBLE": 8.0,
    "TIMESTAMP": 8.0,
    "TIMESTAMP_NTZ": 8.0,
    "DECIMAL": 16.0,
    "STRING": _STRING,
    "BINARY": _STRING,
}


def schema_bytes(schema: Schema) -> float:
    """The estimated size of a tuple with these columns."""
    return sum(_SIZES.get((column.type or "").split("(")[0].split("<")[0], _UNKNOWN) for column in schema)


def stream_bytes(stream: Stream) -> float:
    """The size of a stream's tuples: `bytes` of its source if given, else estimated."""
    given = stream.source.get("bytes")
    return schema_bytes(stream.schema) if given is None else float(given)


def port_bytes(plan: Plan, stats: Stats | None = None) -> dict[Port, float]:
    """The size of a tuple at every output: measured if there are statistics, else declared.

    If neither is known, it is the size at the operator's first input; for a join of streams, the sum of its inputs.
    Measured sizes are those of tuples in queues, stamps included.
    """
    sizes: dict[Port, float] = {}
    for name, stream in plan.streams.items():
        measured = None if stats is None else stats.stream_bytes(name)
        size = stream_bytes(stream) if measured is None else measured
        sizes.update(dict.fromkeys(plan.ports_of(name), size))
    for operator in plan.operators.values():
        known = operator.declared.tuple_bytes if stats is None else stats.of(operator.id).tuple_bytes
        joined = operator.inputs if isinstance(operator, StreamJoin) else operator.inputs[:1]
        size = sum(sizes[port] for port in joined) if known is None else known
        sizes.update(dict.fromkeys(operator.ports, size))
    return sizes
