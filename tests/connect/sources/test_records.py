"""CSV rows that are very long, or begin with a quotation mark that is never closed: others are read all the same."""

from __future__ import annotations

import csv
import io
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sources import Source, make_source, records
from headgate.connect.sources.records import Block, Records
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema

MANY = 3000  # rows on either side of the bad one


def opened(folder: Path, text: str | bytes, **said: Any) -> tuple[Source, list[tuple[int, str, str]]]:
    (folder / "in.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    aside: list[tuple[int, str, str]] = []
    stream = Stream("s", parse_schema("a INT, t STRING", "s"), {"kind": "csv", "path": "in.csv", **said})
    source = make_source(stream, folder, 0, 0, on_reject=lambda line, row, reason, _: aside.append((line, row, reason)))
    return source, aside


def rows_of(source: Source) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    while (table := source.poll(1.0)) is not None:
        found += zip(table.column("a").to_pylist(), table.column("t").to_pylist(), strict=True)
    return found


def around(*bad: str) -> str:
    good = [f"{n},w{n}" for n in range(2 * MANY)]
    return "\n".join(["a,t", *good[:MANY], *bad, *good[MANY:]]) + "\n"


GOOD = [(n, f"w{n}") for n in range(2 * MANY)]


@pytest.mark.parametrize("quote", ["", '"'])
def test_a_row_of_megabytes_is_read(tmp_path: Path, quote: str) -> None:
    long = "x" * 3_000_000 if not quote else "x\n" * 1_500_000
    source, aside = opened(tmp_path, around(f"-1,{quote}{long}{quote}"))
    assert rows_of(source) == [*GOOD[:MANY], (-1, long), *GOOD[MANY:]]
    assert not aside


def test_a_row_that_is_too_long_is_set_aside_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "LONGEST", 10_000)
    monkeypatch.setattr(records, "CHUNK", 1000)
    source, aside = opened(tmp_path, around("-1," + "x" * 30_000))
    assert rows_of(source) == GOOD
    assert [(line, "longer" in reason) for line, _, reason in aside] == [(MANY + 2, True)]


@pytest.mark.parametrize("before", [0, 300])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_longest_row_is_as_long_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int, quote: str, end: str
) -> None:
    """One of up to twice the length was read, or not, as it happened to lie in the pieces that are read at a time."""
    monkeypatch.setattr(records, "LONGEST", 10_000)
    monkeypatch.setattr(records, "CHUNK", 1000)
    room = records.LONGEST - len("-1,") - 2 * len(quote)
    for more in (0, 1, 3000, 5000, 9000):
        lines = ["a,t", *["1,w"] * before, f"-1,{quote}{'x' * (room + more)}{quote}", "2,w"]
        source, aside = opened(tmp_path, end.join(lines) + end)
        found = [a for a, _ in rows_of(source)][before:]
        assert (found, len(aside)) == (([2], 1) if more else ([-1, 2], 0)), more


@pytest.mark.parametrize("later", [[], ['7,"quoted, later"'], ['7,"two\nlines"', '8,"and ""more"""']])
def test_an_unclosed_mark_costs_its_line(tmp_path: Path, later: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "CHUNK", 4096)
    source, aside = opened(tmp_path, around('-1,"never closed', *later))
    read = [next(csv.reader(io.StringIO(text, newline=""))) for text in later]
    assert rows_of(source) == [*GOOD[:MANY], *[(int(a), t) for a, t in read], *GOOD[MANY:]]
    assert [(line, row) for line, row, _ in aside] == [(MANY + 2, '-1,"never closed')]
    assert source.rejected == 1


def test_an_unclosed_mark_in_the_last_line(tmp_path: Path) -> None:
    source, aside = opened(tmp_path, 'a,t\n1,x\n2,"y')
    assert rows_of(source) == [(1, "x")]
    assert [line for line, _, _ in aside] == [3]


def test_many_unclosed_marks(tmp_path: Path) -> None:
    source, aside = opened(tmp_path, "a,t\n" + "".join(f'{n},"{n}\n{n},w\n' for n in range(2000)))
    assert rows_of(source) == [(n, "w") for n in range(2000)]
    assert len(aside) == 2000


def test_text_behind_a_closing_mark(tmp_path: Path) -> None:
    source, aside = opened(tmp_path, 'a,t\n1,"x"y\n2,z"z\n')
    assert rows_of(source) == [(2, 'z"z')]
    assert "quotation mark" in aside[0][2]


def test_a_header_with_an_unclosed_mark(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError, match=r"line 1 of .*the header, has a quotation mark that is not closed"):
        opened(tmp_path, 'a,"t\n1,x\n')


def test_lines_are_told_across_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "CHUNK", 50)
    rows = [f'{n},"two\r\nlines"' if n % 3 else f"{n},x" for n in range(60)]
    rows[40] = "bad,y"
    source, aside = opened(tmp_path, "\r\n".join(["a,t", *rows]))
    assert len(rows_of(source)) == 59
    line = 2 + sum(1 + ("\n" in row) for row in rows[:40])
    assert aside == [(line, "bad,y", "column a: 'bad' does not fit the type int32")]


def test_the_log_names_the_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "headgate.source"):
        source, _ = opened(tmp_path, 'a,t\n1,x\n2,"y\n')
        rows_of(source)
    assert "in.csv, line 3: '2,\"y' has a quotation mark that is not closed" in caplog.messages[0]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.text('ab,"\n\r é', max_size=6), min_size=2, max_size=2), max_size=12),
    st.integers(1, 40),
    st.sampled_from(["\n", "\r\n"]),
)
def test_written_rows_come_back_however_they_are_cut(rows: list[list[str]], chunk: int, end: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(rows)
    refused: list[bytes] = []
    found: list[Block] = []
    before, records.CHUNK = records.CHUNK, chunk
    try:
        cut = Records(",", lambda line, row, problem: refused.append(row))
        found = list(cut.blocks(io.BytesIO(text.getvalue().encode())))
    finally:
        records.CHUNK = before
    assert b"".join(block.text for block in found) == text.getvalue().encode()
    assert not refused
    assert sum(len(cut.starts(block)) for block in found) == len(rows)
