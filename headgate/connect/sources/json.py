"""Files of JSON lines, read as typed columns."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from headgate.connect.sources.json_objects import JsonObjects, shown_text
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.records import LONGEST
from headgate.connect.sources.rejects import Reject, Rejects

_BLOCK_LINES = 8192  # lines read at a time
_BLOCK_BYTES = 1 << 22  # and bytes, after which no further line is read


class JsonReader:
    """Reads one JSON object per line as typed columns. A missing key is null, a key without a column is ignored.

    Blocks are read by Arrow; a block that Arrow refuses is read again line by line, which finds the bad rows.
    """

    def __init__(self, path: Path, schema: pa.Schema, place: str = "source", limits: Sequence[Limit] = ()) -> None:
        self._path = path
        self._place = place
        self._limits = limits
        self._objects = JsonObjects(schema)
        self.rejects = Rejects(path.name)

    def blocks(self) -> Iterator[pa.Table]:
        """The rows in order; malformed ones are left out and counted."""
        number = 1
        with pa.input_stream(str(self._path), compression="detect") as stream:
            file = io.BufferedReader(stream)
            while lines := self._lines(file, number):
                table = self._by_block(lines)
                yield self._by_line(lines, number) if table is None else table
                number += len(lines)
        self.rejects.summarize()

    def _lines(self, file: BinaryIO, number: int) -> list[bytes]:
        """The next lines; a line that is too long becomes a blank one."""
        lines: list[bytes] = []
        size = 0
        while len(lines) < _BLOCK_LINES and size < _BLOCK_BYTES and (line := file.readline(LONGEST + 1)):
            if len(line) > LONGEST and not line.endswith(b"\n"):
                text = line[:LONGEST].decode(errors="replace")
                self.rejects.add(number + len(lines), Reject(None, text, f"is longer than {LONGEST} bytes"), text)
                while (line := file.readline(LONGEST)) and not line.endswith(b"\n"):
                    pass
                line = b"\n"
            lines.append(line)
            size += len(line)
        return lines

    def _by_block(self, lines: list[bytes]) -> pa.Table | None:
        table = self._objects.read(b"".join(lines), sum(not line.isspace() for line in lines))
        return None if table is None or any(limit.may_have(table) for limit in self._limits) else table

    def _by_line(self, lines: list[bytes], number: int) -> pa.Table:
        table, numbers, bad = self._objects.one_by_one(lines)
        for at, reject in bad.items():
            self.rejects.add(number + at, reject, shown_text(lines[at]))
        beyond: dict[int, Reject] = {}
        for limit in self._limits:
            beyond |= limit.beyond(table, beyond)
        for at, reject in beyond.items():
            self.rejects.add(number + numbers[at], reject, shown_text(lines[numbers[at]]))
        return table.filter(pa.array([at not in beyond for at in range(table.num_rows)])) if beyond else table
