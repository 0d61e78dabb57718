"""max_jump: rows of a wrong clock are put aside, and move no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headgate.connect.sources import Source, make_source, time_jumps
from headgate.errors import ApplicationError
from tests.applications import application

NOW = datetime(2026, 6, 1, tzinfo=UTC)
YEAR_9999 = "9999-12-31 23:59:59"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_jumps.time, "time_ns", lambda: int(NOW.timestamp() * 1e9))


def opened(folder: Path, times: list[str], kind: str = "csv", type_: str = "TIMESTAMP", **said: Any) -> Source:
    """The source of a stream with these times; `said` of it: max_jump, replay."""
    if kind == "csv":
        (folder / "in.csv").write_text("".join(["ts,n\n", *[f"{t},{n}\n" for n, t in enumerate(times)]]))
    else:
        (folder / "in.json").write_text("".join(f'{{"ts": "{t}", "n": {n}}}\n' for n, t in enumerate(times)))
    source: dict[str, Any] = {"kind": kind, "path": f"in.{kind}", "replay": said.pop("replay", "fast")}
    stream = {"schema": f"ts {type_}, n INT", "time": "ts", "source": source, **said}
    app = application({"s": stream}, {"q": "SELECT n FROM s"}, folder=folder).checked()
    return make_source(app.plan.streams["s"], folder, 0, 0)


def numbers(source: Source) -> list[int]:
    found: list[int] = []
    while (table := source.poll(1e9)) is not None:
        found += table.column("n").to_pylist()
    return found


def after(**duration: float) -> str:
    return (NOW + timedelta(**duration)).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_by_default_a_day_beyond_the_clock(tmp_path: Path, kind: str) -> None:
    ahead = [after(hours=23), after(hours=25), after(hours=50)]
    times = [after(hours=-1), YEAR_9999, after(days=365), *ahead, "0001-01-01 00:00:00"]
    source = opened(tmp_path, times, kind)
    assert numbers(source) == [0, 3, 4, 6]  # 4 is less than a day beyond 3
    assert source.rejected == 3


def test_old_files_are_read_as_they_are(tmp_path: Path) -> None:
    source = opened(tmp_path, ["2015-01-01 00:00:00", "2015-06-01 00:00:00", "2020-01-01 00:00:00"])
    assert numbers(source) == [0, 1, 2]


def test_a_row_that_is_malformed_sets_no_time(tmp_path: Path) -> None:
    source = opened(tmp_path, [after(hours=23), after(hours=46)])
    path = tmp_path / "in.csv"
    path.write_text(path.read_text().replace(",0\n", ",x\n"))
    assert numbers(source) == []


def test_off(tmp_path: Path) -> None:
    assert numbers(opened(tmp_path, [YEAR_9999, after()], max_jump=False)) == [0, 1]
    assert numbers(opened(tmp_path, [YEAR_9999, after()], max_jump="off")) == [0, 1]


def test_another_length(tmp_path: Path) -> None:
    assert numbers(opened(tmp_path, [after(minutes=9), after(minutes=20)], max_jump="10 minutes")) == [0]


def test_whole_numbers_have_no_limit_unless_it_is_given(tmp_path: Path) -> None:
    times = ["1000", "1000000000000", "1005", "1011", "1016"]
    assert numbers(opened(tmp_path, times, type_="BIGINT")) == [0, 1, 2, 3, 4]
    assert numbers(opened(tmp_path, times, type_="BIGINT", max_jump=10)) == [0, 2, 3, 4]


def test_a_replay_does_not_wait_for_it(tmp_path: Path) -> None:
    source = opened(tmp_path, [after(), YEAR_9999, after(seconds=2)], replay="real")
    table = source.poll(2.0)
    assert table is not None
    assert table.column("n").to_pylist() == [0, 2]


def test_a_stream_on_arrival_time_has_none() -> None:
    with pytest.raises(ApplicationError, match=r"streams.s.max_jump: a stream on arrival time cannot jump"):
        application({"s": {"schema": "n INT", "max_jump": "1 s"}}, {})
