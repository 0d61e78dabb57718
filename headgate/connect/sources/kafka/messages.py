"""Messages as typed rows: whole batches at a time, and one by one where some cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from headgate.connect.sources.changes import PROBLEM, heading, read_changes
from headgate.connect.sources.convert import convert
from headgate.connect.sources.json_objects import JsonObjects, shown_text
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.records import Records
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.sql.schema import CHANGE

_EMPTY = "has no value"
_FEW = 64  # messages that are read one by one
_UNEVEN = re.compile(rb'["\r\n]')  # a text with one of these may be more than one record, or a part of one


class Decoded(NamedTuple):
    """Rows, and which of the messages they are; None: all of them."""

    table: pa.Table
    kept: list[int] | None


class _Values(NamedTuple):
    """Columns of the messages' values; those of the bad ones hold anything."""

    columns: list[pa.Array]
    bad: dict[int, Reject]


class ValueReader(Protocol):
    """Reads the values of messages as the columns of a schema."""

    def __call__(self, values: Sequence[bytes | None]) -> _Values: ...


class Decoder:
    """Makes rows of the stream's columns from messages. `key` and `timestamp` name the columns that hold those."""

    def __init__(
        self,
        columns: pa.Schema,
        format: str,
        key: str | None,
        timestamp: str | None,
        limits: Sequence[Limit],
        rejects: Rejects,
    ) -> None:
        self._columns = columns
        self._key = key
        self._timestamp = timestamp
        self._limits = limits
        self._rejects = rejects
        own = pa.schema([field for field in columns if field.name not in (key, timestamp)])
        self._value_names = own.names
        readers: dict[str, Callable[[pa.Schema], ValueReader]]
        readers = {"json": _JsonValues, "csv": _CsvValues, "raw": _RawValues}
        self._read = readers[format](own)

    def __call__(self, messages: Sequence[Any], where: Callable[[int], str]) -> Decoded:
        """The rows of messages, in their order; `where` says where a message is, for those that are put aside."""
        values = [message.value() for message in messages]
        found = self._read(values)
        columns, bad = dict(zip(self._value_names, found.columns, strict=True)), dict(found.bad)
        if self._key is not None:
            columns[self._key] = self._keys([message.key() for message in messages], bad)
        if self._timestamp is not None:
            columns[self._timestamp] = self._times(messages)
        table = pa.Table.from_arrays([columns[field.name] for field in self._columns], schema=_nullable(self._columns))
        for limit in self._limits:
            if bad or limit.may_have(table):
                for at, reject in limit.beyond(table, bad).items():
                    bad.setdefault(at, reject)
        if not bad:
            return Decoded(table.cast(self._columns), None)
        for at, reject in sorted(bad.items()):
            self._rejects.add(where(at), reject, shown_text(values[at] or b""))
        kept = [at for at in range(len(messages)) if at not in bad]
        return Decoded(table.take(pa.array(kept, pa.int64())).cast(self._columns), kept)

    def _keys(self, keys: list[bytes | None], bad: dict[int, Reject]) -> pa.Array:
        field = self._columns.field(self._key)
        return _converted(pa.array(keys, pa.binary()), field, bad)

    def _times(self, messages: Sequence[Any]) -> pa.Array:
        """Milliseconds since 1970; null where a message has no timestamp."""
        kind = self._columns.field(self._timestamp).type
        millis = pa.array([ms if known else None for known, ms in (m.timestamp() for m in messages)], pa.int64())
        return pc.multiply(millis, 1000).cast(kind) if pa.types.is_timestamp(kind) else millis.cast(kind)


def _nullable(schema: pa.Schema) -> pa.Schema:
    return pa.schema([field.with_nullable(True) for field in schema])


def _converted(texts: pa.Array, field: pa.Field, bad: dict[int, Reject]) -> pa.Array:
    if pa.types.is_binary(field.type):
        return texts
    column, failed = read_changes(texts) if field.name == CHANGE else convert(texts, field.type)
    for at in failed:
        problem = PROBLEM if field.name == CHANGE else f"does not fit the type {field.type}"
        bad.setdefault(at, Reject(heading(field), shown_text(texts[at].as_py() or b""), problem))
    return column


