"""Sinks: what is written can be read back, and nothing that is not ours is touched."""

from __future__ import annotations

import csv
import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sinks import CsvSink, JsonSink, MemorySink, Shape, Sink, make_sink
from headgate.connect.sinks.text import csv_lines, json_lines
from headgate.connect.sources import read_table
from headgate.errors import ApplicationError
from headgate.plan.flows import Flow
from headgate.plan.model import Query, Table
from headgate.plan.operators.base import Port
from headgate.plan.windows import Clock
from headgate.sql.schema import FOREVER, Column, Schema, parse_schema

KS = parse_schema("k INT, s STRING", "q")


def results(*rows: tuple[Any, Any], **more: Any) -> pa.Table:
    columns = {
        "k": pa.array([k for k, _ in rows], pa.int32()),
        "s": pa.array([s for _, s in rows], pa.string()),
        "_arrival": pa.array([n * 1000 for n in range(len(rows))], pa.int64()),
        "_sequence": pa.array(range(len(rows)), pa.int64()),
    }
    return pa.table({**columns, **more})


def sink_of(folder: Path, schema: Schema = KS, flow: Flow | None = None, **said: Any) -> Sink:
    return make_sink(Query("q", "normal", Port("o"), ("o",), said), schema, folder, flow)


def test_memory_keeps_and_none_counts(tmp_path: Path) -> None:
    memory = sink_of(tmp_path, kind="memory")
    memory.write(results((1, "a"), (2, "b")))
    memory.write(results())
    assert isinstance(memory, MemorySink)
    assert [table.to_pylist() for table in memory.tables()] == [[{"k": 1, "s": "a"}, {"k": 2, "s": "b"}]]
    none = sink_of(tmp_path, kind="none")
    none.write(results((1, "a")))
    for sink, rows in ((memory, 2), (none, 1)):
        assert sink.rows == rows
        sink.flush()
        sink.close()


def test_memory_with_a_limit_keeps_the_newest(tmp_path: Path) -> None:
    sink = MemorySink(Shape(KS, {}), limit=2)
    for k in range(5):
        sink.write(results((k, "")))
    assert [table.column("k").to_pylist() for table in sink.tables()] == [[3], [4]]
    assert sink.rows == 5


def test_csv_parts_have_a_header_each(tmp_path: Path) -> None:
    sink = CsvSink(tmp_path / "out", Shape(KS, {}), part_bytes=20)
    for k in range(4):
        sink.write(results((k, "abcdefgh")))
    sink.close()
    sink.close()
    parts = sorted((tmp_path / "out").iterdir())
    assert [part.name for part in parts] == ["part-00000.csv", "part-00001.csv"]
    assert parts[0].read_text() == "k,s\n0,abcdefgh\n1,abcdefgh\n"
    assert parts[1].read_text() == "k,s\n2,abcdefgh\n3,abcdefgh\n"
    with pytest.raises(ValueError, match="closed"):
        sink.write(results((1, "a")))


def test_every_write_can_be_read_at_once(tmp_path: Path) -> None:
    sink = sink_of(tmp_path, kind="csv", path="deep/er/out.csv")
    file = tmp_path / "deep" / "er" / "out.csv"
    assert file.read_text() == "k,s\n"
    sink.write(results((1, "a")))
    assert file.read_text() == "k,s\n1,a\n"
    sink.write(pa.concat_tables([results((2, "b")), results((3, "c"))]).slice(1))
    assert file.read_text() == "k,s\n1,a\n3,c\n"
    assert sink.rows == 2


def test_csv_values(tmp_path: Path) -> None:
    types = "a DOUBLE, b BOOLEAN, c TIMESTAMP, d TIMESTAMP, e DATE, f DECIMAL(20,10), g ARRAY<INT>, h STRING, i BINARY"
    table = pa.table(
        {
            "a": [1.5, None],
            "b": [True, None],
            "c": pa.array([datetime(2024, 1, 1, 5, tzinfo=UTC), None], pa.timestamp("us", tz="UTC")),
            "d": pa.array([datetime(2024, 1, 1, 5, 0, 0, 250_000), None], pa.timestamp("us")),
            "e": pa.array([date(2024, 2, 29), None]),
            "f": pa.array([Decimal("0.0000000001"), None], pa.decimal128(20, 10)),
            "g": pa.array([[1, 2], None]),
            "h": ['say "hi",\nyou', ""],
            "i": pa.array([b"hi", None], pa.binary()),
            "_arrival": [0, 0],
            "_sequence": [0, 1],
        }
    )
    sink = sink_of(tmp_path, parse_schema(types, "q"), kind="csv", path="out.csv")
    sink.write(table)
    text = (tmp_path / "out.csv").read_text()
    assert text.split("\n", 1)[1] == (
        "1.5,true,2024-01-01 05:00:00,2024-01-01 05:00:00.250000,2024-02-29,0.0000000001,"
        '"[1, 2]","say ""hi"",\nyou",aGk=\n,,,,,,,"",\n'
    )


