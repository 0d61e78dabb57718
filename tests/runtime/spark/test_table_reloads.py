"""Tables that change while a run goes on: each tuple meets the version of its arrival, whatever the schedule."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headgate as hg
from headgate.application.checked import PolicySettings
from headgate.errors import ApplicationError
from headgate.runtime.spark.calls.table_versions import VALID_FROM, VALID_UNTIL, TableVersions
from tests.conformance.choices import CHOSEN, label
from tests.tiers import only_nightly

SCHEMA = "k INT, v STRING"
FEW = [choice for choice in CHOSEN if label(choice) in ("fifo-operator", "rr-path", "mbd")]
CHANGES = 4


def version(name: str) -> pa.Table:
    return pa.table({"k": [1], "v": [name]})


@given(gaps=st.lists(st.integers(1, 20), max_size=5), arrivals=st.lists(st.integers(0, 100)), cut=st.integers(0, 100))
def test_a_tuple_meets_one_version_and_no_version_is_forgotten_too_early(
    gaps: list[int], arrivals: list[int], cut: int
) -> None:
    versions, since, expected = TableVersions.first(version("v0")), 0, {}
    starts = [-1]
    for number, gap in enumerate(gaps, start=1):
        since += gap
        versions = versions.followed_by(version(f"v{number}"), since)
        starts.append(since)
    for arrival in arrivals:
        expected[arrival] = f"v{max(at for at, start in enumerate(starts) if start <= arrival)}"
    for kept, needed in ((versions, arrivals), (versions.from_on(cut), [one for one in arrivals if one >= cut])):
        rows = kept.content().to_pylist()
        for arrival in needed:
            assert [row["v"] for row in rows if row[VALID_FROM] <= arrival < row[VALID_UNTIL]] == [expected[arrival]]
    assert versions.from_on(cut).newest == version(f"v{len(gaps)}")


def write(path: Path, number: int) -> None:
    aside = path.with_suffix(".new")
    aside.write_text(f"k,v\n1,v{number}\n")
    aside.replace(path)


def application(folder: Path, **settings: Any) -> hg.Application:
    app = hg.Application(folder=folder, rehearse=False, **settings)
    app.stream("s", "k INT")
    app.table("names", {"kind": "csv", "path": "names.csv", "schema": SCHEMA, "reload": 0.02})
    return app


@pytest.mark.spark
@pytest.mark.parametrize("policy", only_nightly(CHOSEN, FEW), ids=label)
def test_each_tuple_meets_the_version_of_its_arrival(
    spark: Any, tmp_path: Path, policy: PolicySettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "headgate.spark")
    names = tmp_path / "names.csv"
    write(names, 0)
    app = application(tmp_path, policy={"name": policy.name, **policy.parameters}, slots=2)
    for query in ("one", "two"):
        cql = f"SELECT s.k, n.v, '{query}' AS q FROM s, names AS n WHERE s.k = n.k"
        app.query(query, cql, sink=hg.sinks.Memory(format="changes"))
    pushed = 0
    with app.start() as run:
        for number in range(1, CHANGES + 1):
            write(names, number)
            until = time.monotonic() + 30.0
            while caplog.text.count("table names has") < number:
                pushed += run.push("s", [(1,)] * 5)
                assert time.monotonic() < until
                time.sleep(0.003)
            pushed += run.push("s", [(1,)] * 5)
            time.sleep(0.08)
        pushed += run.push("s", [(1,)])
        assert run.drain(60.0)
        found = {query: run.results(query).to_arrow().to_pylist() for query in ("one", "two")}
    starts = [0, *(round(float(text) * 1e6) for text in re.findall(r"tuples from ([0-9.]+) s on", caplog.text))]
    assert len(starts) == CHANGES + 1
    for rows in found.values():
        assert len(rows) == pushed
        for row in rows:
            assert row["v"] == f"v{max(at for at, start in enumerate(starts) if start <= row['time'])}", row
        assert {row["v"] for row in rows} == {f"v{number}" for number in range(CHANGES + 1)}


@pytest.mark.spark
def test_a_table_that_cannot_be_read_again_keeps_its_rows(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = tmp_path / "names.csv"
    write(names, 0)
    app = application(tmp_path)
    app.query("one", "SELECT s.k, n.v FROM s LEFT JOIN names AS n ON s.k = n.k")
    with app.start() as run:
        names.unlink()
        until = time.monotonic() + 30.0
        while "cannot be read again" not in caplog.text:
            assert time.monotonic() < until
            time.sleep(0.01)
        run.push("s", [(1,), (2,)])
        assert run.drain(60.0)
        assert run.results("one").to_arrow().to_pylist() == [{"k": 1, "v": "v0"}, {"k": 2, "v": None}]


@pytest.mark.spark
def test_a_query_that_joins_later_meets_the_same_versions(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "names.csv", 0)
    app = application(tmp_path)
    app.query("first", "SELECT s.k, n.v FROM s, names AS n WHERE s.k = n.k")
    with app.start(stay_open=True) as run:
        run.push("s", [(1,)])
        assert run.drain(60.0)
        run.add_query("second", "SELECT n.v, s.k FROM s, names AS n WHERE s.k = n.k")
        write(tmp_path / "names.csv", 1)
        until = time.monotonic() + 30.0
        while "v1" not in run.results("second").to_arrow().column("v").to_pylist():
            assert time.monotonic() < until
            run.push("s", [(1,)])
            assert run.drain(60.0)
        first, second = (run.results(name).to_arrow().column("v").to_pylist() for name in ("first", "second"))
    assert first[1:] == second


def test_a_join_after_a_window_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "names.csv", 0)
    app = application(tmp_path)
    counts = "SELECT n.v, count(*) AS c FROM s [RANGE 10 SECONDS] AS s, names AS n WHERE s.k = n.k GROUP BY n.v"
    app.query("counts", counts)
    app.query("now", "ISTREAM(SELECT n.v FROM s [NOW] AS s, names AS n WHERE s.k = n.k)")
    with pytest.raises(ApplicationError, match="is read again") as refused:
        app.query("late", "SELECT n.v FROM s [ROWS 5] AS s, names AS n WHERE s.k = n.k")
    assert refused.value.place == "queries.late"