class _JsonValues:
    """Each value is a JSON object."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._objects = JsonObjects(schema)

    def __call__(self, values: Sequence[bytes | None]) -> _Values:
        """Halved until what Arrow refuses is alone: a few bad messages do not slow down the others."""
        table = self._at_once(values)
        if table is not None:
            return _Values([column.combine_chunks() for column in table.columns], {})
        if len(values) <= _FEW:
            return self._one_by_one([b"" if value is None else value for value in values])
        middle = len(values) // 2
        left, right = self(values[:middle]), self(values[middle:])
        columns = [pa.concat_arrays(both) for both in zip(left.columns, right.columns, strict=True)]
        return _Values(columns, left.bad | {middle + at: reject for at, reject in right.bad.items()})

    def _at_once(self, values: Sequence[bytes | None]) -> pa.Table | None:
        """All values joined by line ends. That keeps them apart if each begins with { and ends with }: a line end is
        allowed in no text of JSON, and between } and { it can only stand between two objects."""
        for texts in (values, [value and value.strip() for value in values]):
            if None in texts:
                return None
            text = b"\n".join(texts)  # type: ignore[arg-type]
            if text[:1] == b"{" and text[-1:] == b"}" and text.count(b"}\n{") == len(values) - 1:
                return self._objects.read(text, len(values))
        return None

    def _one_by_one(self, texts: Sequence[bytes]) -> _Values:
        found = self._objects.one_by_one(texts)
        bad = {at: Reject(None, "", _EMPTY) for at, text in enumerate(texts) if not text.strip()} | found.bad
        places: list[int | None] = [None] * len(texts)
        for row, number in enumerate(found.numbers):
            places[number] = row
        at = pa.array(places, pa.int64())
        return _Values([column.combine_chunks().take(at) for column in found.table.columns], bad)


class _CsvValues:
    """Each value is a record of a CSV file without a header: columns by position, an empty field is null."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._names = [str(place) for place in range(len(schema))]
        self._records = Records(",", lambda line, text, problem: None)

    def __call__(self, values: Sequence[bytes | None]) -> _Values:
        bad: dict[int, Reject] = {}
        texts = [(value or b"").rstrip(b"\r\n") for value in values]
        for at, text in enumerate(texts):
            if not text:
                bad[at] = Reject(None, "", _EMPTY)
            elif _UNEVEN.search(text) and not self._records.is_one(text):
                bad[at] = Reject(None, shown_text(text), "is not one record of CSV")
        read = [at for at in range(len(texts)) if at not in bad]
        raw, wrong = self._fields(b"\n".join(texts[at] for at in read))
        for place, problem in wrong:
            bad[read[place]] = Reject(None, shown_text(texts[read[place]]), problem)
        left = [at for at in read if at not in bad]
        places: list[int | None] = [None] * len(texts)
        for row, at in enumerate(left):
            places[at] = row
        columns = []
        for field, chunks in zip(self._schema, raw.columns, strict=True):
            fields = chunks.combine_chunks()
            if not pa.types.is_string(field.type):
                fields = pc.if_else(pc.equal(pc.binary_length(fields), 0), None, fields)
            failed: dict[int, Reject] = {}
            columns.append(_converted(fields, field, failed).take(pa.array(places, pa.int64())))
            for row, reject in failed.items():
                bad.setdefault(left[row], reject)
        return _Values(columns, bad)

    def _fields(self, text: bytes) -> tuple[pa.Table, list[tuple[int, str]]]:
        """The fields of records, and those that have too few or too many."""
        wrong: list[tuple[int, str]] = []

        def put_aside(row: Any) -> str:
            wrong.append((row.number - 1, f"has {row.actual_columns} fields instead of {row.expected_columns}"))
            return "skip"

        if not text:
            return pa.table([pa.array([], pa.binary())] * len(self._names), names=self._names), wrong
        table = arrow_csv.read_csv(
            pa.BufferReader(text + b"\n"),
            # One thread: only then are rows numbered.
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 2, column_names=self._names),
            arrow_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=put_aside),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types=dict.fromkeys(self._names, pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return table, wrong


class _RawValues:
    """Each value as it is, in the only column."""

    def __init__(self, schema: pa.Schema) -> None:
        self._field = schema.field(0)

    def __call__(self, values: Sequence[bytes | None]) -> _Values:
        bad: dict[int, Reject] = {}
        return _Values([_converted(pa.array(values, pa.binary()), self._field, bad)], bad)
