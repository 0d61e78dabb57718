"""Tuples of a twin: they have stamps and the right size, and no values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream
from headgate.plan.table_bytes import row_bytes
from headgate.sql.schema import ARRIVAL, TIME
from headgate.twin.snapshot import StreamTrace

_PAYLOAD = "_payload"
_STAMP_BYTES = 8


class StreamMaker:
    """Makes the tuples of one stream, with all its columns."""

    def __init__(self, stream: Stream, trace: StreamTrace) -> None:
        self._stream = stream
        self._line = trace.line
        schema = arrow_schema(stream.schema, stamps=False)
        self._time = None if stream.time is None else schema.names[_place(schema, stream.time)]
        self._columns = list(schema)
        one = row_bytes(schema)
        texts = sum(_varies(field.type) for field in schema)
        stamps = _STAMP_BYTES * len(stream.flow.stamps)
        left = 0.0 if trace.tuple_bytes is None or one is not None else trace.tuple_bytes - stamps
        self._text_bytes = max(0, round(left / texts)) if texts else 0
        self._next = 0

    def table(self, arrivals_us: NDArray[np.int64]) -> pa.Table:
        """As a source gives them."""
        count = len(arrivals_us)
        columns = [self._column(field, arrivals_us) for field in self._columns]
        names = [field.name for field in self._columns]
        sequence = np.arange(self._next, self._next + count)
        self._next += count
        columns += [pa.array(arrivals_us), pa.array(sequence)]
        names += ["_arrival", "_sequence"]
        if self._stream.relation:
            columns.append(pa.array(np.ones(count, dtype=np.int64)))
            names.append("_change")
        return pa.table(columns, names)

    def _column(self, field: pa.Field, arrivals_us: NDArray[np.int64]) -> pa.Array:
        count = len(arrivals_us)
        if field.name == self._time:
            times = self._line.time(arrivals_us.astype(np.float64)).astype(np.int64)
            return pa.array(times).cast(field.type)
        if self._text_bytes and _varies(field.type):
            return _texts(count, self._text_bytes, field.type)
        return pa.nulls(count, field.type)


def results(arrivals_us: NDArray[np.int64], times: NDArray[np.int64], tuple_bytes: float | None) -> pa.Table:
    """Tuples between operators, or results."""
    count, width = len(arrivals_us), max(1, round((tuple_bytes or 0.0) - 2 * _STAMP_BYTES))
    payload = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), count, [None, pa.py_buffer(bytes(width * count))])
    return pa.table({ARRIVAL: pa.array(arrivals_us), TIME: pa.array(times), _PAYLOAD: payload})


def _place(schema: pa.Schema, name: str) -> int:
    return [one.lower() for one in schema.names].index(name.lower())


def _varies(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def _texts(count: int, size: int, kind: pa.DataType) -> pa.Array:
    """Texts of one length."""
    offsets = np.arange(0, (count + 1) * size, size, dtype=np.int32)[: count + 1]
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(offsets), pa.py_buffer(b"x" * (size * count))])