def test_a_null_in_a_single_column_is_still_a_row(tmp_path: Path) -> None:
    schema = parse_schema("k INT", "q")
    sink = sink_of(tmp_path, schema, kind="csv", path="out.csv")
    sink.write(pa.table({"k": [1, None], "_arrival": [0, 0], "_sequence": [0, 1]}))
    assert (tmp_path / "out.csv").read_text() == 'k\n1\n""\n'
    back = read_table(Table("t", schema, {"kind": "csv", "path": "out.csv"}), tmp_path)
    assert back.column("k").to_pylist() == [1, None]


def test_json_values(tmp_path: Path) -> None:
    types = "a DOUBLE, b BOOLEAN, c TIMESTAMP, d STRUCT<x: INT>, e MAP<STRING, DOUBLE>, f DECIMAL(4,1), s STRING"
    table = pa.table(
        {
            "a": [1.5, float("nan"), None],
            "b": [True, False, None],
            "c": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", tz="UTC")),
            "d": pa.array([{"x": 1}, {"x": None}, None]),
            "e": pa.array([[("p", 1.0)], [], None], pa.map_(pa.string(), pa.float64())),
            "f": pa.array([Decimal("1.5"), None, None], pa.decimal128(4, 1)),
            "s": ['é "x"\n', "plain", None],
            "_arrival": [0, 0, 0],
            "_sequence": [0, 1, 2],
        }
    )
    sink = sink_of(tmp_path, parse_schema(types, "q"), kind="json", path="out")
    sink.write(table)
    sink.close()
    lines = (tmp_path / "out" / "part-00000.json").read_text(encoding="utf-8").splitlines()
    first, second, third = (list(json.loads(line).values()) for line in lines)
    assert first == [1.5, True, "2024-01-01 00:00:00", {"x": 1}, {"p": 1.0}, 1.5, 'é "x"\n']
    assert second == ["NaN", False, None, {"x": None}, {}, None, "plain"]
    assert third == [None] * 7


def test_changes_go_in_front(tmp_path: Path) -> None:
    sink = sink_of(tmp_path, kind="csv", path="out.csv", format="changes")
    sink.write(results((1, "a"), (2, "b")))
    sink.write(results((3, "c"), _time=pa.array([77]), _until=pa.array([FOREVER]), _change=pa.array([-1])))
    assert (tmp_path / "out.csv").read_text() == "time,change,k,s\n0,+,1,a\n1000,+,2,b\n77,-,3,c\n"
    sink.close()
    rows = sink_of(tmp_path, kind="csv", path="out.csv")
    rows.write(results((3, "c"), _time=pa.array([77]), _until=pa.array([FOREVER]), _change=pa.array([1])))
    assert (tmp_path / "out.csv").read_text() == "k,s\n3,c\n"


@pytest.mark.parametrize(
    ("clock", "written"),
    [
        (Clock.EVENT, ["1970-01-01 00:00:05.250000", ""]),
        (Clock.LOGICAL, ["5250000", ""]),
        (Clock.ARRIVAL, ["5250000", ""]),
    ],
)
def test_the_time_of_a_change_is_that_of_its_clock(tmp_path: Path, clock: Clock, written: list[str]) -> None:
    for kind in ("csv", "json"):
        sink = sink_of(tmp_path, kind=kind, path=f"out.{kind}", format="changes", flow=Flow(clock))
        sink.write(results((1, "a"), (2, "b"), _time=pa.array([5_250_000, None], pa.int64())))
        sink.close()
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert lines == [f"{time},+,{row}" for time, row in zip(written, ["1,a", "2,b"], strict=True)]
    times = [json.loads(line)["time"] for line in (tmp_path / "out.json").read_text().splitlines()]
    assert ["" if time is None else str(time) for time in times] == written


