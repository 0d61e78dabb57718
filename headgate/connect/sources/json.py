"""Files of JSON lines, read as typed columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from headgate.connect.sources.json_objects import JsonObjects, shown_text
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.records import LONGEST
from headgate.connect.sources.rejects import Reject, Rejects
from headgate.connect.sources.stored_text import StoredText, Text

BLOCK_LINES = 8192  # lines read at a time
_BLOCK_BYTES = 1 << 22  # and bytes, after which no further line is read


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
        self._limits = limits
        self._objects = JsonObjects(schema)
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
                    yield PlacedRows(table, self._places_in(block))
                number, byte = number + len(block.lines), block.starts[-1]
        self.rejects.summarize()

    def _places_in(self, block: _Block, left: Sequence[int] | None = None) -> Callable[[int], dict[str, Any]]:
        """A function for the places of the rows of a block: the lines `left`, or if None all that are not blank."""

        @cache
        def lines() -> Sequence[int]:
            return [at for at, line in enumerate(block.lines) if not line.isspace()] if left is None else left

        def place(row: int) -> dict[str, Any]:
            line = lines()[row] if row < len(lines()) else len(block.lines)
            return self._text.place(block.starts[line], block.number + line)

        return place

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
        table = self._objects.read(b"".join(lines), sum(not line.isspace() for line in lines))
        return None if table is None or any(limit.may_have(table) for limit in self._limits) else table

    def _by_line(self, block: _Block) -> PlacedRows:
        lines, number = block.lines, block.number
        table, numbers, bad = self._objects.one_by_one(lines)
        for at, reject in bad.items():
            self.rejects.add(number + at, reject, shown_text(lines[at]))
        beyond: dict[int, Reject] = {}
        for limit in self._limits:
            beyond |= limit.beyond(table, beyond)
        for at, reject in beyond.items():
            self.rejects.add(number + numbers[at], reject, shown_text(lines[numbers[at]]))
        good = [at for at in range(table.num_rows) if at not in beyond]
        left = [numbers[at] for at in good]
        return PlacedRows(table.take(pa.array(good, pa.int64())) if beyond else table, self._places_in(block, left))
