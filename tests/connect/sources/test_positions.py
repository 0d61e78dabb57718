"""Sources go on from a position as if they had never stopped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connect.sources import SourceContext, SourceKind, make_source, records, source_for_run
from headgate.connect.sources import json as json_source
from headgate.connect.sources.base import ENDED, Source, position_of
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.sql.schema import ARRIVAL, parse_schema
from headgate.testing import check_source

SCHEMA = "k INT, s VARCHAR(6), ts BIGINT"
Put = Callable[[int, str, str, str], None]


class Batches(SourceKind):
    """Rows in batches of some sizes."""

    kind = "given"
    rows: Any
    sizes: Any

    def batches(self, context: SourceContext) -> Iterator[Any]:
        assert context.resume is None
        at = 0
        for size in self.sizes:
            yield self.rows[at : at + size]
            at += size
        yield self.rows[at:]


def csv_text(rows: list[tuple[Any, ...]], line_end: str) -> bytes:
    lines = ["S,ts,more,k"]
    for k, s, ts in rows:
        quoted = '"' + s.replace('"', '""') + '"' if s and set(s) & set(',"\n') else s or ""
        lines += [f"{quoted},{'' if ts is None else ts},x,{k}", *([""] if k == 3 else [])]
    return (line_end.join(lines) + (line_end if len(rows) % 2 else "")).encode()


def json_text(rows: list[tuple[Any, ...]], line_end: str) -> bytes:
    lines = []
    for k, s, ts in rows:
        lines += [json.dumps({"ts": ts, "k": k, "s": s}), *([""] if k == 3 else [])]
    return (line_end.join(lines) + (line_end if len(rows) % 2 else "")).encode()


# A number, a word that does not fit; a text, one that is too long; times that jump and run backwards.
ROWS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 4, 5, "bad"]),
        st.sampled_from(["a", "b,c", 'q"', "two\nx", "too long", "far too long" * 30, None]),
        st.one_of(st.none(), st.integers(-20, 60), st.just(500)),
    ),
    max_size=30,
)
POLLS = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 2.0, 30.0]), st.sampled_from([None, 1, 2, 7])), max_size=12)


def taken(
    source: Source, polls: list[tuple[float, int | None]], now: float = 0.0
) -> tuple[list[dict[str, Any]], float]:
    """What these polls give, each a step in time and a limit."""
    found: list[dict[str, Any]] = []
    for step, limit in polls:
        now += step
        table = source.poll(now, limit)
        found += [] if table is None else table.to_pylist()
    return found, now


def rest_of(source: Source) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while (table := source.poll(1e6)) is not None:
        found += table.to_pylist()
    assert source.exhausted
    return found


def check_cut(
    open_at: Callable[[Any, Put], Source], polls: list[tuple[float, int | None]], ahead: bool, in_time: bool
) -> None:
    """A source that is closed after these polls, and opened at its position, gives what one gives that goes on.

    `ahead`: it has looked ahead before that.
    """
    letters: list[tuple[int, str, str, str]] = []
    own: list[tuple[int, str, str, str]] = []
    whole = open_at(None, lambda *letter: letters.append(letter))
    expected = taken(whole, polls)[0] + rest_of(whole)
    cut = open_at(None, lambda *letter: own.append(letter))
    found, _ = taken(cut, polls)
    if ahead:
        cut.next_arrival()
    position = json.loads(json.dumps(position_of(cut)))
    cut.close()
    assert position_of(cut) == position
    resumed = open_at(position, lambda *letter: own.append(letter))
    assert position_of(resumed) == position
    found += rest_of(resumed)
    if not in_time:
        expected, found = ([{**row, ARRIVAL: 0} for row in rows] for rows in (expected, found))
    assert found == expected
    assert sorted(set(own)) == sorted(set(letters))
    assert all(letters.count(letter) == 1 for letter in letters)


@pytest.mark.parametrize("kind", ["csv", "json", "given"])
@pytest.mark.parametrize("replay", ["fast", "real", 4])
def test_any_cut_of_a_stored_source(kind: str, replay: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "given" and replay != "fast":
        pytest.skip("batches have no replay by event time")
    monkeypatch.setattr(records, "CHUNK", 64)
    monkeypatch.setattr(json_source, "BLOCK_LINES", 4)
    for module in (records, json_source):
        monkeypatch.setattr(module, "LONGEST", 200)

    @given(
        ROWS,
        POLLS,
        st.sampled_from(["\n", "\r\n"]),
        st.booleans(),
        st.booleans(),
        st.lists(st.integers(0, 5), max_size=4),
    )
    def check(rows: Any, polls: Any, line_end: str, packed: bool, ahead: bool, sizes: list[int]) -> None:
        said: dict[str, Any] = {"kind": kind, "path": "in.gz" if packed else "in", "replay": replay}
        connector = None
        if kind == "given":
            connector = Batches(rows=rows, sizes=sizes)
            said = connector.settings()
        else:
            text = (csv_text if kind == "csv" else json_text)(rows, line_end)
            (tmp_path / said["path"]).write_bytes(gzip.compress(text) if packed else text)
        stream = Stream("s", parse_schema(SCHEMA, "s"), said, "ts", max_jump_s=100.0, connector=connector)

        def open_at(resume: Any, put: Put) -> Source:
            return make_source(stream, tmp_path, 0, 0, on_reject=put, resume=resume)

        check_cut(open_at, polls, ahead, in_time=replay != "fast")

    check()


@given(POLLS, st.sampled_from(["poisson", "constant", {"kind": "self-similar", "flows": 2}]), st.booleans())
def test_any_cut_of_a_feeder(polls: Any, arrivals: Any, ahead: bool) -> None:
    said = {"kind": "feeder", "rate": 3, "arrivals": arrivals, "rows": 60, "changes": [[4, 2.0]]}
    stream = Stream("s", parse_schema("k INT, ts TIMESTAMP", "s"), said, "ts")

    def open_at(resume: Any, put: Put) -> Source:
        return make_source(stream, Path(), 3, 1_700_000_000_000_000, resume=resume)

    check_cut(open_at, polls, ahead, in_time=True)


def file_stream(folder: Path, text: str) -> Stream:
    (folder / "in.csv").write_text(text)
    return Stream("s", parse_schema("k INT", "s"), {"kind": "csv", "path": "in.csv"})


def position_after(stream: Stream, folder: Path, rows: int) -> Any:
    source = make_source(stream, folder, 0, 0)
    source.poll(0.0, rows)
    found = position_of(source)
    source.close()
    return found


@pytest.mark.parametrize(
    ("text", "problem"),
    [("k\n1\n", "is shorter"), ("k\n9\n2\n3\n", "has another beginning"), ("", "no header")],
)
def test_a_file_that_changed_is_refused(text: str, problem: str, tmp_path: Path) -> None:
    stream = file_stream(tmp_path, "k\n1\n2\n3\n")
    position = position_after(stream, tmp_path, 2)
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(ApplicationError, match=problem):
        make_source(stream, tmp_path, 0, 0, resume=position)


@pytest.mark.parametrize("packed", [False, True])
def test_a_long_file_that_got_shorter_is_refused(packed: bool, tmp_path: Path) -> None:
    name = "in.json.gz" if packed else "in.json"
    stream = replace(file_stream(tmp_path, ""), source={"kind": "json", "path": name})
    lines = [f'{{"k": {k}}}\n' for k in range(2000)]
    pack = gzip.compress if packed else bytes
    (tmp_path / name).write_bytes(pack("".join(lines).encode()))
    position = position_after(stream, tmp_path, 1500)
    assert position["at"]["line"] == 1501
    (tmp_path / name).write_bytes(pack("".join(lines[:1400]).encode()))
    with pytest.raises(ApplicationError, match="is shorter than when the run was interrupted"):
        make_source(stream, tmp_path, 0, 0, resume=position)


def test_a_file_that_grew_goes_on_with_what_is_new(tmp_path: Path) -> None:
    stream = file_stream(tmp_path, "k\n1\n2\n")
    position = position_after(stream, tmp_path, 2)
    with (tmp_path / "in.csv").open("a") as file:
        file.write("3\n")
    found = make_source(stream, tmp_path, 0, 0, resume=position).poll(0.0)
    assert found is not None
    assert found.to_pylist() == [{"k": 3, "_arrival": 0, "_sequence": 2}]


def test_batches_that_got_shorter_are_refused() -> None:
    stream = Stream("s", parse_schema("k INT", "s"), {}, connector=Batches(rows=[(1,)], sizes=[]))
    stream = replace(stream, source=stream.connector.settings())
    source = make_source(stream, Path(), 0, 0, resume={"given": 3, "at": {"row": 3}, "times": None})
    with pytest.raises(ApplicationError, match=r"there were 3 rows before the run was interrupted, and now .* only 1"):
        source.poll(0.0)


class WithoutPosition(SourceKind):
    """Three tuples that are due at 0, 1 and 2 s, and no position."""

    kind = "forgetful"

    def open(self, context: SourceContext) -> Source:
        return _Forgetful(context.schema)


class _Forgetful:
    replayable = False
    rejected = 0

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._given = 0

    @property
    def exhausted(self) -> bool:
        return self._given == 3

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        due = [at for at in range(self._given, 3) if at <= now][:limit]
        self._given += len(due)
        rows = [{"k": at, "_arrival": at * 1_000_000, "_sequence": at} for at in due]
        return pa.Table.from_pylist(rows, self.schema) if due else None

    def next_arrival(self) -> float | None:
        return None if self.exhausted else float(self._given)

    def close(self) -> None:
        self._given = 3


def test_a_source_without_a_position_begins_anew_with_the_next_numbers() -> None:
    stream = Stream("s", parse_schema("k INT", "s"), {"kind": "forgetful"}, connector=WithoutPosition())
    context = SourceContext(stream)
    source = source_for_run(context)
    source.poll(1.0)
    again = source_for_run(replace(context, resume=position_of(source)), since=10.0)
    assert again.next_arrival() == 10.0
    found = again.poll(11.5)
    assert found is not None
    assert found.to_pylist() == [
        {"k": 0, "_arrival": 10_000_000, "_sequence": 2},
        {"k": 1, "_arrival": 11_000_000, "_sequence": 3},
    ]
    third = source_for_run(replace(context, resume=position_of(again)), since=20.0)
    assert third.poll(20.0).column("_sequence").to_pylist() == [4]


def test_a_source_that_was_opened_late_goes_on_at_its_own_times() -> None:
    said = {"kind": "feeder", "rate": 1, "arrivals": "constant", "rows": 5}
    context = SourceContext(Stream("s", parse_schema("k INT", "s"), said))
    whole = source_for_run(context, since=100.0)
    cut = source_for_run(context, since=100.0)
    assert whole.poll(102.0).equals(cut.poll(102.0))
    resumed = source_for_run(replace(context, resume=json.loads(json.dumps(position_of(cut)))), since=500.0)
    assert resumed.poll(1000.0).equals(whole.poll(1000.0))


def test_a_stream_that_had_ended_stays_ended(tmp_path: Path) -> None:
    stream = file_stream(tmp_path, "k\n1\n")
    source = source_for_run(SourceContext(stream, tmp_path, resume=dict(ENDED)))
    assert source.exhausted
    assert source.poll(9.0) is None
    assert source.schema.names == ["k", "_arrival", "_sequence"]


class Wrong(SourceKind):
    """A source whose positions are wrong in one way."""

    kind = "wrong"
    how: str

    def open(self, context: SourceContext) -> Source:
        return _Wrong(self.how, context)


class _Wrong(_Forgetful):
    def __init__(self, how: str, context: SourceContext) -> None:
        super().__init__(context.schema)
        self._how = how
        if context.resume is not None:
            self._given = context.resume["given"] + (how == "one lost")

    @property
    def position(self) -> Any:
        return {"given": self._given, **({"more": {1}} if self._how == "no JSON" else {})}


@pytest.mark.parametrize(
    ("how", "problem"), [("right", ""), ("one lost", "says that it is at"), ("no JSON", "JSON cannot hold")]
)
def test_the_check_of_a_source_includes_its_positions(how: str, problem: str) -> None:
    if not problem:
        check_source(Wrong(how=how), "k INT", rows=3)
        return
    with pytest.raises(AssertionError, match=problem):
        check_source(Wrong(how=how), "k INT", rows=3)