def test_a_column_of_the_user_may_be_called_time(tmp_path: Path) -> None:
    schema = Schema((Column("_time", "INT"), Column("x", None)))
    sink = sink_of(tmp_path, schema, kind="csv", path="out.csv")
    sink.write(pa.table({"_time": [5], "x": ["y"], "_arrival": [0], "_sequence": [0]}))
    assert (tmp_path / "out.csv").read_text() == "_time,x\n5,y\n"


def test_empty_results_leave_a_file(tmp_path: Path) -> None:
    for kind, expected in (("csv", "k,s\n"), ("json", "")):
        sink_of(tmp_path, kind=kind, path=kind).close()
        assert (tmp_path / kind / f"part-00000.{kind}").read_text() == expected


def test_only_own_parts_of_earlier_runs_are_removed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    others = ["part-00000-8f2c.csv", "part-00001.csv.bak", "notes.txt", "_SUCCESS", "part-x.csv"]
    for name in ["part-00000.csv", "part-00007.csv", "part-00001.json", *others]:
        (out / name).write_text("old")
    sink_of(tmp_path, kind="csv", path="out").close()
    assert sorted(path.name for path in out.iterdir()) == sorted(["part-00000.csv", *others])
    assert (out / "part-00000.csv").read_text() == "k,s\n"


def test_wrong_targets_name_the_place(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    (tmp_path / "dir.csv").mkdir()
    for path in ("taken", "dir.csv"):
        with pytest.raises(ApplicationError, match=r"queries\.q\.sink\.path: cannot write there"):
            sink_of(tmp_path, kind="csv", path=path)
    with pytest.raises(ApplicationError, match="needs a 'path'"):
        sink_of(tmp_path, kind="csv")
    with pytest.raises(ApplicationError, match="known kinds: callback, "):
        sink_of(tmp_path, kind="carrier-pigeon")
    with pytest.raises(ValueError, match="instead of"):
        sink_of(tmp_path, kind="memory").write(pa.table({"k": [1], "_arrival": [0], "_sequence": [0]}))


TEXT = st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(-100, 100)), TEXT), max_size=8),
    st.sampled_from(["csv", "json"]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int | None, str | None]], kind: str
) -> None:
    """What a sink writes, a source reads: nulls, empty texts, quotation marks and line breaks included."""
    folder = tmp_path_factory.mktemp("round")
    sink = sink_of(folder, kind=kind, path=f"out.{kind}")
    sink.write(results(*rows))
    sink.close()
    back = read_table(Table("t", KS, {"kind": kind, "path": f"out.{kind}"}), folder)
    assert [(row["k"], row["s"]) for row in back.to_pylist()] == rows
    if kind == "csv":
        with (folder / "out.csv").open(encoding="utf-8", newline="") as file:
            assert [row[1] for row in csv.reader(file)][1:] == [s or "" for _, s in rows]


def test_large_writes_are_cut_but_whole(tmp_path: Path) -> None:
    n = 200_000
    sink = JsonSink(tmp_path / "out", Shape(KS, {}), part_bytes=1 << 20)
    k = pa.array(range(n), pa.int32())
    sink.write(pa.table({"k": k, "s": k.cast(pa.string()), "_arrival": k, "_sequence": k}))
    sink.close()
    parts = sorted((tmp_path / "out").iterdir())
    assert len(parts) > 2
    assert [json.loads(line)["k"] for part in parts for line in part.read_text().splitlines()] == list(range(n))


def test_intervals_are_written_as_spark_writes_them(tmp_path: Path) -> None:
    spans = [timedelta(hours=1, minutes=2, seconds=3), -timedelta(seconds=1), timedelta(days=40, microseconds=50), None]
    table = pa.table({"d": pa.array(spans, pa.duration("us")), "n": [[span] for span in spans]})
    texts = ["0 01:02:03", "-0 00:00:01", "40 00:00:00.00005"]
    expected = [*(f"INTERVAL '{text}' DAY TO SECOND" for text in texts), None]
    written = [json.loads(line) for line in json_lines(table).splitlines()]
    assert written == [{"d": text, "n": [text]} for text in expected]
    assert [row[0] for row in csv.reader(csv_lines(table).decode().splitlines())] == [*expected[:3], ""]
