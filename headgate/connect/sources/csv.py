"""CSV files as sources and tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from headgate.connect.sources.base import stored_columns
from headgate.connect.sources.changes import PROBLEM, heading, read_changes
from headgate.connect.sources.convert import convert
from headgate.connect.sources.files import FileSource, Timing
from headgate.connect.sources.rejects import Rejects
from headgate.plan.errors import ApplicationError, known_names
from headgate.plan.schema import CHANGE

_BLOCK = 1 << 20  # bytes read at a time, and so the longest row
_FAR = 1_000_000  # records that are read again to tell a line number


class CsvReader:
    """Reads a CSV file as blocks of typed columns; fields are read as bytes first, so that one bad value costs one row.

    Settings: `header` (true: columns by name, without regard to case and order, others ignored; false: by
    position), `delimiter`, `null` (the text that stands for null; an empty field is null in any case, unless
    the column is text and `null` is something else, or the field is quoted text), `skip` (lines before the header).
    """

    def __init__(self, path: Path, schema: pa.Schema, settings: Mapping[str, Any], place: str) -> None:
        self._path = path
        self._schema = schema
        self._place = place
        self._delimiter = _delimiter(settings, place)
        self._null = str(settings.get("null", ""))
        self._skip = int(settings.get("skip", 0))
        self._names, self._places = self._match(bool(settings.get("header", True)))
        self.rejects = Rejects(path.name, self._where)

    def blocks(self) -> Iterator[pa.Table]:
        """The rows in order; malformed ones are left out and counted."""
        wrong: list[int] = []  # record numbers of the rows with a wrong number of fields
        records = 0  # records of all kinds before the block
        for batch in self._raw(wrong):
            numbers = _number(batch.num_rows, records, wrong)
            yield self._typed(batch, numbers)
            if len(numbers):
                records = numbers[-1]
            del wrong[: sum(number <= records for number in wrong)]
        self.rejects.summarize()

    def _raw(self, wrong: list[int]) -> Iterator[pa.RecordBatch]:
        def put_aside(row: Any) -> str:
            record = row.number - self._skip
            wrong.append(record)
            problem = f"has {row.actual_columns} fields instead of {row.expected_columns}"
            self.rejects.add(record, None, row.text, problem)
            return "skip"

        with pa.input_stream(str(self._path), compression="detect") as file:
            if not _has_more(file, self._skip):
                return
        try:
            with arrow_csv.open_csv(
                str(self._path),
                # One thread: only then are rows numbered; it reads millions of rows a second all the same.
                arrow_csv.ReadOptions(
                    use_threads=False, block_size=_BLOCK, column_names=self._names, skip_rows=self._skip
                ),
                arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=put_aside
                ),
                arrow_csv.ConvertOptions(
                    check_utf8=False,
                    column_types={name: pa.binary() for name in self._places},
                    include_columns=self._places,
                    null_values=[self._null],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            ) as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            remedy = f"every row must be shorter than {_BLOCK} bytes, with all quotation marks closed"
            raise ApplicationError(self._place, f"cannot read {self._path}: {error}", remedy) from error

    def _typed(self, batch: pa.RecordBatch, numbers: range | list[int]) -> pa.Table:
        columns = []
        bad: dict[int, tuple[str, Any]] = {}
        for field, texts in zip(self._schema, batch.columns, strict=True):
            if not pa.types.is_string(field.type):
                texts = pc.if_else(pc.equal(pc.binary_length(texts), 0), None, texts)
            column, failed = read_changes(texts) if field.name == CHANGE else convert(texts, field.type)
            columns.append(column)
            for at in failed:
                bad.setdefault(at, (field.name, texts[at].as_py()))
        table = pa.Table.from_arrays(columns, schema=self._schema)
        if not bad:
            return table
        for at, (name, value) in sorted(bad.items()):
            field = self._schema.field(name)
            shown = (value or b"").decode(errors="replace")
            problem = PROBLEM if name == CHANGE else f"does not fit the type {field.type}"
            self.rejects.add(numbers[at], heading(field), shown, problem)
        keep = pa.array([at not in bad for at in range(table.num_rows)])
        return table.filter(keep)

    def _match(self, header: bool) -> tuple[list[str], list[str]]:
        """Names for the file's columns (their places, since names may be there twice), and those of the schema's."""
        if not header:
            places = [str(place) for place in range(len(self._schema))]
            return places, places
        found, lines = self._header()
        self._skip += lines
        folded = [name.strip().lower() for name in found]
        places = []
        for name in map(heading, self._schema):
            if name.lower() not in folded:
                problem = f"{self._path} has no column '{name}'"
                raise ApplicationError(self._place, problem, known_names("columns", found, name))
            places.append(str(folded.index(name.lower())))
        return [str(place) for place in range(len(found))], places

    def _header(self) -> tuple[list[str], int]:
        with self._text() as text:
            rows = csv.reader(text, delimiter=self._delimiter)
            for row in rows:
                if rows.line_num > self._skip and row:
                    return row, rows.line_num - self._skip
        remedy = "write the names of the columns in the first line, or say header: false"
        raise ApplicationError(self._place, f"{self._path} has no header line", remedy)

    def _where(self, record: int) -> str:
        """The line at which a record starts; too far into a file only the record is told, as lines take reading."""
        try:
            line = self._line(record) if record <= _FAR else None
        except csv.Error:  # Python's reader refuses what Arrow's takes: very long fields, for one
            line = None
        return f"record {record}" if line is None else f"line {line}"

    def _line(self, record: int) -> int | None:
        with self._text() as text:
            for _ in range(self._skip):
                next(text, None)
            rows = csv.reader(text, delimiter=self._delimiter)
            start, count = 1, 0
            for row in rows:
                count += bool(row)
                if count == record:
                    return self._skip + start
                start = rows.line_num + 1
        return None

    def _text(self) -> io.TextIOWrapper:
        file = pa.input_stream(str(self._path), compression="detect")
        return io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")


class CsvSource(FileSource):
    """A stream from a CSV file; see `CsvReader` for the settings and `FileSource` for the replay."""

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        settings: Mapping[str, Any],
        timing: Timing | None = None,
        place: str = "source",
    ) -> None:
        super().__init__(CsvReader(path, stored_columns(schema), settings, place), schema, timing)


def _delimiter(settings: Mapping[str, Any], place: str) -> str:
    delimiter = str(settings.get("delimiter", ","))
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        remedy = 'use one character, as in delimiter: ";" (a tab is "\\t")'
        raise ApplicationError(f"{place}.delimiter", f"{delimiter!r} cannot part fields", remedy)
    return delimiter


def _has_more(file: Any, lines: int) -> bool:
    """Is there anything but blank lines after the first `lines`? Arrow refuses files without a row."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="replace")
    for _ in range(lines):
        next(text, None)
    return any(line.strip() for line in text)


def _number(rows: int, before: int, wrong: list[int]) -> range | list[int]:
    """The record numbers of the next `rows` well-formed rows, which skip those in `wrong`."""
    if not wrong:
        return range(before + 1, before + rows + 1)
    skipped = set(wrong)
    numbers: list[int] = []
    while len(numbers) < rows:
        before += 1
        if before not in skipped:
            numbers.append(before)
    return numbers
