"""Results in files: CSV and JSON lines, one file or a folder of parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.text import csv_header, csv_lines, json_lines

PART_BYTES = 128 << 20  # a part is closed once it is this long
_ROWS = 1 << 16  # rows turned into text at a time
_PART = re.compile(r"part-\d{5,}\.(csv|json)")  # nothing that Spark writes is named so


class FileSink:
    """Writes lines to `path` when its name ends in one of `endings`, else to parts `part-00000.csv` in that folder.

    A run replaces the results of the run before: it starts the file anew, or removes the parts that an earlier
    run of Headgate left in the folder (`part-`, digits, `.csv` or `.json`), and no other file.
    """

    def __init__(
        self,
        path: Path,
        endings: Sequence[str],
        shape: Shape,
        lines: Callable[[pa.Table], bytes],
        header: bytes = b"",
        part_bytes: int = PART_BYTES,
    ) -> None:
        self.rows = 0
        self._path = path
        self._single = path.suffix.lower() in endings
        self._ending = endings[0]
        self._shape = shape
        self._lines = lines
        self._header = header
        self._part_bytes = part_bytes
        self._parts = 0
        self._closed = False
        self._file = self._start()

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        if self._closed:
            raise ValueError(f"the sink {self._path} is closed")
        shaped = self._shape(table)
        for first in range(0, shaped.num_rows, _ROWS):
            piece = shaped.slice(first, _ROWS)
            text = self._lines(piece)
            if not self._single and self._file.tell() >= self._part_bytes:
                self._file.close()
                self._file = self._next_part()
            self._file.write(text)
            self.rows += piece.num_rows
        self._file.flush()

    def flush(self) -> None:
        """See `Sink`."""
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        """See `Sink`."""
        self._closed = True
        self._file.close()

    def _start(self) -> BinaryIO:
        if self._single:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            return self._begin(self._path)
        self._path.mkdir(parents=True, exist_ok=True)
        for part in self._path.iterdir():
            if _PART.fullmatch(part.name):
                part.unlink()
        return self._next_part()

    def _next_part(self) -> BinaryIO:
        self._parts += 1
        return self._begin(self._path / f"part-{self._parts - 1:05d}{self._ending}")

    def _begin(self, path: Path) -> BinaryIO:
        file = path.open("wb")
        file.write(self._header)
        file.flush()
        return file


class CsvSink(FileSink):
    """Results as CSV with a header in each file; see `text.csv_lines` for how values are written."""

    def __init__(self, path: Path, shape: Shape, part_bytes: int = PART_BYTES) -> None:
        super().__init__(path, (".csv",), shape, csv_lines, csv_header(shape.names), part_bytes)


class JsonSink(FileSink):
    """Results as one JSON object a line; see `text.json_lines`."""

    def __init__(self, path: Path, shape: Shape, part_bytes: int = PART_BYTES) -> None:
        super().__init__(path, (".json", ".jsonl", ".ndjson"), shape, json_lines, b"", part_bytes)
