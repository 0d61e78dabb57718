"""Files that grow while they are read: whole lines only, rotation, truncation, positions."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.connect.sources import Folder, Source
from headgate.connect.sources.base import position_of
from tests.connect.sources.positions import opened, read, stream


def growing(kind: str = "csv", **more: Any) -> Any:
    return stream(**Folder(path=f"in/*.{kind}*", format=kind, grows=True, **more).settings())


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


class Letters(list[Any]):
    def __call__(self, *reject: Any) -> None:
        self.append(reject)

    @property
    def of_files(self) -> list[str]:
        return [reason for _, _, reason, kind in self if kind == "file"]


def test_a_torn_line_waits_for_its_end(tmp_path: Path, inside: Path) -> None:
    source = opened(growing(), tmp_path)
    add(inside / "a.csv", "k,")
    assert read(source) == []
    add(inside / "a.csv", "t\n1,a\n2,")
    assert read(source, 10.0) == [(1, "a", 0)]
    add(inside / "a.csv", "b")
    assert read(source, 20.0) == []
    add(inside / "a.csv", "c\n")
    assert read(source, 30.0) == [(2, "bc", 1)]
    assert not source.exhausted


def test_a_line_break_in_quotes_waits_too(tmp_path: Path, inside: Path) -> None:
    source = opened(growing(), tmp_path)
    add(inside / "a.csv", 'k,t\n1,"a\n')
    assert read(source) == []
    add(inside / "a.csv", 'b"\n2,c\n')
    assert read(source, 10.0) == [(1, "a\nb", 0), (2, "c", 1)]
    assert source.rejected == 0


def test_a_broken_line_does_not_hold_up_others(tmp_path: Path, inside: Path) -> None:
    letters = Letters()
    source = opened(growing(), tmp_path, on_reject=letters)
    add(inside / "a.csv", 'k,t\n1,"a"b\n2,c\n')
    assert read(source) == [(2, "c", 0)]
    assert [letter[:2] for letter in letters] == [(2, '1,"a"b')]


def test_without_watching_a_last_line_needs_no_end(tmp_path: Path, inside: Path) -> None:
    add(inside / "a.csv", "k,t\n1,a\n2,b")
    source = opened(growing(watch=False), tmp_path)
    assert read(source) == [(1, "a", 0), (2, "b", 1)]
    assert source.exhausted


def test_several_files_grow_at_once(tmp_path: Path, inside: Path) -> None:
    source = opened(growing("json"), tmp_path)
    add(inside / "b.json", '{"k": 1, "t": "b"}\n')
    assert read(source) == [(1, "b", 0)]
    add(inside / "a.json", '{"k": 2, "t": "a"}\n')
    add(inside / "b.json", '{"k": 3, "t": "b"}\n')
    assert read(source, 10.0) == [(2, "a", 1), (3, "b", 2)]


def test_a_rotated_file_is_read_to_its_end(tmp_path: Path, inside: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.source")
    source = opened(growing(), tmp_path)
    add(inside / "a.csv", "k,t\n1,a\n")
    assert read(source) == [(1, "a", 0)]
    add(inside / "a.csv", "2,b\n3,")
    (inside / "a.csv").rename(tmp_path / "a.csv.old")
    add(tmp_path / "a.csv.old", "c\n")
    add(inside / "a.csv", "k,t\n4,d\n")
    assert read(source, 10.0) == [(2, "b", 1), (3, "c", 2), (4, "d", 3)]
    assert "a.csv is gone, and was read to its end" in caplog.text


def test_a_renamed_file_is_not_read_again(tmp_path: Path, inside: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headgate.source")
    source = opened(growing(), tmp_path)
    add(inside / "a.csv", "k,t\n1,a\n")
    assert read(source) == [(1, "a", 0)]
    (inside / "a.csv").rename(inside / "a.csv.1")
    add(inside / "a.csv", "k,t\n2,b\n")
    add(inside / "a.csv.1", "3,c\n")
    assert read(source, 10.0) == [(2, "b", 1), (3, "c", 2)]
    assert "a.csv is called a.csv.1 now" in caplog.text


def test_a_file_that_is_cut_off_is_read_again(tmp_path: Path, inside: Path, caplog: pytest.LogCaptureFixture) -> None:
    letters = Letters()
    source = opened(growing(), tmp_path, on_reject=letters)
    add(inside / "a.csv", "k,t\n1,a\n2,b\n")
    assert len(read(source)) == 2
    os.truncate(inside / "a.csv", 0)
    add(inside / "a.csv", "k,t\n3,c\n")
    assert read(source, 10.0) == [(3, "c", 2)]
    assert letters.of_files == ["a.csv: it was cut off; it is read from its beginning again"]
    assert "it was cut off" in caplog.text


def test_a_bad_header_costs_only_its_file(tmp_path: Path, inside: Path) -> None:
    letters = Letters()
    add(inside / "a.csv", "k,other\n1,a\n")
    add(inside / "b.csv", "k,t\n2,b\n")
    source = opened(growing(), tmp_path, on_reject=letters)
    assert read(source) == [(2, "b", 0)]
    assert read(source, 10.0) == []
    [reason] = letters.of_files
    assert "has no column 't'" in reason


def restarted(source: Source, of: Any, folder: Path, letters: Letters | None = None) -> Source:
    position = json.loads(json.dumps(position_of(source)))
    source.close()
    return opened(of, folder, position, letters)


def test_a_file_that_was_replaced_while_nobody_read(tmp_path: Path, inside: Path) -> None:
    source = opened(growing(), tmp_path)
    add(inside / "a.csv", "k,t\n1,a\n")
    assert len(read(source)) == 1
    (inside / "a.csv").unlink()
    add(inside / "a.csv", "t,k\nb,2\n")
    letters = Letters()
    source = restarted(source, growing(), tmp_path, letters)
    assert read(source) == [(2, "b", 1)]
    [reason] = letters.of_files
    assert "replaced, cut off or removed" in reason


def test_a_file_that_was_rotated_while_nobody_read(tmp_path: Path, inside: Path) -> None:
    source = opened(growing(), tmp_path)
    add(inside / "a.csv", "k,t\n1,a\n")
    assert len(read(source)) == 1
    add(inside / "a.csv", "2,b\n")
    (inside / "a.csv").rename(inside / "a.csv.1")
    add(inside / "a.csv", "k,t\n3,c\n")
    letters = Letters()
    source = restarted(source, growing(), tmp_path, letters)
    assert sorted(read(source)) == [(2, "b", 2), (3, "c", 1)]
    assert not letters


@given(st.data())
def test_any_growth_and_restart_gives_every_row_once(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("growing")
    (folder / "in").mkdir()
    of = growing()
    rows = [(at, 'x\n"' if at % 4 == 0 else f"t{at}") for at in range(data.draw(st.integers(0, 12)))]
    text = "k,t\n" + "".join(f'{k},"{t.replace(chr(34), chr(34) * 2)}"\n' for k, t in rows)
    source, found, at, now = opened(of, folder), [], 0, 0.0
    while at < len(text):
        end = at + data.draw(st.integers(1, 40))
        add(folder / "in" / "a.csv", text[at:end])
        at, now = end, now + 10.0
        for limit in data.draw(st.lists(st.integers(1, 3), max_size=3)):
            now += 1.0
            table = source.poll(now, limit)
            if table is not None:
                found += [tuple(row[name] for name in ("k", "t", "_sequence")) for row in table.to_pylist()]
        if data.draw(st.booleans()):
            source, now = restarted(source, of, folder), 0.0
    found += read(source, now + 10.0)
    assert found == [(*row, number) for number, row in enumerate(rows)]
    assert source.rejected == 0


@given(st.data())
def test_files_that_grow_together_give_every_row_once(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    folder = tmp_path_factory.mktemp("together")
    (folder / "in").mkdir()
    of = growing("json")
    texts = {
        name: "".join(f'{{"k": {at}, "t": "{name}"}}\n' for at in range(data.draw(st.integers(0, 6)))) for name in "ab"
    }
    source, found, now = opened(of, folder), [], 0.0
    while any(texts.values()):
        name = data.draw(st.sampled_from([one for one in texts if texts[one]]))
        end = data.draw(st.integers(1, 60))
        add(folder / "in" / f"{name}.json", texts[name][:end])
        texts[name] = texts[name][end:]
        now += 1.0
        table = source.poll(now, data.draw(st.integers(1, 3)))
        if table is not None:
            found += [(row["k"], row["t"], row["_sequence"]) for row in table.to_pylist()]
        if data.draw(st.booleans()):
            source, now = restarted(source, of, folder), 0.0
    found += read(source, now + 10.0)
    assert [number for _, _, number in found] == list(range(len(found)))
    for name in "ab":
        own = [k for k, t, _ in found if t == name]
        lines = folder / "in" / f"{name}.json"
        assert own == list(range(len(lines.read_text().splitlines()) if lines.exists() else 0))


def test_a_writer_that_does_not_wait(tmp_path: Path, inside: Path) -> None:
    rows = 3000

    def write() -> None:
        with (inside / "a.csv").open("wb", buffering=0) as file:
            file.write(b"k,t\n")
            for at in range(rows):
                text = b"%d,x%d\n" % (at, at)
                file.write(text[: at % 5])
                file.write(text[at % 5 :])

    source = opened(growing(interval=0.0), tmp_path)
    writer = threading.Thread(target=write)
    writer.start()
    found: list[Any] = []
    until = time.monotonic() + 60
    while len(found) < rows and time.monotonic() < until:
        found += read(source, time.monotonic())
    writer.join()
    assert found == [(at, f"x{at}", at) for at in range(rows)]
