"""PySpark's Python data sources as streams: both kinds of readers, positions, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
    SimpleDataSourceStreamReader,
)

from headgate.connect.sources import PythonDataSource
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema
from tests.connect.sources.positions import SCHEMA, opened, read, read_with_restarts


def rows_between(start: int, end: int) -> list[tuple[int, str]]:
    return [(at, f"x{at}") for at in range(start, end)]


class OneReader(SimpleDataSourceStreamReader):
    """Five rows at a time."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[Any], dict[str, int]]:
        end = min(start["at"] + 5, self.rows)
        return iter(rows_between(start["at"], end)), {"at": end}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[Any]:
        return iter(rows_between(start["at"], end["at"]))


class Part(InputPartition):
    def __init__(self, start: int, end: int) -> None:
        self.start, self.end = start, end


class PartitionReader(DataSourceStreamReader):
    """Seven rows at a time, in partitions of three, as tuples, named rows and Arrow batches in turn."""

    def __init__(self, rows: int, schema: Any) -> None:
        self.rows = rows
        self.names = schema.names
        self.stopped = False

    def initialOffset(self) -> dict[str, int]:
        return {"at": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"at": min(start["at"] + 7, self.rows)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[Part]:
        return [Part(at, min(at + 3, end["at"])) for at in range(start["at"], end["at"], 3)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        assert isinstance(partition, Part)
        rows = rows_between(partition.start, partition.end)
        if partition.start % 3 == 0:
            return iter(rows)
        if partition.start % 3 == 1:
            return iter([Row(t=t, k=k) for k, t in rows])
        columns = [pa.array([k for k, _ in rows]), pa.array([t for _, t in rows])]
        return iter([pa.RecordBatch.from_arrays(columns, names=self.names)])

    def stop(self) -> None:
        self.stopped = True


class OldReader(PartitionReader):
    """As before Spark 4.2."""

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]
        return {"at": self.rows}


class Rows(DataSource):
    def simpleStreamReader(self, schema: Any) -> Any:
        return OneReader(int(self.options["ROWS"]))


class Parts(DataSource):
    def streamReader(self, schema: Any) -> Any:
        return (OldReader if self.options.get("old") == "true" else PartitionReader)(int(self.options["rows"]), schema)


class Nothing(DataSource):
    pass


def stream_of(kind: type[DataSource] | str, **options: Any) -> Stream:
    source = PythonDataSource(implementation=kind, options=options)
    return Stream("s", parse_schema(SCHEMA, "s"), source.settings(), connector=source)


@pytest.mark.parametrize(("kind", "options"), [(Rows, {}), (Parts, {}), (Parts, {"old": True})])
def test_all_rows_and_then_those_that_come(kind: type[DataSource], options: Any, tmp_path: Path) -> None:
    source = opened(stream_of(kind, rows=23, **options), tmp_path)
    assert read(source) == [(*row, at) for at, row in enumerate(rows_between(0, 23))]
    assert not source.exhausted
    source.close()
    assert source.exhausted


@given(rows=st.integers(0, 40), cuts=st.lists(st.integers(0, 9), max_size=6), kind=st.sampled_from([Rows, Parts]))
def test_any_cut_and_restart_gives_the_same_rows(rows: int, cuts: list[int], kind: type[DataSource]) -> None:
    found = read_with_restarts(stream_of(kind, rows=rows), Path(), cuts)
    assert found == [(*row, at) for at, row in enumerate(rows_between(0, rows))]


def test_it_is_asked_again_after_the_interval(tmp_path: Path) -> None:
    source = opened(stream_of(Rows, rows=6), tmp_path)
    first, second, third = source.poll(0.0), source.poll(0.05), source.poll(0.1)
    assert first is not None
    assert second is None
    assert third is not None
    assert (first.num_rows, third.num_rows) == (5, 1)


def test_rows_that_do_not_fit_are_put_aside(tmp_path: Path) -> None:
    class Odd(OneReader):
        def read(self, start: dict[str, int]) -> tuple[Iterator[Any], dict[str, int]]:
            return iter([] if start["at"] else [(1, "a"), ("one", "b"), (3, "c")]), {"at": 1}

    class Odds(DataSource):
        def simpleStreamReader(self, schema: Any) -> Any:
            return Odd(0)

    letters: list[Any] = []
    source = opened(stream_of(Odds), tmp_path, on_reject=lambda *reject: letters.append(reject))
    assert read(source) == [(1, "a", 0), (3, "c", 1)]
    assert [letter[:2] for letter in letters] == [(1, "one")]


def test_a_module_beside_the_application(tmp_path: Path) -> None:
    (tmp_path / "own_rows.py").write_text("from tests.connect.sources.test_data_source import Rows\n")
    source = opened(stream_of("own_rows:Rows", rows=3), tmp_path)
    assert len(read(source)) == 3


@pytest.mark.parametrize(
    ("named", "problem"),
    [
        ("nowhere:Rows", "cannot be imported"),
        ("json:Rows", "has no 'Rows'"),
        ("json:loads", "is not a data source"),
        ("json", "names nothing"),
        (Nothing, "cannot be read as a stream"),
        (Rows, "cannot be opened: KeyError"),  # an option is missing
    ],
)
def test_what_is_wrong_is_said_before_the_run(named: Any, problem: str, tmp_path: Path) -> None:
    of = stream_of(named)
    assert isinstance(of.connector, PythonDataSource)
    with pytest.raises(ApplicationError, match=problem):
        of.connector.check(of, "streams.s.source", tmp_path)
