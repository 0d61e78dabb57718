"""Sinks that go on from a checkpoint: what came after it is gone, and the rest is as if nothing had happened."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sinks import CsvSink, JsonSink, MemorySink, Shape, Sink, make_sink
from headgate.connect.sinks.base import content_of, position_of
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.plan.windows import Clock
from headgate.sql.schema import FOREVER, RELATION_STAMPS, Column, Schema, parse_schema
from tests.tiers import examples

KS = parse_schema("k INT, s STRING", "q")
LOSES = Flow(Clock.LOGICAL, relation=True, retracts=True)
BATCHES = st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=6)


def rows(ks: list[int], change: int = 1) -> pa.Table:
    n = len(ks)
    stamps = {"_arrival": 0, "_sequence": 0, "_time": 7, "_until": FOREVER, "_change": change}
    columns = {name: pa.array([value] * n, pa.int64()) for name, value in stamps.items()}
    return pa.table({"k": pa.array(ks, pa.int32()), "s": pa.array(["x" * k for k in ks], pa.string()), **columns})


def open_sink(folder: Path, flow: Flow | None, resume: Any = None, content: Any = None, **said: Any) -> Sink:
    query = Query("q", "normal", Port("o"), ("o",), said)
    return make_sink(query, KS, folder, flow, "test", resume, content, checkpointed=True)


def saved(sink: Sink) -> tuple[Any, Any]:
    """What a checkpoint would hold: JSON, and tables that went through Arrow's file format."""
    position, content = json.loads(json.dumps(position_of(sink))), content_of(sink)
    content = [through_a_file(one) for one in content] if isinstance(content, list) else through_a_file(content)
    sink.flush()
    return position, content


def through_a_file(table: pa.Table | None) -> pa.Table | None:
    if table is None:
        return None
    held = pa.BufferOutputStream()
    with pa.ipc.new_file(held, table.schema) as file:
        file.write_table(table)
    return pa.ipc.open_file(held.getvalue()).read_all()


def contents(folder: Path) -> dict[str, str]:
    return {str(at.relative_to(folder)): at.read_text() for at in folder.rglob("*") if at.is_file()}


@pytest.mark.parametrize("kind", [CsvSink, JsonSink])
@pytest.mark.parametrize("path", ["out.{}", "out"])
@settings(max_examples=examples(15, 300))
@given(BATCHES, BATCHES, BATCHES, st.booleans())
def test_files_are_as_if_nothing_had_happened(
    kind: type[CsvSink | JsonSink], path: str, before: Any, lost: Any, after: Any, closes: bool
) -> None:
    name = path.format("csv" if kind is CsvSink else "json")

    def opened(folder: Path, resume: Any = None) -> CsvSink | JsonSink:
        return kind(folder / name, Shape(KS, {}), part_bytes=30, resume=resume)

    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        undisturbed, sink = opened(Path(first)), opened(Path(second))
        for batch in before:
            undisturbed.write(rows(batch))
            sink.write(rows(batch))
        position, _ = saved(sink)
        for batch in lost:
            sink.write(rows(batch))
        sink.close()  # a process that is killed leaves the same file
        if closes:  # a run that went on, and wrote nothing
            again = opened(Path(second), position)
            assert saved(again) == (position, None)
            again.close()
        sink = opened(Path(second), position)
        assert sink.rows == undisturbed.rows
        for batch in after:
            undisturbed.write(rows(batch))
            sink.write(rows(batch))
        assert sink.rows == undisturbed.rows
        sink.close()
        undisturbed.close()
        assert contents(Path(second)) == contents(Path(first))


CHANGES = st.lists(st.tuples(st.lists(st.integers(0, 4), max_size=4), st.sampled_from([1, -1])), max_size=6)


