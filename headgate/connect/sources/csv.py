"""CSV files, read as typed columns."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from headgate.connect.sources.changes import PROBLEM, heading, read_changes
from headgate.connect.sources.convert import convert
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.records import Block, Records, lines_in
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.connect.sources.stored_text import StoredText, Text
from headgate.errors import ApplicationError, known_names
from headgate.sql.schema import CHANGE


class CsvReader:
    """Reads a CSV file as blocks of typed columns; fields are read as bytes first, so that one bad value costs one row.

    Settings: `header` (true: columns by name, whatever their case and order, others ignored; false: by
    position), `delimiter`, `null` (the text that stands for null; an empty field is null in any case, unless
    the column is text and `null` is something else, or the field is quoted text), `skip` (lines before the header).
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        settings: Mapping[str, Any],
        place: str,
        limits: Sequence[Limit] = (),
        text: Text | None = None,
    ) -> None:
        self._path = path
        self._schema = schema
        self._text = text or StoredText(path, place)
        self._error_place = place
        self._delimiter = _delimiter(settings, place)
        self._null = str(settings.get("null", ""))
        self._skip = int(settings.get("skip", 0))
        self.rejects = Rejects(path.name)
        self._limits = limits
        self._records = Records(self._delimiter, self._refuse)
        self._has_header = bool(settings.get("header", True))
        self._names, self._places = self._match()

    def blocks(self, at: Mapping[str, Any] | None = None) -> Iterator[PlacedRows]:
        """The rows from a place on, in order; malformed ones are left out and counted."""
        self._text.check(at)
        return self._blocks(at)

    def _blocks(self, at: Mapping[str, Any] | None) -> Iterator[PlacedRows]:
        heads = at is None and self._has_header
        file, line, byte = self._open(at)
        with file:
            for found in self._records.blocks(file, line, byte):
                block = found
                if heads:
                    header, block = self._records.split_first(found)
                    heads = not header
                if block.text.strip(b"\r\n"):
                    yield self._typed(block)
        self.rejects.summarize()

    def _raw(self, block: Block) -> tuple[pa.Table, list[tuple[int, str]]]:
        """The fields of a block, and the records (from 0) that have too few or too many."""
        wrong: list[tuple[int, str]] = []

        def put_aside(row: Any) -> str:
            wrong.append((row.number - 1, f"has {row.actual_columns} fields instead of {row.expected_columns}"))
            return "skip"

        table = arrow_csv.read_csv(
            pa.BufferReader(block.text),
            # One thread: only then are rows numbered; it reads millions of rows a second all the same.
            arrow_csv.ReadOptions(use_threads=False, block_size=len(block.text) + 1, column_names=self._names),
            arrow_csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=put_aside),
            arrow_csv.ConvertOptions(
                check_utf8=False,
                column_types={name: pa.binary() for name in self._places},
                include_columns=self._places,
                null_values=[self._null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return table, wrong

    def _typed(self, block: Block) -> PlacedRows:
        raw, wrong = self._raw(block)
        columns = []
        bad: dict[int, Reject] = {}  # by row of the table
        for field, chunks in zip(self._schema, raw.columns, strict=True):
            texts = chunks.combine_chunks()
            if not pa.types.is_string(field.type):
                texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), None, texts)
            column, failed = read_changes(texts) if field.name == CHANGE else convert(texts, field.type)
            columns.append(column)
            for at in failed:
                problem = PROBLEM if field.name == CHANGE else f"does not fit the type {field.type}"
                shown = (texts[at].as_py() or b"").decode(errors="replace")
                bad.setdefault(at, Reject(heading(field), shown, problem))
        table = pa.Table.from_arrays(columns, schema=self._schema)
        for limit in self._limits:
            bad |= limit.beyond(table, bad)
        count = table.num_rows + len(wrong)
        place = self._places_in(block, count)
        if not bad and not wrong:
            return PlacedRows(table, place)
        aside = {record for record, _ in wrong}
        records = [record for record in range(count) if record not in aside]  # by row
        self._put_aside(block, {records[at]: reject for at, reject in bad.items()}, wrong)
        good = [at for at in range(table.num_rows) if at not in bad]
        left = [*(records[at] for at in good), count]
        return PlacedRows(table.take(pa.array(good, pa.int64())) if bad else table, lambda row: place(left[row]))

    def _places_in(self, block: Block, count: int) -> Callable[[int], dict[str, Any]]:
        """A function for the places of the `count` records of a block, and of what comes after them."""
        find = self._records.finder(block)

        def place(record: int) -> dict[str, Any]:
            if record == count:
                return self._text.place(block.end, block.line + lines_in(block.text))
            at, line = find(record)
            return self._text.place(block.byte + at, line)

        return place

    def _put_aside(self, block: Block, bad: Mapping[int, Reject], wrong: list[tuple[int, str]]) -> None:
        """Report the bad and the wrong records, in file order."""
        starts = self._records.starts(block)
        aside = {
            record: Reject(None, self._record_text(block, starts[record][0]), problem) for record, problem in wrong
        }
        for record, reject in sorted((aside | dict(bad)).items()):
            place, line = starts[record]
            self.rejects.add(line, reject, self._record_text(block, place))

    def _record_text(self, block: Block, start: int) -> str:
        return self._records.text(block, start).decode(errors="replace")

    def _refuse(self, line: int, text: bytes, problem: str) -> None:
        row = text.decode(errors="replace")
        self.rejects.add(line, Reject(None, row, problem), row)

    def _match(self) -> tuple[list[str], list[str]]:
        """Names for the file's columns (their positions, since names may repeat), and those of the schema's columns."""
        if not self._has_header:
            places = [str(place) for place in range(len(self._schema))]
            return places, places
        found = self._header()
        folded = [name.strip().lower() for name in found]
        places = []
        for name in map(heading, self._schema):
            if name.lower() not in folded:
                problem = f"{self._path} has no column '{name}'"
                raise ApplicationError(self._error_place, problem, known_names("columns", found, name))
            places.append(str(folded.index(name.lower())))
        return [str(place) for place in range(len(found))], places

    def _header(self) -> list[str]:
        remedy = "write the names of the columns in the first line, or say header: false"

        def refuse(line: int, text: bytes, problem: str) -> None:
            raise ApplicationError(self._error_place, f"line {line} of {self._path}, the header, {problem}", remedy)

        records = Records(self._delimiter, refuse)
        file, line, byte = self._open()
        with file:
            for block in records.blocks(file, line, byte):
                header, _ = records.split_first(block)
                if header:
                    return _fields(header, self._delimiter)
        raise ApplicationError(self._error_place, f"{self._path} has no header line", remedy)

    def _open(self, at: Mapping[str, Any] | None = None) -> tuple[io.BufferedReader, int, int]:
        """The file, the line and the byte where reading begins: at a place, or at the beginning after the byte order
        mark that some editors write and the lines to skip."""
        file = self._text.open(at)
        if at is not None:
            return file, at["line"], at["byte"]
        byte = len(file.read(3)) if file.peek(3).startswith(codecs.BOM_UTF8) else 0
        for _ in range(self._skip):
            byte += len(file.readline())
        return file, 1 + self._skip, byte


def _delimiter(settings: Mapping[str, Any], place: str) -> str:
    delimiter = str(settings.get("delimiter", ","))
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        remedy = 'use one character, as in delimiter: ";" (a tab is "\\t")'
        raise ApplicationError(f"{place}.delimiter", f"{delimiter!r} cannot separate fields", remedy)
    return delimiter


def _fields(record: bytes, delimiter: str) -> list[str]:
    text = record.decode(errors="replace")
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
