"""A run that goes on from a checkpoint gives the results of one that was never interrupted."""

from __future__ import annotations

import csv
import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headgate as hg
from headgate.connect.sources import Source, SourceContext, SourceKind
from headgate.connect.sources.base import stamp
from headgate.errors import ApplicationError

pytestmark = pytest.mark.spark

ROWS = 20_000
SLOWLY = 5  # rows a poll, about a thousand a second


class Counted(SourceKind):
    """Rows that follow from their numbers, a few at a time; it can go on anywhere."""

    kind = "counted"
    may_change = frozenset({"a_poll"})
    rows: int = ROWS
    key: int = 7
    a_poll: int = ROWS

    def open(self, context: SourceContext) -> Source:
        return CountedSource(self, context.schema, context.resume or 0)


class CountedSource:
    """See `Counted`: one row each 5 ms of event time."""

    replayable = True
    rejected = 0

    def __init__(self, kind: Counted, schema: pa.Schema, first: int) -> None:
        self.schema, self.position = schema, first
        self._kind = kind

    @property
    def exhausted(self) -> bool:
        return self.position >= self._kind.rows

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        end = min(self._kind.rows, self.position + self._kind.a_poll)
        numbers = range(self.position, end)
        if not numbers:
            return None
        columns = [
            pa.chunked_array([pa.array([number % self._kind.key for number in numbers], pa.int32())]),
            pa.chunked_array([pa.array(list(numbers), pa.int64())]),
            pa.chunked_array([pa.array([number * 5000 for number in numbers], pa.timestamp("us", "UTC"))]),
        ]
        arrivals = pa.array([round(now * 1e6)] * len(numbers)).to_numpy()
        table = stamp(columns, self.schema, arrivals, self.position)
        self.position = end
        return table

    def next_arrival(self) -> float | None:
        return None

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    from headgate.connect.sources import SOURCES

    hg.register(Counted)
    yield
    del SOURCES["counted"]


QUERIES = {
    "sums": "ISTREAM(SELECT k, count(*) AS n, sum(v) AS total FROM a [RANGE 2 SECONDS SLIDE 1 SECOND] GROUP BY k)",
    "pairs": "ISTREAM(SELECT a.k, a.v AS av, b.v AS bv FROM a [RANGE 100 MILLISECONDS], b [RANGE 100 MILLISECONDS] "
    "WHERE a.v = b.v)",
    "few": "SELECT k, v FROM a WHERE v % 10 = 3",
}


def application(
    folder: Path, rows: int = ROWS, a_poll: int = ROWS, queries: dict[str, str] = QUERIES, **settings: Any
) -> hg.Application:
    settings.setdefault("checkpoint", {"path": str(folder / "state"), "interval": "1 hour"})
    app = hg.Application(slots=2, rehearse=False, folder=folder, **settings)
    for name in ("a", "b"):
        app.stream(name, "k INT, v BIGINT, t TIMESTAMP", source=Counted(rows=rows, a_poll=a_poll), time="t")
    for name, cql in queries.items():
        app.query(name, cql, sink=hg.sinks.Csv(path=f"{name}.csv"))
    return app


def written(folder: Path, query: str) -> Counter[tuple[str, ...]]:
    with (folder / f"{query}.csv").open() as file:
        lines = list(csv.reader(file))
    return Counter(map(tuple, lines[1:]))


@pytest.fixture(scope="module")
def undisturbed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[tuple[str, ...]]]:
    """What every query gives in a run without an interruption."""
    from headgate.connect.sources import SOURCES

    hg.register(Counted)
    folder = tmp_path_factory.mktemp("undisturbed")
    application(folder, checkpoint=None).run(until_idle=True, spark=spark)
    del SOURCES["counted"]
    return {name: written(folder, name) for name in QUERIES}


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.01)


def given(run: hg.Run) -> float:
    return run.report().queries["few"].outputs


def crash(folder: Path, spark: Any, **settings: Any) -> None:
    """Leave everything as a crash would that comes some time after a checkpoint."""
    run = application(folder, a_poll=SLOWLY, **settings).start(spark)
    wait_for(lambda: given(run) >= 40)
    run.checkpoint()
    kept = folder / "kept"
    shutil.copytree(folder / "state", kept)
    at = given(run)
    wait_for(lambda: given(run) >= at + 40 or run.wait(0.0))
    run.stop()  # writes a last checkpoint, which is lost
    shutil.rmtree(folder / "state")
    kept.rename(folder / "state")


