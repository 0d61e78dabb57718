"""The formats that files and lines may have, and their readers."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import Field

from headgate.connect.connector import Connector
from headgate.connect.sources.csv import CsvReader
from headgate.connect.sources.files import Reader
from headgate.connect.sources.json import JsonReader
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.parquet_files import ParquetReader
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.records import Records
from headgate.connect.sources.rejects import Rejects
from headgate.connect.sources.stored_text import Text


class LineFormat(Connector):
    """The format of lines: of JSON objects, or of CSV."""

    format: Literal["csv", "json"] = "json"
    header: bool = True  # csv: columns are found by name; False: by position
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null: str = ""  # csv: the text that stands for null


def make_reader(
    path: Path,
    columns: pa.Schema,
    settings: Mapping[str, Any],
    error_place: str,
    limits: Sequence[Limit],
    text: Text | None = None,
) -> Reader:
    """A reader of a file in the format that the settings name; of `text` instead, if there is one."""
    if settings["format"] == "parquet":
        return ParquetReader(path, columns, error_place, limits)
    if settings["format"] == "csv":
        return CsvReader(path, columns, settings, error_place, limits, text)
    return JsonReader(path, columns, error_place, limits, text)


class TextRows:
    """Typed rows of a text that comes in pieces of whole lines.

    `head` is its first lines, where a header may be. `at` is where reading goes on, a byte and a line, after each
    piece; None: at the beginning.
    """

    def __init__(
        self,
        path: Path,
        columns: pa.Schema,
        settings: Mapping[str, Any],
        error_place: str,
        limits: Sequence[Limit],
        head: bytes,
        at: Mapping[str, int] | None = None,
    ) -> None:
        self._text = _Piece(head)
        self._reader = make_reader(path, columns, settings, error_place, limits, self._text)
        self.at = at

    @property
    def rejects(self) -> Rejects:
        return self._reader.rejects

    def read(self, piece: bytes) -> Iterator[PlacedRows]:
        """The rows of the next piece. A place is a byte and a line of the whole text."""
        self._text.piece = piece
        yield from self._reader.blocks(self.at)
        byte, line = (self.at["byte"], self.at["line"]) if self.at else (0, 1)
        self.at = {"byte": byte + len(piece), "line": line + piece.count(b"\n")}


class _Piece:
    """A `Text` of which only one piece is there."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    def check(self, at: Mapping[str, Any] | None) -> None:
        """See `Text`."""

    def open(self, at: Mapping[str, Any] | None = None) -> io.BufferedReader:
        """See `Text`. The piece is what begins there."""
        return io.BufferedReader(io.BytesIO(self.piece))

    def place(self, byte: int, line: int) -> dict[str, Any]:
        """See `Text`."""
        return {"byte": byte, "line": line}


def line_cutter(settings: Mapping[str, Any]) -> Callable[[bytes], int]:
    """Tells how much of a text that may go on can be read now: its whole lines, but no record of CSV that has only
    begun in them."""
    if settings["format"] != "csv":
        return lambda text: text.rfind(b"\n") + 1
    records = Records(settings["delimiter"], lambda line, text, problem: None)
    return lambda text: records.complete(text[: text.rfind(b"\n") + 1])
