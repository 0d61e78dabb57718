"""Results in files: CSV and JSON lines, one file or a folder of parts."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa

from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.lock import locked
from headgate.connect.sinks.output_files import current_file, first_file, is_single, part, sync_folder
from headgate.connect.sinks.row_file import RowFile
from headgate.connect.sinks.text import CSV, JSON, TextFormat

PART_BYTES = 128 << 20  # a part is closed once it is this long
_ROWS = 1 << 16  # rows turned into text at a time


class FileSink:
    """Writes lines to `path` when its name has an ending of the format, else to parts `part-00000.csv` in that folder.

    A run replaces the results of the run before: it replaces the file, or removes the parts that an earlier
    run of Headgate left in the folder (`part-`, digits, `.csv` or `.json`), and no other file. Opened with a position
    it goes on there, and removes what was written after it.
    """

    def __init__(
        self,
        path: Path,
        shape: Shape,
        text: TextFormat,
        part_bytes: int = PART_BYTES,
        application: str = "",
        resume: Any = None,
    ) -> None:
        self.rows = 0
        self._path = path
        self._single = is_single(path, text.endings)
        self._shape = shape
        self._text = text
        self._part_bytes = part_bytes
        self._parts = 1
        self._closed = False
        self._changing = threading.Lock()  # of files: `flush` comes from any thread
        self._lock = locked(path, application)
        with self._lock.released_on_failure():
            if resume is None:
                self._file = self._begin(first_file(path, text.endings))
            else:
                self.rows, self._parts = resume["rows"], resume["parts"]
                self._file = RowFile(current_file(path, text.endings, self._parts), resume["bytes"])

    @property
    def position(self) -> dict[str, int]:
        """See `base.position_of`: how many parts were begun, and the length of the last."""
        return {"parts": self._parts, "bytes": self._file.size, "rows": self.rows}

    def write(self, table: pa.Table) -> None:
        """See `Sink`."""
        if self._closed:
            raise ValueError(f"the sink {self._path} is closed")
        shaped = self._shape(table)
        for first in range(0, shaped.num_rows, _ROWS):
            if not self._single and self._file.size >= self._part_bytes:
                self._next_part()
            self._append(shaped.slice(first, _ROWS))

    def refresh(self) -> None:
        """See `Sink`; every write is in the file already."""

    def flush(self) -> None:
        """See `Sink`."""
        with self._changing:
            if not self._closed:
                self._file.sync()
                sync_folder(self._path.parent if self._single else self._path)

    def close(self) -> None:
        """See `Sink`."""
        with self._changing:
            self._closed = True
            self._file.close()
            self._lock.release()

    def _next_part(self) -> None:
        file = self._begin(part(self._path, self._parts, self._text.endings))
        with self._changing:
            self._file.sync()
            self._file.close()
            self._file = file
            self._parts += 1

    def _append(self, piece: pa.Table) -> None:
        """Write rows; if they do not all fit on the disk, as many as do."""
        try:
            self._file.write(self._text.lines(piece))
        except OSError:
            middle = piece.num_rows // 2
            if middle == 0:
                raise
            self._append(piece.slice(0, middle))  # raises again, at the first row that does not fit,
            self._append(piece.slice(middle))  # or here
        else:
            self.rows += piece.num_rows

    def _begin(self, path: Path) -> RowFile:
        file = RowFile(path)
        file.write(self._text.header(self._shape.names))
        return file


class CsvSink(FileSink):
    """Results as CSV with a header in each file; see `text.csv_lines` for how values are written."""

    def __init__(
        self, path: Path, shape: Shape, part_bytes: int = PART_BYTES, application: str = "", resume: Any = None
    ) -> None:
        super().__init__(path, shape, CSV, part_bytes, application, resume)


class JsonSink(FileSink):
    """Results as one JSON object per line; see `text.json_lines`."""

    def __init__(
        self, path: Path, shape: Shape, part_bytes: int = PART_BYTES, application: str = "", resume: Any = None
    ) -> None:
        super().__init__(path, shape, JSON, part_bytes, application, resume)