def test_after_a_crash_nothing_is_lost_or_repeated(
    spark: Any, tmp_path: Path, undisturbed: dict[str, Counter[tuple[str, ...]]]
) -> None:
    crash(tmp_path, spark)
    crash(tmp_path, spark)
    report = application(tmp_path).run(until_idle=True, spark=spark)
    for name, wanted in undisturbed.items():
        assert written(tmp_path, name) == wanted, name
    found = report.to_dict()["checkpoints"]
    assert found["resumed_from"]
    assert found["taken"] == 1  # at the end


def test_a_run_that_ended_goes_on_from_its_end(spark: Any, tmp_path: Path) -> None:
    application(tmp_path, rows=500).run(until_idle=True, spark=spark)
    before = {name: written(tmp_path, name) for name in QUERIES}
    report = application(tmp_path, rows=500).run(until_idle=True, spark=spark)
    assert {name: written(tmp_path, name) for name in QUERIES} == before
    assert report.queries["few"].outputs == 0


def largest_in_each_second() -> dict[int, set[tuple[str, ...]]]:
    """By second, the largest `v` of `few` for each `k`."""
    found: dict[int, dict[int, int]] = {}
    for number in range(3, ROWS, 10):
        found.setdefault(number * 5000 // 1_000_000, {})[number % 7] = number
    return {second: {(str(k), str(v)) for k, v in rows.items()} for second, rows in found.items()}


@pytest.mark.nightly
def test_a_query_that_joined_goes_on_too(spark: Any, tmp_path: Path) -> None:
    """It reads another one, and has operators and state of its own, which begin where it joined."""
    joined = "ISTREAM(SELECT k, max(v) AS v FROM few [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k)"
    sink = hg.sinks.Csv(path="joined.csv")
    with application(tmp_path, a_poll=SLOWLY).start(spark) as run:
        wait_for(lambda: given(run) >= 40)
        run.add_query("joined", joined, sink=sink)
        wait_for(lambda: run.report().queries["joined"].inputs > 500)
        run.checkpoint()
        kept = tmp_path / "kept"
        shutil.copytree(tmp_path / "state", kept)
        wait_for(lambda: run.report().queries["joined"].inputs > 1500 or run.wait(0.0))
    shutil.rmtree(tmp_path / "state")
    kept.rename(tmp_path / "state")
    app = application(tmp_path)
    app.query("joined", joined, sink=sink)
    app.run(until_idle=True, spark=spark)
    found, wanted = written(tmp_path, "joined"), largest_in_each_second()
    assert set(found.values()) == {1}
    first = min(int(v) for _, v in found) * 5000 // 1_000_000
    whole = [wanted[second] for second in range(first + 1, max(wanted))]
    assert set().union(*whole) <= found.keys() <= set().union(*wanted.values(), wanted[first])
    assert len(whole) > 10


def test_an_application_that_has_changed_is_refused_or_starts_over(
    spark: Any, tmp_path: Path, undisturbed: dict[str, Counter[tuple[str, ...]]], caplog: pytest.LogCaptureFixture
) -> None:
    crash(tmp_path, spark)
    before = {name: written(tmp_path, name) for name in QUERIES}
    changed = {**QUERIES, "few": "SELECT k, v FROM a WHERE v % 10 = 4"}
    with pytest.raises(ApplicationError, match=r"queries.few: .*v % 10 = 3.*v % 10 = 4"):
        application(tmp_path, queries=changed).run(until_idle=True, spark=spark)
    assert {name: written(tmp_path, name) for name in QUERIES} == before, "its files are left alone"
    with caplog.at_level(logging.WARNING):
        report = application(tmp_path).run(until_idle=True, spark=spark, fresh=True)
    assert "starting over: the 1 checkpoints" in caplog.text
    assert report.to_dict()["checkpoints"]["resumed_from"] is None
    assert {name: written(tmp_path, name) for name in QUERIES} == undisturbed


@pytest.mark.nightly
def test_on_a_file_system_of_hadoop(
    spark: Any, tmp_path: Path, undisturbed: dict[str, Counter[tuple[str, ...]]]
) -> None:
    settings = {"path": (tmp_path / "state").as_uri(), "interval": "0.5 s"}
    crash(tmp_path, spark, checkpoint=settings)
    report = application(tmp_path, checkpoint=settings).run(until_idle=True, spark=spark)
    assert report.to_dict()["checkpoints"]["resumed_from"]
    assert {name: written(tmp_path, name) for name in QUERIES} == undisturbed
