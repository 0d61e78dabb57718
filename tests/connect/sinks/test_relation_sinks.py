"""A relation that loses rows, kept as it stands in a file or in memory."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sinks import (
    CsvSink,
    MemorySink,
    RelationFile,
    RelationInMemory,
    Shape,
    Sink,
    make_sink,
    relation_content,
)
from headgate.connect.sinks.relation_content import RelationContent
from headgate.connect.sinks.text import CSV
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.plan.windows import Clock
from headgate.sql.schema import FOREVER, parse_schema

KS = parse_schema("k INT, s STRING", "q")
LOSES = Flow(Clock.LOGICAL, relation=True, retracts=True)


def changes(*rows: tuple[int, int, str]) -> pa.Table:
    """Rows of (change, k, s)."""
    n = len(rows)
    return pa.table(
        {
            "k": pa.array([k for _, k, _ in rows], pa.int32()),
            "s": pa.array([s for *_, s in rows], pa.string()),
            "_arrival": pa.array([0] * n, pa.int64()),
            "_sequence": pa.array([0] * n, pa.int64()),
            "_time": pa.array([7] * n, pa.int64()),
            "_until": pa.array([FOREVER] * n, pa.int64()),
            "_change": pa.array([change for change, *_ in rows], pa.int64()),
        }
    )


def sink_of(folder: Path, flow: Flow = LOSES, **said: Any) -> Sink:
    return make_sink(Query("q", "normal", Port("o"), ("o",), said), KS, folder, flow)


class Hand:
    """A clock that is set by hand; each look at it takes `step` seconds."""

    def __init__(self) -> None:
        self.at = 100.0
        self.step = 0.0

    def __call__(self) -> float:
        self.at += self.step
        return self.at


def test_who_keeps_what(tmp_path: Path) -> None:
    assert isinstance(sink_of(tmp_path, kind="memory"), RelationInMemory)
    assert isinstance(sink_of(tmp_path, kind="csv", path="out"), RelationFile)
    grows = Flow(relation=True)
    for said, flow in (({}, grows), ({"format": "changes"}, LOSES), ({}, Flow())):
        assert type(sink_of(tmp_path, flow, kind="memory", **said)) is MemorySink
        assert type(sink_of(tmp_path, flow, kind="csv", path="out", **said)) is CsvSink


def test_memory_has_the_content_or_the_changes(tmp_path: Path) -> None:
    now, log = sink_of(tmp_path, kind="memory"), sink_of(tmp_path, kind="memory", format="changes")
    assert isinstance(now, MemorySink)
    assert isinstance(log, MemorySink)
    assert now.tables() == []
    for sink in (now, log):
        sink.write(changes((1, 1, "a"), (1, 2, "b"), (1, 1, "a")))
        sink.write(changes((-1, 1, "a"), (-1, 2, "b"), (1, 3, "c")))
        sink.refresh()
        sink.flush()
        sink.close()
        assert sink.rows == 6
    assert [table.to_pylist() for table in now.tables()] == [[{"k": 1, "s": "a"}, {"k": 3, "s": "c"}]]
    assert [row["change"] for table in log.tables() for row in table.to_pylist()] == list("+++--+")
    assert log.tables()[0].to_pylist()[0] == {"time": 7, "change": "+", "k": 1, "s": "a"}


@pytest.mark.parametrize(("path", "file"), [("t.csv", "t.csv"), ("t", "t/part-00000.csv")])
def test_the_file_is_replaced_and_exact_at_the_end(tmp_path: Path, path: str, file: str) -> None:
    clock = Hand()
    sink = RelationFile(tmp_path / path, Shape(KS, {}, LOSES), CSV, clock)
    there = tmp_path / file
    assert there.read_text() == "k,s\n"
    sink.write(changes((1, 1, "a"), (1, 2, "b")))
    assert there.read_text() == "k,s\n1,a\n2,b\n"
    clock.at += 0.5
    sink.write(changes((-1, 1, "a")))
    sink.refresh()
    assert there.read_text() == "k,s\n1,a\n2,b\n"  # too early
    clock.at += 0.6
    sink.refresh()
    assert there.read_text() == "k,s\n2,b\n"
    sink.write(changes((1, 3, "c")))
    sink.flush()
    assert there.read_text() == "k,s\n2,b\n3,c\n"
    sink.write(changes((-1, 2, "b")))
    sink.close()
    sink.close()
    sink.refresh()
    assert there.read_text() == "k,s\n3,c\n"
    assert sink.rows == 5
    assert [entry.name for entry in there.parent.iterdir()] == [there.name]
    with pytest.raises(ValueError, match="closed"):
        sink.write(changes((1, 1, "a")))


def test_slow_writing_is_done_seldom(tmp_path: Path) -> None:
    clock = Hand()
    sink = RelationFile(tmp_path / "t.csv", Shape(KS, {}, LOSES), CSV, clock)
    clock.step = 2.0  # each version takes 2 s from one look at the clock to the next
    sink.write(changes((1, 1, "a")))
    clock.step = 0.0
    began = clock.at
    sink.write(changes((1, 2, "b")))
    clock.at = began + 19
    sink.refresh()
    assert (tmp_path / "t.csv").read_text() == "k,s\n1,a\n"
    clock.at = began + 21
    sink.refresh()
    assert (tmp_path / "t.csv").read_text() == "k,s\n1,a\n2,b\n"


def test_an_unchanged_file_is_left_alone(tmp_path: Path) -> None:
    sink = sink_of(tmp_path, kind="json", path="t.json")
    sink.write(changes((1, 1, "a")))
    sink.flush()
    before = os.stat(tmp_path / "t.json")
    sink.flush()
    sink.close()
    after = os.stat(tmp_path / "t.json")
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (tmp_path / "t.json").read_text() == '{"k":1,"s":"a"}\n'


def test_a_failure_leaves_the_old_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sink = sink_of(tmp_path, kind="csv", path="t.csv")
    sink.write(changes((1, 1, "a")))
    sink.flush()

    def full(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        sink.write(changes((1, 2, "b")))  # not its time yet
        with pytest.raises(OSError, match="no space"):
            sink.flush()
    assert [(p.name, p.read_text()) for p in tmp_path.glob("[!.]*")] == [("t.csv", "k,s\n1,a\n")]
    sink.close()
    assert (tmp_path / "t.csv").read_text() == "k,s\n1,a\n2,b\n"


def test_a_wrong_target_names_the_place(tmp_path: Path) -> None:
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(ApplicationError, match=r"queries\.q\.sink\.path: cannot write there"):
        sink_of(tmp_path, kind="csv", path="dir.csv")
    assert [entry.name for entry in tmp_path.iterdir()] == ["dir.csv"]


# The multiset ----------------------------------------------------------------------------------------------------

FLOATS = st.sampled_from([0.0, -0.0, float("nan"), 1.5, None])
NESTED = st.sampled_from([[1, None], [], None, [2]])


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([1, -1]), FLOATS, NESTED, st.sampled_from("ab")), max_size=30),
    st.integers(1, 8),
    st.integers(1, 12),
)
def test_content_is_the_sum_of_all_changes(rows: list[tuple[Any, ...]], size: int, least: int) -> None:
    """However the changes are cut and netted; -0 is 0, one NaN equals another, and nested values are compared."""
    kept = RelationContent()
    counted: Counter[str] = Counter()
    before = relation_content._LEAST
    relation_content._LEAST = least
    try:
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            columns = [
                pa.array([row[1] for row in part], pa.float64()),
                pa.array([row[2] for row in part], pa.list_(pa.int64())),
                pa.array([row[3] for row in part], pa.string()),
            ]
            signs = pa.chunked_array([pa.array([row[0] for row in part], pa.int64())])
            kept.add(pa.Table.from_arrays(columns, names=["x", "l", "x"]), signs)
    finally:
        relation_content._LEAST = before
    for change, number, *others in rows:
        counted[repr((None if number is None else number + 0.0, *others))] += change
    table = kept.table()
    found = [] if table is None else list(zip(*(column.to_pylist() for column in table.columns), strict=True))
    assert Counter(repr(row) for row in found) == +counted
    assert table is None or table.column_names == ["x", "l", "x"]


def test_many_changes_to_a_small_relation_stay_small() -> None:
    kept = RelationContent()
    for turn in range(300):
        k = pa.array(range(turn % 2, 1000), pa.int64())
        for sign in (1, -1):
            kept.add(pa.table({"k": k}), pa.chunked_array([pa.array([sign] * len(k), pa.int64())]))
        assert kept._waiting_rows <= relation_content._LEAST
    table = kept.table()
    assert table is not None
    assert table.num_rows == 0