@pytest.mark.parametrize(
    ("flow", "said"),
    [
        (LOSES, {"kind": "memory"}),
        (None, {"kind": "memory", "limit": 5}),
        (LOSES, {"kind": "csv", "path": "out.csv"}),
        (LOSES, {"kind": "json", "path": "out"}),
    ],
)
@settings(max_examples=examples(15, 300))
@given(CHANGES, CHANGES, CHANGES)
def test_relations_and_memory_are_as_if_nothing_had_happened(
    flow: Flow | None, said: dict[str, Any], before: Any, lost: Any, after: Any
) -> None:
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        undisturbed, sink = open_sink(Path(first), flow, **said), open_sink(Path(second), flow, **said)
        for ks, change in before:
            undisturbed.write(rows(ks, change))
            sink.write(rows(ks, change))
        position, content = saved(sink)
        for ks, change in lost:
            sink.write(rows(ks, change))
        sink.close()
        sink = open_sink(Path(second), flow, position, content, **said)
        assert _shown(sink, Path(second)) == _shown(undisturbed, Path(first))
        for ks, change in after:
            undisturbed.write(rows(ks, change))
            sink.write(rows(ks, change))
        assert sink.rows == undisturbed.rows
        assert _shown(sink, Path(second)) == _shown(undisturbed, Path(first))
        sink.close()
        undisturbed.close()


def _shown(sink: Sink, folder: Path) -> Any:
    """What people see: of a relation, rows without an order."""
    if isinstance(sink, MemorySink):
        held = [(row["k"], row["s"]) for table in sink.tables() for row in table.to_pylist()]
        return Counter(held) if sink.whole else held
    sink.flush()
    files = {name: text for name, text in contents(folder).items() if not Path(name).name.startswith(".")}
    return {name: Counter(text.splitlines()) for name, text in files.items()}


@pytest.mark.parametrize("kind", ["memory", "csv"])
def test_columns_of_one_name_and_nested_values_come_back(tmp_path: Path, kind: str) -> None:
    schema = Schema((Column("a", "ARRAY<INT>"), Column("a", "DOUBLE")))
    said = {"kind": kind} | ({"path": "out.csv"} if kind == "csv" else {})
    stamps = [pa.array([0, 0, 0])] * 4 + [pa.array([1, 1, 1])]
    values = [pa.array([[1, 2], None, [1, 2]]), pa.array([-0.0, float("nan"), 0.0])]
    table = pa.Table.from_arrays([*values, *stamps], names=["a", "a", *RELATION_STAMPS])
    query = Query("q", "normal", Port("o"), ("o",), said)
    sink = make_sink(query, schema, tmp_path, LOSES)
    sink.write(table)
    position, content = saved(sink)
    sink.close()
    again = make_sink(query, schema, tmp_path, LOSES, "", position, content)
    again.write(table.slice(0, 1).set_column(6, "_change", pa.array([-1])))
    again.close()
    if isinstance(again, MemorySink):
        assert [str(column.to_pylist()) for column in again.tables()[0].columns] == ["[[1, 2], None]", "[0.0, nan]"]
    else:
        assert (tmp_path / "out.csv").read_text() == 'a,a\n"[1, 2]",0\n,nan\n'


@pytest.mark.parametrize("path", ["out.csv", "out"])
@pytest.mark.parametrize("harm", ["shorter", "gone", "folder gone"])
def test_a_file_that_somebody_changed_is_refused(tmp_path: Path, path: str, harm: str) -> None:
    sink = open_sink(tmp_path, None, kind="csv", path=path)
    sink.write(rows([1, 2, 3]))
    position, _ = saved(sink)
    sink.close()
    file = tmp_path / path if path.endswith("csv") else tmp_path / path / "part-00000.csv"
    if harm.endswith("gone"):
        file.unlink()
        if harm == "folder gone" and file.parent != tmp_path:
            file.parent.rmdir()
    else:
        file.write_text("k,s\n")
    with pytest.raises(
        ApplicationError, match=r"queries.q.sink: cannot go on from the checkpoint: .*were written"
    ) as it:
        open_sink(tmp_path, None, position, kind="csv", path=path)
    assert "remove the checkpoint" in it.value.remedy
    assert not file.exists() or file.read_text() == "k,s\n"
    open_sink(tmp_path, None, kind="csv", path=path).close()  # the lock was released
