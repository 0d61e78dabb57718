"""Folders of files that are complete: order, new files, troubles, positions."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate as hg
from headgate.connect.sources import Folder
from headgate.connect.sources.base import position_of
from headgate.errors import ApplicationError
from headgate.testing import check_source
from tests.connect.sources.positions import opened, read, read_with_restarts, stream

FORMATS = ("csv", "json", "parquet")
Reject = tuple[int, str, str, str]


def write(path: Path, rows: list[tuple[Any, Any]], kind: str = "csv") -> None:
    if kind == "parquet":
        table = pa.table({"k": pa.array([k for k, _ in rows]), "t": pa.array([t for _, t in rows], pa.string())})
        pq.write_table(table, path, row_group_size=3)
    elif kind == "csv":
        path.write_text("k,t\n" + "".join(f"{k},{t}\n" for k, t in rows))
    else:
        path.write_text("".join(f'{{"k": {k}, "t": "{t}"}}\n' for k, t in rows))


def folder_of(kind: str = "csv", **more: Any) -> Any:
    source = Folder(path=f"in/*.{kind}", **more)
    return stream(**source.settings())


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.mark.parametrize("kind", FORMATS)
def test_files_in_the_order_of_their_names(tmp_path: Path, inside: Path, kind: str) -> None:
    write(inside / f"b.{kind}", [(3, "c")], kind)
    write(inside / f"a.{kind}", [(1, "a"), (2, "b")], kind)
    write(inside / f"_c.{kind}", [(9, "unfinished")], kind)
    (inside / "d.txt").write_text("something else")
    source = opened(folder_of(kind, watch=False), tmp_path)
    assert not source.exhausted
    assert read(source) == [(1, "a", 0), (2, "b", 1), (3, "c", 2)]
    assert source.exhausted


@pytest.mark.parametrize("kind", FORMATS)
def test_new_files_are_picked_up(tmp_path: Path, inside: Path, kind: str) -> None:
    source = opened(folder_of(kind), tmp_path)
    assert read(source) == []
    write(inside / f"a.{kind}", [(1, "a")], kind)
    assert source.poll(0.1) is None  # before the interval has passed
    assert read(source, 1.0) == [(1, "a", 0)]
    write(inside / f"b.{kind}", [(2, "b")], kind)
    assert read(source, 9.0) == [(2, "b", 1)]
    assert not source.exhausted


@given(
    files=st.lists(st.integers(0, 7), max_size=5),
    cuts=st.lists(st.integers(0, 6), max_size=6),
    kind=st.sampled_from(FORMATS),
)
def test_any_cut_and_restart_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, files: list[int], cuts: list[int], kind: str
) -> None:
    base = tmp_path_factory.mktemp("folder")
    (base / "in").mkdir()
    expected = []
    for number, rows in enumerate(files):
        own = [(number * 10 + row, f"{number}-{row}") for row in range(rows)]
        write(base / "in" / f"{number}.{kind}", own, kind)
        expected += own
    found = read_with_restarts(folder_of(kind), base, cuts)
    assert found == [(*row, number) for number, row in enumerate(expected)]


def test_a_position_is_small_and_needs_no_file_that_was_read(tmp_path: Path, inside: Path) -> None:
    for number in range(100):
        write(inside / f"{number:03}.csv", [(number, "x")])
    source = opened(folder_of(), tmp_path)
    assert len(read(source)) == 100
    assert position_of(source) == {"given": 100, "at": {"after": "099.csv"}, "times": None}
    for file in inside.iterdir():
        file.unlink()
    write(inside / "100.csv", [(100, "x")])
    assert read(opened(folder_of(), tmp_path, position_of(source))) == [(100, "x", 100)]


class Troubles:
    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.letters: list[Reject] = []
        self._caplog = caplog
        caplog.set_level(logging.INFO, "headgate.source")

    def __call__(self, *reject: Any) -> None:
        self.letters.append(reject)  # type: ignore[arg-type]

    def assert_told(self, file: str, words: str) -> None:
        """Both in the log and in one dead letter."""
        [letter] = [one for one in self.letters if one[3] == "file"]
        assert letter[1] == file
        assert words in letter[2]
        assert words in self._caplog.text


@pytest.fixture
def troubles(caplog: pytest.LogCaptureFixture) -> Troubles:
    return Troubles(caplog)


def test_a_file_that_comes_too_late(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    write(inside / "b.csv", [(2, "b")])
    source = opened(folder_of(), tmp_path, on_reject=troubles)
    assert read(source) == [(2, "b", 0)]
    write(inside / "a.csv", [(1, "a")])
    write(inside / "c.csv", [(3, "c")])
    assert read(source, 10.0) == [(3, "c", 1)]
    troubles.assert_told("a.csv", "names must be in order")
    assert source.rejected == 1


def test_a_file_that_vanishes_before_it_is_read(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    for name in "abc":
        write(inside / f"{name}.csv", [(1, name)])
    source = opened(folder_of(), tmp_path, on_reject=troubles)
    assert source.poll(0.0) is not None
    (inside / "b.csv").unlink()
    assert read(source) == [(1, "c", 1)]
    troubles.assert_told("b.csv", "left out")


def test_a_damaged_file_costs_only_itself(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    write(inside / "a.parquet", [(1, "a")], "parquet")
    (inside / "b.parquet").write_bytes((inside / "a.parquet").read_bytes()[:-20])
    write(inside / "c.parquet", [(3, "c")], "parquet")
    source = opened(folder_of("parquet"), tmp_path, on_reject=troubles)
    assert read(source) == [(1, "a", 0), (3, "c", 1)]
    troubles.assert_told("b.parquet", "cannot be read as parquet")


def test_another_header_costs_only_its_file(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    write(inside / "a.csv", [(1, "a")])
    (inside / "b.csv").write_text("k,other\n2,b\n")
    write(inside / "c.csv", [(3, "c")])
    source = opened(folder_of(), tmp_path, on_reject=troubles)
    assert read(source) == [(1, "a", 0), (3, "c", 1)]
    troubles.assert_told("b.csv", "has no column 't'")


def test_a_file_that_changes_after_it_was_read(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    write(inside / "a.csv", [(1, "a")])
    source = opened(folder_of(), tmp_path, on_reject=troubles)
    assert read(source) == [(1, "a", 0)]
    with (inside / "a.csv").open("a") as file:
        file.write("2,b\n")
    assert read(source, 10.0) == []
    troubles.assert_told("a.csv", "rows may be missing")


def test_a_file_that_was_cut_off_before_a_restart(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    write(inside / "a.csv", [(at, "a") for at in range(9)])
    write(inside / "b.csv", [(10, "b")])
    source = opened(folder_of(), tmp_path)
    assert source.poll(0.0, 5) is not None
    write(inside / "a.csv", [(0, "a")])
    after = opened(folder_of(), tmp_path, position_of(source), on_reject=troubles)
    assert read(after) == [(10, "b", 5)]
    troubles.assert_told("a.csv", "are lost")


def test_a_folder_that_is_gone_for_a_while(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    source = opened(folder_of(), tmp_path, on_reject=troubles)
    inside.rmdir()
    assert read(source) == []
    assert read(source, 10.0) == []
    inside.mkdir()
    write(inside / "a.csv", [(1, "a")])
    assert read(source, 20.0) == [(1, "a", 0)]
    troubles.assert_told(str(inside), "cannot be listed")


def test_results_do_not_go_where_rows_come_from(tmp_path: Path, inside: Path) -> None:
    app = hg.Application(folder=tmp_path)
    app.stream("s", "k INT, t STRING", source=Folder(path="in/*.csv"))
    with pytest.raises(ApplicationError, match="a stream reads"):
        app.query("q", "SELECT k FROM s", sink=hg.sinks.Csv(path="in/out.csv"))


def test_malformed_rows_name_their_file(tmp_path: Path, inside: Path, troubles: Troubles) -> None:
    write(inside / "a.csv", [(1, "a"), ("one", "a")])
    source = opened(folder_of(), tmp_path, on_reject=troubles)
    assert read(source) == [(1, "a", 0)]
    assert [(line, row) for line, row, _, _ in troubles.letters] == [(3, "one,a")]
    assert troubles.letters[0][2].startswith("file a.csv: column k")
    assert source.rejected == 1


def test_what_is_wrong_is_said_before_the_run(tmp_path: Path, inside: Path) -> None:
    for settings, problem in (
        ({"path": "in"}, "format of the files is not known"),
        ({"path": "nowhere/*.csv"}, "there is no folder"),
        ({"path": "in/*.parquet", "grows": True}, "no lines can be added"),
    ):
        source = Folder(**settings)
        with pytest.raises(ApplicationError, match=problem):
            source.check(stream(**source.settings()), "streams.s.source", tmp_path)
    (inside / "a.csv").write_text("k,other\n1,a\n")
    source = Folder(path="in/*.csv")
    with pytest.raises(ApplicationError, match="no column 't'"):
        source.check(stream(**source.settings()), "streams.s.source", tmp_path)


def test_it_does_what_runtimes_expect(tmp_path: Path, inside: Path) -> None:
    write(inside / "a.csv", [(at, "a") for at in range(20)])
    write(inside / "b.csv", [(at, "b") for at in range(20)])
    check_source(Folder(path="in/*.csv", watch=False), "k INT, t STRING", rows=40, folder=tmp_path)
