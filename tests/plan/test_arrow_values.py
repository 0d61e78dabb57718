"""Times of years that Python does not have: sources set them aside, results with them are written all the same."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from headgate.connect.sinks.relation_content import RelationContent
from headgate.connect.sinks.text import csv_lines, json_lines
from headgate.connect.sources.convert import convert
from headgate.connect.sources.rows import rows_to_table
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.arrow_values import is_in_range, python_rows, python_values
from headgate.runtime.spark.calls.caller import same_rows
from headgate.sql.schema import parse_schema

STAMP, NAIVE, DAY = pa.timestamp("us", tz="UTC"), pa.timestamp("us"), pa.date32()
YEAR_0, YEAR_10000 = -62_167_219_200_000_000, 253_402_300_800_000_000


def times(values: list[int | None], kind: pa.DataType = STAMP) -> pa.Array:
    return pa.array(values, pa.int32() if kind == DAY else pa.int64()).cast(kind)


def test_values_that_python_has_are_its_own() -> None:
    kind = pa.struct([("m", pa.map_(pa.string(), STAMP)), ("l", pa.list_(DAY))])
    row = {"m": {"a": datetime(2024, 1, 2, tzinfo=UTC)}, "l": [date(1, 1, 1), None]}
    assert python_values(pa.array([row, None], kind)) == [row, None]


def test_others_are_texts() -> None:
    inside = pa.StructArray.from_arrays([times([YEAR_0, YEAR_10000 + 1, None, 0])], ["at"])
    listed = pa.ListArray.from_arrays([0, 3, 4], inside)
    first, second = python_values(listed.slice(0))
    assert first == [{"at": "0000-01-01 00:00:00"}, {"at": "10000-01-01 00:00:00.000001"}, {"at": None}]
    assert second == [{"at": datetime(1970, 1, 1, tzinfo=UTC)}]
    mapped = pa.MapArray.from_arrays([0, 1], pa.array([7]), times([-719_528], DAY))
    assert python_rows(pa.table({"k": [1], "m": mapped})) == [{"k": 1, "m": {7: "0000-01-01"}}]


@pytest.mark.parametrize("kind", [STAMP, NAIVE, DAY])
def test_the_first_and_the_last_year(kind: pa.DataType) -> None:
    day = 1 if kind == DAY else 86_400_000_000
    first, last = -719_162 * day, 2_932_897 * day - 1
    assert is_in_range(times([first, None, last], kind))
    assert not is_in_range(times([first - 1], kind))
    assert not is_in_range(times([last + 1], kind))
    assert is_in_range(times([None], kind))
    assert python_values(times([first, last], kind))[0].year == 1  # as Python itself has it


@pytest.mark.parametrize("kind", [STAMP, NAIVE, DAY])
def test_a_source_has_no_year_0(kind: pa.DataType) -> None:
    texts = ["0000-12-31", "0001-01-01", " 0000-01-01 ", "9999-12-31"]
    found, bad = convert(pa.array(texts), kind)
    assert bad == [0, 2]
    assert [None if v is None else v.year for v in found.to_pylist()] == [None, 1, None, 9999]


def test_nor_after_its_zone_was_taken_off() -> None:
    texts = ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00", "0001-01-01T00:00:00-05:00"]
    assert convert(pa.array(texts), STAMP)[1] == [0, 1]


@pytest.mark.parametrize(("type_", "kind"), [("TIMESTAMP", STAMP), ("TIMESTAMP_NTZ", NAIVE), ("DATE", DAY)])
def test_nor_have_arrow_tables(type_: str, kind: pa.DataType) -> None:
    wrong = -719_528 if kind == DAY else YEAR_0
    rows = rows_to_table(
        pa.table({"at": times([0, wrong], kind)}), arrow_schema(parse_schema(f"at {type_}", "t"), stamps=False)
    )
    assert list(rows.bad) == [1]
    assert rows.table.column("at").null_count == 1


@pytest.mark.parametrize("nested", [False, True])
def test_sinks_write_such_results(nested: bool) -> None:
    at: Any = times([YEAR_0, YEAR_10000])
    table = pa.table({"at": pa.StructArray.from_arrays([at], ["x"]) if nested else at})
    quoted = ['"0000-01-01 00:00:00"', '"10000-01-01 00:00:00"']
    lines = [f'{{"at":{{"x": {text}}}}}' if nested else f'{{"at":{text}}}' for text in quoted]
    assert json_lines(table).decode().splitlines() == lines
    assert csv_lines(table).count(b"\n") == 2


def test_relations_and_calls_compare_such_rows() -> None:
    table = pa.table({"at": pa.StructArray.from_arrays([times([YEAR_0, YEAR_0 + 1])], ["x"])})
    content = RelationContent()
    content.add(table, pa.chunked_array([[1, 1]]))
    content.add(table.slice(0, 1), pa.chunked_array([[-1]]))
    held = content.table()
    assert held is not None
    assert held.num_rows == 1
    assert same_rows(table, table.take([1, 0]))
    assert not same_rows(table, table.take([1, 1]))
