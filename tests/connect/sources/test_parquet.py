"""Parquet files: row groups, schemas, values that do not fit, positions."""

from __future__ import annotations

import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connect.sources import SOURCES, Parquet, read_table
from headgate.connect.sources.parquet_files import read_footer
from headgate.errors import ApplicationError
from headgate.plan.model import Table
from headgate.sql.schema import parse_schema
from headgate.testing import check_source
from tests.connect.sources.positions import opened, read, read_with_restarts, stream


def write(path: Path, table: pa.Table, group: int = 4) -> None:
    pq.write_table(table, path, row_group_size=group)


def numbers(rows: int) -> pa.Table:
    return pa.table({"t": [f"x{at}" for at in range(rows)], "extra": [0.5] * rows, "K": pa.array(range(rows))})


def test_rows_of_all_groups_with_columns_by_name(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", numbers(10))
    source = opened(stream(kind="parquet", path="in.parquet"), tmp_path)
    assert read(source) == [(at, f"x{at}", at) for at in range(10)]
    assert source.exhausted
    assert source.rejected == 0


def test_the_footer_has_counts_without_reading_rows(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", numbers(10))
    footer = read_footer(tmp_path / "in.parquet", "here")
    assert (footer.rows, footer.group_rows) == (10, (4, 4, 2))


@given(rows=st.integers(0, 30), group=st.integers(1, 9), cuts=st.lists(st.integers(0, 9), max_size=5))
def test_any_cut_and_restart_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: int, group: int, cuts: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("parquet")
    table = numbers(rows).set_column(2, "k", pa.array([at if at % 5 else 2**40 for at in range(rows)], pa.int64()))
    write(folder / "in.parquet", table, group)
    expected = [(at, f"x{at}") for at in range(rows) if at % 5]
    found = read_with_restarts(stream(kind="parquet", path="in.parquet"), folder, cuts)
    assert found == [(*row, number) for number, row in enumerate(expected)]


def test_values_out_of_range_cost_a_row_each(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", pa.table({"k": [1, 2**40, 3], "t": ["a", "b", "c"]}))
    seen: list[tuple[Any, ...]] = []
    of = stream(kind="parquet", path="in.parquet")
    source = opened(of, tmp_path, on_reject=lambda *reject: seen.append(reject))
    assert read(source) == [(1, "a", 0), (3, "c", 1)]
    assert [(line, kind) for line, _, _, kind in seen] == [(1, "malformed")]
    assert source.rejected == 1


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        (pa.table({"k": ["1"], "t": ["a"]}), "column 'k' of .* is STRING, not INT"),
        (pa.table({"k": [1.5], "t": ["a"]}), "column 'k' of .* is DOUBLE, not INT"),
        (pa.table({"k": [1]}), "has no column 't'"),
        (pa.table({"k": [1], "t": [datetime.date(2024, 1, 1)]}), "column 't' of .* is DATE, not STRING"),
    ],
)
def test_another_schema_is_refused_before_the_run(tmp_path: Path, table: pa.Table, problem: str) -> None:
    write(tmp_path / "in.parquet", table)
    source = Parquet(path="in.parquet")
    with pytest.raises(ApplicationError, match=problem):
        source.check(stream(**source.settings()), "streams.s.source", tmp_path)


def test_a_file_that_is_not_parquet(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_text("k,t\n1,a\n")
    source = Parquet(path="in.parquet")
    with pytest.raises(ApplicationError, match="cannot be read as parquet"):
        source.check(stream(**source.settings()), "streams.s.source", tmp_path)


def test_a_file_that_is_shorter_after_the_restart(tmp_path: Path) -> None:
    of = stream(kind="parquet", path="in.parquet")
    write(tmp_path / "in.parquet", numbers(10))
    source = opened(of, tmp_path)
    assert len(read(source)) == 10
    write(tmp_path / "in.parquet", numbers(3))
    with pytest.raises(ApplicationError, match="fewer rows"):
        opened(of, tmp_path, source.position)  # type: ignore[attr-defined]


def test_types_that_need_conversion(tmp_path: Path) -> None:
    at = datetime.datetime(2024, 2, 29, 10, 0, 0, 250)
    table = pa.table({"a": pa.array([at], pa.timestamp("ns")), "b": pa.array([7], pa.int8()), "c": ["x"]})
    write(tmp_path / "in.parquet", table.set_column(2, "c", table.column("c").dictionary_encode()))
    of = stream("a TIMESTAMP, b DOUBLE, c STRING", kind="parquet", path="in.parquet")
    assert read(opened(of, tmp_path)) == [(at.replace(tzinfo=datetime.UTC), 7.0, "x", 0)]


def test_a_relation_has_its_changes_in_a_column(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", pa.table({"change": ["+", "-"], "k": [1, 1], "t": ["a", "a"]}))
    of = stream(kind="parquet", path="in.parquet")
    table = opened(replace(of, relation=True), tmp_path).poll(0.0)
    assert table is not None
    assert table.column("_change").to_pylist() == [1, -1]


def test_replay_by_event_time(tmp_path: Path) -> None:
    times = [datetime.datetime(2024, 1, 1, second=second) for second in (0, 2, 5)]
    write(tmp_path / "in.parquet", pa.table({"k": [1, 2, 3], "ts": times}))
    of = stream("k INT, ts TIMESTAMP", "ts", kind="parquet", path="in.parquet", replay="real")
    source = opened(of, tmp_path)
    table = source.poll(2.0)
    assert table is not None
    assert table.column("_arrival").to_pylist() == [0, 2_000_000]
    assert source.next_arrival() == 5.0


def test_a_table(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", numbers(6))
    table = Table("places", parse_schema("k INT, t STRING", "s"), {"kind": "parquet", "path": "in.parquet"})
    assert read_table(table, tmp_path).num_rows == 6


def test_it_does_what_runtimes_expect(tmp_path: Path) -> None:
    write(tmp_path / "in.parquet", numbers(50))
    check_source(SOURCES["parquet"](path="in.parquet"), "k INT, t STRING", rows=50, folder=tmp_path)
