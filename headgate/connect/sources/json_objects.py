"""JSON objects, one per line or message, as typed columns.

Many are read at once by Arrow. What Arrow refuses is read one by one, which finds the bad ones.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from headgate.connect.sources.changes import PROBLEM, heading, read_change, read_changes
from headgate.connect.sources.convert import convert, from_json, load_json
from headgate.connect.sources.rejects import Reject
from headgate.sql.schema import CHANGE


class Objects(NamedTuple):
    """Typed rows, and which of the texts they come from; why others became no row."""

    table: pa.Table
    numbers: list[int]
    bad: dict[int, Reject]


class JsonObjects:
    """Reads texts as rows of a schema. A missing key is null, a key without a column is ignored."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._quick = _quick_schema(schema)

    def read(self, text: bytes, count: int) -> pa.Table | None:
        """The rows of a text of `count` objects, each in lines of its own; None: read them one by one."""
        if self._quick is None:
            return None
        options = arrow_json.ParseOptions(explicit_schema=self._quick, unexpected_field_behavior="ignore")
        try:
            read = arrow_json.read_json(
                io.BytesIO(text), arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1), options
            )
        except pa.ArrowException:
            return None
        if read.num_rows != count:
            return None  # several objects in a line
        columns = []
        for field in self._schema:
            column = read.column(heading(field)).combine_chunks()
            if column.type != field.type:
                column, bad = read_changes(column) if field.name == CHANGE else convert(column, field.type)
                if bad:
                    return None
            elif not _is_sound(column):
                return None
            columns.append(column)
        return pa.Table.from_arrays(columns, schema=self._schema)

    def one_by_one(self, texts: Sequence[bytes]) -> Objects:
        """The rows of texts that each hold one object; blank ones are left out."""
        columns: list[list[Any]] = [[] for _ in self._schema]
        numbers: list[int] = []
        bad: dict[int, Reject] = {}
        for number, text in enumerate(texts):
            if not text or text.isspace():
                continue
            try:
                values = self._values(text)
            except _BadRow as found:
                bad[number] = found.reject
                continue
            numbers.append(number)
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, self._schema, strict=True)]
        return Objects(pa.Table.from_arrays(arrays, schema=self._schema), numbers, bad)

    def _values(self, text: bytes) -> list[Any]:
        try:
            row = load_json(text)
        except ValueError:
            raise _BadRow(Reject(None, shown_text(text), "is not JSON")) from None
        if not isinstance(row, dict):
            raise _BadRow(Reject(None, shown_text(text), "is not a JSON object"))
        values = []
        for field in self._schema:
            value = row.get(heading(field))
            try:
                values.append(read_change(value) if field.name == CHANGE else from_json(value, field.type))
                pa.scalar(values[-1], field.type)  # is it in the range of the type?
            except Exception as error:
                problem = PROBLEM if field.name == CHANGE else f"does not fit the type {field.type}"
                raise _BadRow(Reject(heading(field), value, problem)) from error
        return values


class _BadRow(Exception):
    """A row that is not an object, or has a value that does not convert."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.problem)
        self.reject = reject


def shown_text(text: bytes) -> str:
    """A text as errors and dead letters show it."""
    return text.decode(errors="replace").strip()


def _is_sound(column: pa.Array) -> bool:
    """Is this as strict as reading one by one? Arrow accepts any bytes as text, and floats out of range."""
    if pa.types.is_floating(column.type):
        return pc.all(pc.is_finite(column)).as_py() is not False
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _quick_schema(schema: pa.Schema) -> pa.Schema | None:
    """The schema for Arrow's JSON reader: times and changes as text, to be converted. None: it cannot read a type."""
    fields = []
    for field in schema:
        kind = field.type
        if pa.types.is_temporal(kind) or field.name == CHANGE:
            fields.append(pa.field(heading(field), pa.string()))
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or kind in (pa.string(), pa.bool_()):
            fields.append(field)
        else:
            return None
    return pa.schema(fields)
