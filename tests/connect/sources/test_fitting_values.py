"""Which values fit which types, in JSON and CSV (the table in docs/application.md). One that does not costs its row."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headgate.connect.sources import Source, make_source
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema

BAD = object()

# Type, the value as JSON, what is read.
JSON = [
    ("INT", "3", 3),
    ("INT", "3.0", 3),
    ("INT", "3e2", 300),
    ("INT", "3.7", BAD),
    ("INT", "-0.5", BAD),
    ("INT", '"12"', 12),
    ("INT", '"3.7"', BAD),
    ("INT", '"0x1F"', BAD),
    ("INT", "true", BAD),
    ("INT", "[1]", BAD),
    ("INT", "2147483648", BAD),
    ("INT", "1e999999999", BAD),
    ("TINYINT", "127", 127),
    ("TINYINT", "300", BAD),
    ("BIGINT", "9223372036854775807", 2**63 - 1),
    ("BIGINT", "9223372036854775808", BAD),
    ("DOUBLE", "1", 1.0),
    ("DOUBLE", "1e400", BAD),
    ("DOUBLE", "NaN", BAD),
    ("DOUBLE", "-Infinity", BAD),
    ("DOUBLE", '"Infinity"', float("inf")),
    ("DOUBLE", '"1e400"', BAD),
    ("DOUBLE", "true", BAD),
    ("FLOAT", "1e39", BAD),
    ("FLOAT", "0.5", 0.5),
    ("DECIMAL(5,2)", "1.5", Decimal("1.50")),
    ("DECIMAL(5,2)", "1.500", Decimal("1.50")),
    ("DECIMAL(5,2)", "1.239", BAD),
    ("DECIMAL(5,2)", "1000", BAD),
    ("DECIMAL(5,2)", '"NaN"', BAD),
    ("DECIMAL(20,2)", "12345678901234567.89", Decimal("12345678901234567.89")),
    ("BOOLEAN", "true", True),
    ("BOOLEAN", '"no"', False),
    ("BOOLEAN", "1", BAD),
    ("STRING", "3.70", "3.70"),
    ("STRING", "true", "true"),
    ("STRING", '{"a": 1}', '{"a": 1}'),
    ("STRING", '"\\ud800"', BAD),
    ("VARCHAR(3)", '"\u00e4bc"', "\u00e4bc"),
    ("VARCHAR(3)", '"abcd"', BAD),
    ("VARCHAR(3)", "12.5", BAD),
    ("CHAR(2)", '"a"', "a"),
    ("CHAR(2)", '"abc"', BAD),
    ("VARCHAR(3)", "null", None),
    ("DATE", '"2024-02-29"', date(2024, 2, 29)),
    ("DATE", '"2023-02-29"', BAD),
    ("DATE", '"2024-02-29 10:00:00"', BAD),
    ("DATE", "20240229", BAD),
    ("TIMESTAMP", '"2024-01-01T00:00:00Z"', datetime(2024, 1, 1, tzinfo=UTC)),
    ("TIMESTAMP", '"2024-01-01 00:00:00 maybe"', BAD),
    ("TIMESTAMP", '"2024-02-30 00:00:00"', BAD),
    ("TIMESTAMP", '"2024-01-01 24:00:00"', BAD),
    ("TIMESTAMP", "1700000000", BAD),
    ("BINARY", '"aGk="', b"hi"),
    ("BINARY", '"aGk"', BAD),
    ("BINARY", "1", BAD),
    ("ARRAY<INT>", "[1, 2]", [1, 2]),
    ("ARRAY<INT>", "[1, 2.5]", BAD),
    ("ARRAY<TINYINT>", "[300]", BAD),
    ("STRUCT<x: INT>", '{"x": 1.5}', BAD),
    ("STRUCT<x: INT, Y: STRUCT<z: INT>>", '{"X": 1, "y": {"z": 2}}', {"x": 1, "Y": {"z": 2}}),
    ("MAP<STRING, INT>", '{"x": "y"}', BAD),
]
# Type, the field, what is read.
CSV = [
    ("INT", "3", 3),
    ("INT", " +3 ", 3),
    ("INT", "3.7", BAD),
    ("INT", "3.0", BAD),
    ("INT", "1e3", BAD),
    ("INT", "0x1F", BAD),
    ("INT", "1_000", BAD),
    ("INT", "true", BAD),
    ("TINYINT", "300", BAD),
    ("DOUBLE", "1e400", BAD),
    ("DOUBLE", "inf", float("inf")),
    ("DOUBLE", " -Infinity ", -float("inf")),
    ("DOUBLE", "1_000", BAD),
    ("FLOAT", "1e39", BAD),
    ("DECIMAL(5,2)", "1.2300", Decimal("1.23")),
    ("DECIMAL(5,2)", "1.239", BAD),
    ("DECIMAL(5,2)", "1000", BAD),
    ("BOOLEAN", "1", True),
    ("BOOLEAN", "2", BAD),
    ("DATE", "2023-02-29", BAD),
    ("DATE", "2024-02-29 10:00:00", BAD),
    ("TIMESTAMP", "2024-02-30 00:00:00", BAD),
    ("TIMESTAMP", "2024-01-01 10:00:00 maybe", BAD),
    ("TIMESTAMP", "1700000000", BAD),
    ("BINARY", "aGk", BAD),
    ("ARRAY<INT>", '"[1, 2.5]"', BAD),
    ("struct<x: int>", '"{""x"": 1}"', {"x": 1}),
]


def opened(folder: Path, kind: str, text: str | bytes, schema: str) -> Source:
    data = text if isinstance(text, bytes) else text.encode()
    (folder / f"in.{kind}").write_bytes(data)
    stream = Stream("s", parse_schema(schema, "s"), {"kind": kind, "path": f"in.{kind}"})
    return make_source(stream, folder, 0, 0)


def values_of(source: Source) -> list[Any]:
    found: list[Any] = []
    while (table := source.poll(1.0)) is not None:
        found += table.column("a").to_pylist()
    return found


@pytest.mark.parametrize(("schema", "value", "expected"), JSON)
def test_json(tmp_path: Path, schema: str, value: str, expected: Any) -> None:
    source = opened(tmp_path, "json", f'{{"a": null}}\n{{"a": {value}}}\n{{"a": null}}\n', f"a {schema}")
    assert values_of(source) == [None, *([] if expected is BAD else [expected]), None]
    assert source.rejected == (expected is BAD)


@pytest.mark.parametrize(("schema", "value", "expected"), CSV)
def test_csv(tmp_path: Path, schema: str, value: str, expected: Any) -> None:
    source = opened(tmp_path, "csv", f"a,b\n,1\n{value},2\n,3\n", f"a {schema}, b INT")
    assert values_of(source) == [None, *([] if expected is BAD else [expected]), None]
    assert source.rejected == (expected is BAD)


def test_texts_of_a_limited_length_in_csv(tmp_path: Path) -> None:
    source = opened(tmp_path, "csv", "a,b\n\u00e4bc,x\nabcd,x\nab,xyz\nx,y\n", "a VARCHAR(3), b CHAR(2)")
    assert values_of(source) == ["\u00e4bc", "x"]
    assert source.rejected == 2


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": "\xff\xfe"}',
        b'{"a": "x\x00y"}',
        b"\x00\x00\x00",
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a": "unclosed',
        b"[1, 2]",
        b'{"a": 1} {"a": 2}',
        b'{"a": "' + b"x" * (17 << 20) + b'"}',
    ],
    ids=["utf-8", "nul", "only nul", "deep", "unclosed", "array", "two", "too long"],
)
def test_a_broken_line_costs_itself_alone(tmp_path: Path, line: bytes) -> None:
    source = opened(tmp_path, "json", b'{"a": "first"}\n' + line + b'\n{"a": "last"}\n', "a STRING")
    assert values_of(source) == ["first", "last"]
    assert source.rejected == 1


def test_long_lines_are_read(tmp_path: Path) -> None:
    texts = ["x" * 3_000_000, "y", "z" * 5_000_000]
    source = opened(tmp_path, "json", "".join(json.dumps({"a": t}) + "\n" for t in texts), "a STRING")
    assert values_of(source) == texts
