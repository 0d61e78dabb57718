"""JSON sources: the quick way by blocks and the careful way by lines give the same rows."""

from __future__ import annotations

import json
import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sources import Source, make_source, read_table
from headgate.connect.sources.json import JsonReader
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream, Table
from headgate.sql.schema import parse_schema


def source_of(folder: Path, text: str, schema: str, time: str | None = None, **said: Any) -> Source:
    (folder / "in.json").write_text(text, encoding="utf-8")
    stream = Stream("s", parse_schema(schema, "s"), {"kind": "json", "path": "in.json", **said}, time)
    return make_source(stream, folder, 0, 0)


def rows_of(source: Source, now: float = 1.0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while (table := source.poll(now)) is not None:
        assert table.schema.equals(source.schema)
        rows += table.to_pylist()
    return rows


def values_of(source: Source) -> list[tuple[Any, ...]]:
    return [tuple(row.values())[:-2] for row in rows_of(source)]


def test_objects_by_line(tmp_path: Path) -> None:
    text = '{"b": "x", "a": 1, "more": [1]}\n\n{"a": null}\n{"b": "é\\n"}'
    source = source_of(tmp_path, text, "a INT, b STRING")
    assert rows_of(source, 0.5) == [
        {"a": 1, "b": "x", "_arrival": 500_000, "_sequence": 0},
        {"a": None, "b": None, "_arrival": 500_000, "_sequence": 1},
        {"a": None, "b": "é\n", "_arrival": 500_000, "_sequence": 2},
    ]
    assert source.exhausted
    assert source.rejected == 0


def test_all_types(tmp_path: Path) -> None:
    schema = (
        "a STRING, b TINYINT, c DOUBLE, d DECIMAL(5,2), e BOOLEAN, f DATE, g TIMESTAMP, h BINARY, "
        "i ARRAY<DOUBLE>, j STRUCT<x: INT, y: TIMESTAMP>, k MAP<STRING, INT>"
    )
    text = (
        '{"a": "s", "b": 7, "c": 1, "d": 1.5, "e": false, "f": "2024-01-02", "g": "2024-01-02T03:04:05Z", '
        '"h": "aGk=", "i": [1, 2.5, null], "j": {"x": 1, "y": "2024-01-01 00:00:00"}, "k": {"p": 1}}'
    )
    assert values_of(source_of(tmp_path, text, schema))[0] == (
        *("s", 7, 1.0, Decimal("1.50"), False, date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), b"hi"),
        *([1.0, 2.5, None], {"x": 1, "y": datetime(2024, 1, 1, tzinfo=UTC)}, [("p", 1)]),
    )


def test_malformed_rows_are_put_aside_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = '{"n": 1}\n{"n": \n[1]\n\n{"n": "x"}\n{"n": 1000}\n{"n": true}\n{"n": "2"}\n{"n": 3} {"n": 4}\n'
    with caplog.at_level(logging.WARNING, "headgate.source"):
        source = source_of(tmp_path, text, "n TINYINT")
        assert values_of(source) == [(1,), (2,)]
    assert source.rejected == 6
    said = [record.getMessage() for record in caplog.records]
    assert said[:3] == [
        "in.json, line 2: '{\"n\":' is not JSON; the row is put aside",
        "in.json, line 3: '[1]' is not a JSON object; the row is put aside",
        "in.json, line 5, column n: 'x' does not fit the type int8; the row is put aside",
    ]
    assert said[-1] == "in.json: 6 malformed rows were put aside"


def test_numbers_as_texts_and_not_a_number(tmp_path: Path) -> None:
    source = source_of(tmp_path, '{"x": "NaN", "s": 5}\n{"x": "1.5", "s": {"a": 1}}\n', "x DOUBLE, s STRING")
    (first, text), second = values_of(source)
    assert first != first
    assert text == "5"
    assert second == (1.5, '{"a": 1}')


def test_replay_by_event_time(tmp_path: Path) -> None:
    text = '{"t": 10}\n{"t": 12}\n{"t": 11}\n'
    source = source_of(tmp_path, text, "t BIGINT", "t", replay=2)
    assert [row["_arrival"] for row in rows_of(source, 5)] == [0, 1_000_000, 1_000_000]


def test_empty_file_and_table(tmp_path: Path) -> None:
    assert source_of(tmp_path, "", "a INT").exhausted
    assert source_of(tmp_path, "\n\n", "a INT").exhausted
    (tmp_path / "t.json").write_text('{"a": 1}\n{"a": "?"}\n')
    table = Table("t", parse_schema("a INT", "t"), {"kind": "json", "path": "t.json"})
    assert read_table(table, tmp_path).to_pylist() == [{"a": 1}]


ROWS = st.fixed_dictionaries(
    {},
    optional={
        "i": st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
        "f": st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-100, 100)),
        "s": st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))),
        "b": st.one_of(st.none(), st.booleans()),
        "t": st.one_of(st.none(), st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)).map(str)),
        "other": st.integers(),
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, max_size=8))
def test_both_ways_give_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.mktemp("json") / "in.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    schema = arrow_schema(parse_schema("i INT, f DOUBLE, s STRING, b BOOLEAN, t TIMESTAMP", "s"), stamps=False)
    reader = JsonReader(path, schema)
    quick = [row for block in reader.blocks() for row in block.table.to_pylist()]
    reader._quick = None
    careful = [row for block in reader.blocks() for row in block.table.to_pylist()]
    assert quick == careful
    assert len(careful) == len(rows)
    assert reader.rejects.count == 0
