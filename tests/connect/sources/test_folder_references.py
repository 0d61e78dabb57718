"""References of a folder of parquet files: the same tuples as those that the source delivers, or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.connect.sources import SourceContext
from headgate.connect.sources.base import ReferringSource, can_refer
from headgate.connect.sources.folder import Folder
from headgate.connect.sources.run_source import RunSource
from headgate.plan.model import Stream
from headgate.scheduling.reference import Reference
from headgate.sql.schema import parse_schema

SCHEMA = "k INT, t TIMESTAMP"
BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
TYPES = {"k": pa.int32(), "t": pa.timestamp("us", tz="UTC")}


def write(folder: Path, file: str, first: int, rows: int, **more: Any) -> None:
    columns = {"k": list(range(first, first + rows)), "t": [BEGIN + timedelta(seconds=n) for n in range(rows)]} | more
    arrays = [pa.array(values, TYPES.get(column)) for column, values in columns.items()]
    pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), folder / file, row_group_size=4)


def opened(folder: Path, schema: str = SCHEMA, resume: Any = None, **more: Any) -> ReferringSource:
    stream = Stream("s", parse_schema(schema, "s"), {}, "t", max_jump_s=60.0, **more)
    kind = Folder(path=str(folder), format="parquet", watch=False)
    source = kind.open(SourceContext(stream, folder, resume=resume))
    assert can_refer(source)
    return source


def rows(reference: Reference | None) -> list[tuple[int, int]]:
    """The sequence numbers and keys that executors would find."""
    assert reference is not None
    found = []
    for part in reference.parts:
        keys = pq.read_table(part.place.removeprefix("file://")).column("k").to_pylist()
        first = reference.sequence + part.rows_before
        found += [(first + at, keys[part.start + at]) for at in range(part.rows)]
    return found


def delivered(source: Any) -> list[tuple[int, int]]:
    found = []
    now = 10.0
    while not source.exhausted:
        now += 1.0  # it looks for more files now and then
        assert now < 1000
        table = source.poll(now, 3)
        if table is not None:
            found += list(zip(table.column("_sequence").to_pylist(), table.column("k").to_pylist(), strict=True))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number in range(3):
        write(tmp_path, f"{number}.parquet", 10 * number, 10)
    return tmp_path


@pytest.mark.parametrize("polls", range(8))
def test_a_reference_has_the_tuples_that_come_next(folder: Path, polls: int) -> None:
    source, expected = opened(folder), delivered(opened(folder))
    before = []
    for _ in range(polls):
        assert not source.exhausted  # may read ahead
        table = source.poll(1.0, 3)
        assert table is not None
        before += list(zip(table.column("_sequence").to_pylist(), table.column("k").to_pylist(), strict=True))
    reference = source.refer(2.0, 1, 5)
    assert reference is not None
    assert before + rows(reference) == expected[: len(before) + reference.num_rows]
    assert reference.num_rows >= 5
    assert reference.arrival_us == 2_000_000
    assert source.refer(2.0, 1, 5) == reference  # nothing was taken
    source.skip(reference)
    assert before + rows(reference) + delivered(source) == expected


STEPS = st.lists(st.sampled_from(["look", "poll", "refer", "refer and skip"]), max_size=20)


@given(steps=STEPS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_any_order_each_tuple_comes_once(folder: Path, steps: list[str]) -> None:
    source, expected, found = opened(folder), delivered(opened(folder)), []
    for step in steps:
        reference = source.refer(1.0, 1, 4) if "refer" in step else None
        if step == "look":
            assert source.exhausted is (len(found) == len(expected))
        elif step == "poll":
            table = source.poll(1.0, 3)
            if table is not None:
                found += list(zip(table.column("_sequence").to_pylist(), table.column("k").to_pylist(), strict=True))
        elif step == "refer and skip" and reference is not None:
            source.skip(reference)
            found += rows(reference)
    assert found + delivered(source) == expected


def test_it_goes_on_behind_a_reference_after_a_restart(folder: Path) -> None:
    source, expected = opened(folder), delivered(opened(folder))
    reference = source.refer(0.0, 1, 15)
    assert reference is not None
    source.skip(reference)
    assert len(rows(reference)) == 20
    again = opened(folder, resume=source.position)  # type: ignore[attr-defined]
    assert delivered(again) == expected[20:] == delivered(source)


def test_in_a_run_times_and_numbers_are_moved(folder: Path) -> None:
    source = RunSource(opened(folder), since=5.0, first=100, given=100)
    reference = source.refer(7.0, 1, 100)
    assert reference is not None
    assert (reference.arrival_us, reference.sequence, reference.num_rows) == (7_000_000, 100, 30)
    source.skip(reference)
    assert (source.given, source.exhausted) == (130, True)


def test_a_small_backlog_comes_through_the_driver(folder: Path) -> None:
    assert opened(folder).refer(0.0, 31, 100) is None
    assert opened(folder).refer(0.0, 30, 100) is not None


@pytest.mark.parametrize(
    ("schema", "more"),
    [
        ("k BIGINT, t TIMESTAMP", {}),  # another type
        ("k INT NOT NULL, t TIMESTAMP", {}),
        ("k INT, t TIMESTAMP, tags ARRAY<INT>", {"tags": [[1]] * 10}),
        ("k INT, t TIMESTAMP, name VARCHAR(3)", {"name": ["long name"] * 10}),
        (SCHEMA, {"t": [datetime.now(UTC) + timedelta(hours=1)] * 10}),  # `max_jump` may put it aside
        ("k INT, t TIMESTAMP, d DATE", {"d": pa.array([3_000_000] * 10, pa.int32()).cast(pa.date32())}),  # year 10183
    ],
)
def test_rows_that_may_be_refused_come_through_the_driver(tmp_path: Path, schema: str, more: dict[str, Any]) -> None:
    write(tmp_path, "0.parquet", 0, 10, **more)
    assert opened(tmp_path, schema).refer(0.0, 1, 100) is None


def test_a_reference_ends_before_such_a_file(folder: Path) -> None:
    write(folder, "2.parquet", 20, 10, t=[datetime(9999, 1, 1, tzinfo=UTC)] * 10)
    assert [row for row, _ in rows(opened(folder).refer(0.0, 1, 100))] == list(range(20))


def test_a_relation_comes_through_the_driver(tmp_path: Path) -> None:
    write(tmp_path, "0.parquet", 0, 10, change=["+"] * 10)
    assert opened(tmp_path, relation=True).refer(0.0, 1, 100) is None
