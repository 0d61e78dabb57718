"""CSV text cut into blocks of whole records, so that a record that never ends harms no other.

A quotation mark that is never closed would make one record of the rest of a file. So a record has at most `LONGEST`
bytes, and a closing mark must be followed by a delimiter or the end of the line. Where that does not hold, the first
line alone is set aside, and reading goes on with the next one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

CHUNK = 1 << 20  # bytes read at a time
LONGEST = 1 << 24  # bytes of a record; a longer one is set aside
_NO_END = "has a quotation mark that is not closed, or not followed by a delimiter"
_TOO_LONG = f"is longer than {LONGEST} bytes"
_UNEVEN = re.compile(rb'["\r]|\n\n')  # a text with one of these may have records of several lines, or blank lines
_LINE_END = re.compile(rb"\r\n|\n|\r")

Refuse = Callable[[int, bytes, str], None]  # the line, its text, and what is wrong with it


class Block(NamedTuple):
    """Whole records, one after another."""

    text: bytes
    line: int  # at which it begins, from 1
    byte: int = 0  # at which it begins
    end: int = 0  # the byte after it; the text may have one more, the end of the last line


class Records:
    """Cuts a file into blocks. `refuse` is called for each line that is set aside, in order with the blocks."""

    def __init__(self, delimiter: str, refuse: Refuse) -> None:
        self._refuse = refuse
        parted = re.escape(delimiter.encode())
        quoted = rb'"(?>[^"]+|"")*+"'
        plain = rb'[^"\r\n' + parted + rb"][^\r\n" + parted + rb"]*+"
        field = rb"(?>" + quoted + rb"|" + plain + rb"|)"
        record = field + rb"(?:" + parted + field + rb")*+"
        self._record = re.compile(record + rb"(?:\r\n|\n|\r)")
        self._clean = re.compile(rb"(?:" + record + rb"(?:\r\n|\n|\r))*+")
        self._begun = re.compile(rb"(?:" + field + parted + rb')*+(?:"(?>[^"]+|"")*+"?|' + plain + rb"|)\Z")

    def blocks(self, file: BinaryIO, line: int = 1, byte: int = 0) -> Iterator[Block]:
        """The records of a file, whose next line has the number `line` and begins at a byte."""
        rest, ended, added, size = b"", False, 0, CHUNK
        while not ended:
            chunk = file.read(size)
            if chunk.endswith(b"\r"):  # the rest of the end of a line
                chunk += file.read(1)
            ended = not chunk
            rest += chunk
            if ended and rest and rest[-1:] not in b"\r\n":
                rest, added = rest + b"\n", 1
            while rest:
                end = self._end_of_whole(rest)
                if end:
                    yield Block(rest[:end], line, byte, byte + end - (added if end == len(rest) else 0))
                    line += lines_in(rest[:end])
                    byte += end
                    rest = rest[end:]
                if not rest or (not ended and self._goes_on(rest)):
                    break
                rest, lines, dropped = self._set_aside(rest, line, file)
                line, byte = line + lines, byte + dropped
            # A long record is not looked at again for every chunk, and not read any further when it is too long.
            size = min(max(CHUNK, len(rest)), LONGEST + 1 - len(rest))

    def complete(self, text: bytes) -> int:
        """How much of a text that may go on, and ends with a line, can be read now: all but a record that has begun."""
        at = 0
        while at < len(text):
            at += self._end_of_whole(text[at:])
            end = _LINE_END.search(text, at)
            if end is None or self._goes_on(text[at:]):
                break
            at = end.end()  # a line to be set aside
        return at

    def starts(self, block: Block) -> list[tuple[int, int]]:
        """Where the records of a block begin, blank lines left out: the place in its text, and the line."""
        found = []
        line, at = block.line, 0
        for record in self._record.finditer(block.text):
            line += lines_in(block.text[at : record.start()])
            at = record.start()
            if record[0].strip(b"\r\n"):
                found.append((at, line))
        return found

    def is_one(self, text: bytes) -> bool:
        """Is this one whole record, without the end of its line?"""
        return self._record.fullmatch(text + b"\n") is not None

    def finder(self, block: Block) -> Callable[[int], tuple[int, int]]:
        """A function that says where a record of a block begins, counted from 0 without blank lines: the place in its
        text, and the line. It looks at the text once, when it is called; quickly where every line is a record."""

        @cache
        def line_ends() -> NDArray[np.int64] | None:
            if _UNEVEN.search(block.text) or block.text.startswith(b"\n"):
                return None
            return np.flatnonzero(np.frombuffer(block.text, np.uint8) == ord("\n"))

        starts = cache(lambda: self.starts(block))

        def find(record: int) -> tuple[int, int]:
            ends = line_ends()
            if ends is None:
                return starts()[record]
            return (int(ends[record - 1]) + 1 if record else 0), block.line + record

        return find

    def split_first(self, block: Block) -> tuple[bytes, Block]:
        """The first record that is not a blank line (empty: there is none), and the block after it."""
        for record in self._record.finditer(block.text):
            if text := record[0].strip(b"\r\n"):
                line = block.line + lines_in(block.text[: record.end()])
                return text, Block(block.text[record.end() :], line, block.byte + record.end(), block.end)
        return b"", Block(b"", block.line + lines_in(block.text), block.end, block.end)

    def text(self, block: Block, start: int) -> bytes:
        """The record that begins at a place of a block, without the end of its line."""
        record = self._record.match(block.text, start)
        assert record is not None
        return record[0].rstrip(b"\r\n")

    def _end_of_whole(self, text: bytes) -> int:
        if b'"' not in text:
            return max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        clean = self._clean.match(text)
        assert clean is not None
        return clean.end()

    def _goes_on(self, text: bytes) -> bool:
        """Might this be the beginning of a record whose end has not been read yet?"""
        if len(text) > LONGEST:
            return False
        return _LINE_END.search(text) is None or self._begun.match(text) is not None

    def _set_aside(self, rest: bytes, line: int, file: BinaryIO) -> tuple[bytes, int, int]:
        """Refuse the first line. Returns what follows it, and how many lines and bytes were dropped."""
        end = _LINE_END.search(rest)
        if end is not None:
            self._refuse(line, rest[: end.start()], _NO_END)
            return rest[end.end() :], 1, end.end()
        self._refuse(line, rest, _TOO_LONG)
        dropped = len(rest)
        while chunk := file.read(CHUNK):
            if (end := _LINE_END.search(chunk)) is not None:
                return chunk[end.end() :], 1, dropped + end.end()
            dropped += len(chunk)
        return b"", 1, dropped


def lines_in(text: bytes) -> int:
    """How many lines end in a text."""
    return text.count(b"\n") or text.count(b"\r")
