"""Files of JSON lines, read as typed columns."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from headgate.connect.sources.changes import PROBLEM, heading, read_change, read_changes
from headgate.connect.sources.convert import convert, from_json, load_json
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.records import LONGEST
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.connect.sources.stored_text import StoredText, Text
from headgate.sql.schema import CHANGE

BLOCK_LINES = 8192  # lines read at a time
_BLOCK_BYTES = 1 << 22  # and bytes, after which no further line is read


class _BadRow(Exception):
    """A row that is not an object, or has a value that does not convert."""

    def __init__(self, reject: Reject) -> None:
        super().__init__(reject.problem)
        self.reject = reject


class _Block(NamedTuple):
    """Lines of a file."""

    lines: list[bytes]
    starts: list[int]  # the bytes at which they begin, and the one after them
    number: int  # of the first line, from 1


class JsonReader:
    """Reads one JSON object per line as typed columns. A missing key is null, a key without a column is ignored.

    Blocks are read by Arrow; a block that Arrow refuses is read again line by line, which finds the bad rows.
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        place: str = "source",
        limits: Sequence[Limit] = (),
        text: Text | None = None,
    ) -> None:
        self._text = text or StoredText(path, place)
        self._schema = schema
        self._limits = limits
        self._quick = _quick_schema(schema)
        self.rejects = Rejects(path.name)

    def blocks(self, at: Mapping[str, Any] | None = None) -> Iterator[PlacedRows]:
        """The rows from a place on, in order; malformed ones are left out and counted."""
        self._text.check(at)
        return self._blocks(at)

    def _blocks(self, at: Mapping[str, Any] | None) -> Iterator[PlacedRows]:
        number, byte = (1, 0) if at is None else (at["line"], at["byte"])
        with self._text.open(at) as file:
            while (block := self._block(file, number, byte)).lines:
                table = self._by_block(block.lines)
                if table is None:
                    yield self._by_line(block)
                else:
                    yield PlacedRows(table, partial(self._place, block, None))
                number, byte = number + len(block.lines), block.starts[-1]
        self.rejects.summarize()

    def _place(self, block: _Block, left: Sequence[int] | None, row: int) -> dict[str, Any]:
        """The place of a row of a block, of which the lines `left` are rows; None: all that are not blank."""
        if left is None:
            left = [at for at, line in enumerate(block.lines) if not line.isspace()]
        line = left[row] if row < len(left) else len(block.lines)
        return self._text.place(block.starts[line], block.number + line)

    def _block(self, file: BinaryIO, number: int, byte: int) -> _Block:
        """The next lines; a line that is too long becomes a blank one."""
        lines: list[bytes] = []
        starts, size = [byte], 0
        while len(lines) < BLOCK_LINES and size < _BLOCK_BYTES and (line := file.readline(LONGEST + 1)):
            byte += len(line)
            if len(line) > LONGEST and not line.endswith(b"\n"):
                text = line[:LONGEST].decode(errors="replace")
                self.rejects.add(number + len(lines), Reject(None, text, f"is longer than {LONGEST} bytes"), text)
                while (line := file.readline(LONGEST)) and not line.endswith(b"\n"):
                    byte += len(line)
                byte += len(line)
                line = b"\n"
            lines.append(line)
            starts.append(byte)
            size += len(line)
        return _Block(lines, starts, number)

    def _by_block(self, lines: list[bytes]) -> pa.Table | None:
        if self._quick is None:
            return None
        options = arrow_json.ParseOptions(explicit_schema=self._quick, unexpected_field_behavior="ignore")
        text = b"".join(lines)
        try:
            read = arrow_json.read_json(
                io.BytesIO(text), arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1), options
            )
        except pa.ArrowException:
            return None
        if read.num_rows != sum(not line.isspace() for line in lines):
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
        table = pa.Table.from_arrays(columns, schema=self._schema)
        return None if any(limit.may_have(table) for limit in self._limits) else table

    def _by_line(self, block: _Block) -> PlacedRows:
        lines, number = block.lines, block.number
        columns: list[list[Any]] = [[] for _ in self._schema]
        numbers: list[int] = []  # of the lines that were read
        for offset, line in enumerate(lines):
            if line.isspace():
                continue
            try:
                values = self._values(line)
            except _BadRow as bad:
                self.rejects.add(number + offset, bad.reject, _shown(line))
                continue
            numbers.append(offset)
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        arrays = [pa.array(c, field.type) for c, field in zip(columns, self._schema, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        beyond: dict[int, Reject] = {}
        for limit in self._limits:
            beyond |= limit.beyond(table, beyond)
        for at, reject in beyond.items():
            self.rejects.add(number + numbers[at], reject, _shown(lines[numbers[at]]))
        good = [at for at in range(table.num_rows) if at not in beyond]
        left = [numbers[at] for at in good]
        return PlacedRows(
            table.take(pa.array(good, pa.int64())) if beyond else table, partial(self._place, block, left)
        )

    def _values(self, line: bytes) -> list[Any]:
        try:
            row = load_json(line)
        except ValueError:
            raise _BadRow(Reject(None, _shown(line), "is not JSON")) from None
        if not isinstance(row, dict):
            raise _BadRow(Reject(None, _shown(line), "is not a JSON object"))
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


def _shown(line: bytes) -> str:
    return line.decode(errors="replace").strip()


def _is_sound(column: pa.Array) -> bool:
    """Is this as strict as reading line by line? Arrow accepts any bytes as text, and floats out of range."""
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
