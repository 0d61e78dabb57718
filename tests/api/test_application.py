"""Applications built in Python: checked as they are built, written to files, and read back."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.api.report import Report
from headgate.application.checked import CheckpointSettings
from headgate.application.load import Draft, load_application
from headgate.connect.sinks import MemorySink, NoneSink, make_sink
from headgate.connect.sources import source_of
from tests.application.apps import GOOD, write_app

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def small(**more: Any) -> hg.Application:
    app = hg.Application(**more)
    app.stream("s", "k INT, v DOUBLE", source=hg.sources.Feeder(rate=100, rows=50))
    return app


def test_importing_headgate_imports_nothing_heavy() -> None:
    heavy = "{'pyspark', 'pandas', 'matplotlib', 'pyarrow', 'pydantic', 'sqlglot', 'rich'}"
    code = f"import sys, headgate; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_exists() -> None:
    for name in hg.__all__:
        assert getattr(hg, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = hg.absent


def test_it_runs_in_the_simulator() -> None:
    app = small(slots=1)
    app.add_class("high", priority=4)
    app.query("q", "SELECT k FROM s WHERE v > 0.5", in_class="high")
    app.query("r", operators=[{"id": "a", "kind": "select", "input": "q", "where": "k > 3"}], in_class="high")
    report = app.simulate()
    assert report.classes["high"].priority == 4
    assert report.queries["r"].class_name == "high"
    assert report.queries["q"].inputs == 50
    assert report.runtime == "simulated"
    assert 0 < (report.queries["q"].latency.p95 or 0) < 1


@pytest.mark.parametrize(
    ("wrong", "fragments"),
    [
        (lambda a: a.query("q", "SELECT vv FROM s"), ["queries.q.cql: line 1, character 8", "did you mean 'v'?"]),
        (lambda a: a.query("q", "SELECT v FROM ss"), ["queries.q.cql: line 1", "did you mean 's'?"]),
        (lambda a: a.query("q", "SELECT v FROM s", in_class="c"), ["queries.q.class", "no class 'c'"]),
        (lambda a: a.query("q", "SELECT v FROM s", emit="never"), ["queries.q.emit", "'changes' or 'final'"]),
        (lambda a: a.query("q", "SELECT v FROM s", policy="rrr"), ["queries.q.policy", "did you mean 'rr'?"]),
        (lambda a: a.query("q"), ["queries.q", "is empty"]),
        (lambda a: a.query("q", "SELECT v FROM s", sink={"kind": "cvs"}), ["queries.q.sink.kind", "mean 'csv'?"]),
        (lambda a: a.stream("s", "k INT"), ["streams.s", "already one named"]),
        (lambda a: a.stream("t", "k WHAT"), ["streams.t.schema"]),
        (lambda a: a.stream("t", "k INT", time="at"), ["streams.t.time", "no column 'at'"]),
        (lambda a: a.stream("t", "k INT", source=hg.sources.Csv(path="x.csv")), ["streams.t.source.path", "no file"]),
        (lambda a: a.stream("t", "k INT", source={"kind": "feeder"}), ["streams.t.source", "'rate' is missing"]),
        (lambda a: a.add_class("c", priority=0), ["classes.c.priority", "above 0"]),
        (lambda a: a.table("t", 7), ["tables.t", "int has no rows"]),
        (lambda a: a.table("t", [{"a": 1}], "a STRING"), ["tables.t.rows[0], column a", "1 does not fit"]),
        (lambda a: a.table("t", "no.csv", "a INT"), ["tables.t.path", "no file"]),
        (lambda a: hg.Application(policy="rr:x"), ["policy", "no policy"]),
        (lambda a: hg.Application(policy={"name": "rr", "quantum": -1}), ["policy.quantum", "above 0"]),
        (lambda a: hg.sources.Feeder(rate=-1), ["Feeder.rate", "above 0"]),
        (lambda a: hg.sources.Push(memory="much"), ["Push.memory", "64 MB"]),
        (lambda a: hg.sinks.Csv(), ["Csv", "needs a 'path'"]),
    ],
)
def test_each_mistake_is_refused_by_the_call_that_makes_it(wrong: Callable[[Any], Any], fragments: list[str]) -> None:
    app = small()
    before = repr(app)
    with pytest.raises(hg.ApplicationError) as caught:
        wrong(app)
    assert all(fragment in str(caught.value) for fragment in fragments), caught.value
    assert repr(app) == before


def test_whole_applications_are_checked_when_they_are_used() -> None:
    app = small()
    with pytest.raises(hg.ApplicationError, match="'queries' is missing"):
        app.simulate()
    app.query("q", "SELECT k FROM s")
    app.add_class("a", priority=1)
    app.add_class("b", priority=2)
    with pytest.raises(hg.ApplicationError, match=r"queries\.q: the key 'class' is missing"):
        app.explain()


@pytest.mark.parametrize(
    "rows",
    [
        [{"user": "ann", "limit": 10.0}],
        pd.DataFrame({"user": ["ann"], "limit": [10.0]}),
        pa.table({"user": ["ann"], "limit": [10.0]}),
    ],
    ids=["dicts", "pandas", "arrow"],
)
def test_tables(rows: Any) -> None:
    app = hg.Application()
    app.table("users", rows)
    app.stream("c", "user STRING, price DOUBLE", source=hg.sources.Feeder(rate=10, rows=5))
    app.query("q", "SELECT c.user FROM c JOIN users u ON c.user = u.user WHERE c.price > u.`limit`")
    table = app.checked().plan.tables["users"]
    assert str(table.schema) == "user STRING, limit DOUBLE"
    assert app.explain().to_dict()["tables"]["users"]["source"] == {"kind": "rows", "count": 1}


def test_a_table_of_anything_with_to_arrow() -> None:
    class Frame:
        def toArrow(self) -> pa.Table:
            return pa.table({"k": [1, 2]})

    app = small()
    app.table("t", Frame())
    app.query("q", "SELECT s.v FROM s JOIN t ON s.k = t.k")
    assert str(app.checked().plan.tables["t"].schema) == "k BIGINT"


# Files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_written_as_they_were_read(path: Path, tmp_path: Path) -> None:
    for file in path.parent.glob("*.*"):
        shutil.copy(file, tmp_path)
    app = hg.load(path)
    (tmp_path / "again.yaml").write_text(app.to_yaml())
    assert hg.load(tmp_path / "again.yaml").checked().plan == app.checked().plan


def test_the_whole_file_survives_a_round_trip(tmp_path: Path) -> None:
    path = write_app(tmp_path, GOOD)
    first = hg.load(path)
    (tmp_path / "second.yaml").write_text(first.to_yaml())
    second = load_application(tmp_path / "second.yaml")
    for name in ("plan", "policy", "slots", "seed", "simulator", "spark", "checkpoint"):
        assert getattr(second, name) == getattr(first.checked(), name)


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1).filter(str.strip)


@settings(max_examples=60, deadline=None)
@given(
    text=words,
    rate=st.floats(1e-3, 1e6),
    rows=st.integers(0, 10**6),
    priority=st.integers(1, 2**31 - 1),
    slack=st.floats(0, 1e4),
    columns=st.sampled_from(["k INT", "`no` STRING, on DOUBLE", "t TIMESTAMP, v DECIMAL(10,2)"]),
)
def test_what_is_built_can_be_written_and_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    rate: float,
    rows: int,
    priority: int,
    slack: float,
    columns: str,
) -> None:
    app = hg.Application(slots=3, seed=rows, policy={"name": "fifo"})
    app.stream("s", columns, source=hg.sources.Feeder(rate=rate, rows=rows), slack=slack)
    app.add_class("only", priority=priority)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    app.query("q", f"SELECT '{quoted}' AS word FROM s", in_class="only", sink=hg.sinks.Memory(limit=5))
    file = tmp_path_factory.getbasetemp() / "built.yaml"
    file.write_text(app.to_yaml(), encoding="utf-8")
    again, first = hg.load(file).checked(), app.checked()
    assert (again.plan, again.policy, again.slots, again.seed) == (first.plan, first.policy, first.slots, first.seed)


def test_to_yaml_names_what_exists_only_in_python() -> None:
    app = small()
    app.table("t", pa.table({"k": [1]}))
    app.query("q", "SELECT k FROM s", sink=hg.sinks.Callback(function=print))
    with pytest.raises(hg.ApplicationError, match=r"tables\.t\.rows: a Table exists only in Python"):
        app.to_yaml()
    other = small()
    other.query("q", "SELECT k FROM s", sink=hg.sinks.Callback(function=print))
    with pytest.raises(hg.ApplicationError, match=r"queries\.q\.sink\.function"):
        other.to_yaml()


def test_load_takes_changes(tmp_path: Path) -> None:
    path = write_app(tmp_path, GOOD)
    assert hg.load(path, set={"slots": 1, "classes.normal.priority": 2}).checked().slots == 1
    assert hg.load(path, set=["policy=fifo"]).checked().policy.name == "fifo"
    with pytest.raises(hg.ApplicationError, match="set slots: slots: 0 is out of range"):
        hg.load(path, set={"slots": 0}).checked()


def test_errors_in_a_file_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = write_app(tmp_path, GOOD.replace("class: critical", "class: critcal"))
    with pytest.raises(hg.ApplicationError, match=r"app\.yaml:\d+: queries\.fire\.class"):
        hg.load(path).explain()


def test_warnings_are_logged_when_it_is_checked(caplog: pytest.LogCaptureFixture) -> None:
    app = small()
    app.query("q", "SELECT k, count(*) AS n FROM s GROUP BY k")
    with caplog.at_level(logging.WARNING, "headgate.plan"):
        app.checked()
    assert "queries.q.cql: GROUP BY" in caplog.text


# Values ----------------------------------------------------------------------------------------------------------


def test_a_pushed_stream_needs_someone_to_push() -> None:
    app = hg.Application()
    app.stream("s", "k INT")
    app.query("q", "SELECT k FROM s")
    with pytest.raises(hg.ApplicationError, match=r"streams\.s\.source: .*nobody can push"):
        app.run(until_idle=True)
    with pytest.raises(hg.ApplicationError, match=r"streams\.s\.source: .*cannot be simulated; give it a source"):
        app.simulate()


def test_settings_replaced_in_a_plan_take_effect() -> None:
    app = small()
    app.query("q", "SELECT k FROM s", sink=hg.sinks.Nothing())
    plan = app.checked().plan
    other = replace(plan.queries["q"], sink={"kind": "memory"})
    schema = plan.schemas[other.root]
    assert isinstance(make_sink(plan.queries["q"], schema, Path()), NoneSink)
    assert isinstance(make_sink(other, schema, Path()), MemorySink)
    stream = replace(plan.streams["s"], source={"kind": "feeder", "rate": 10, "rows": 3})
    assert [source_of(one).rows for one in (plan.streams["s"], stream)] == [50, 3]  # type: ignore[attr-defined]


def test_explanation() -> None:
    app = small()
    app.query("q", "SELECT k FROM s WHERE v > 0.5")
    found = app.explain(policy=True)
    assert found.to_dict()["schedule"]["policy"] == "rr"
    assert "q class default, to memory" in str(found)
    assert "<pre" in found._repr_html_()
    assert "v &gt; 0.5" in found._repr_html_()


def test_report() -> None:
    app = small()
    app.query("q", "SELECT k FROM s WHERE v > 0.5")
    report = app.simulate()
    data = report.to_dict()
    assert Report(data).to_dict() == data
    assert data["queries"]["q"]["latency"]["p95"] == report.queries["q"].latency.p95
    assert "weighted mean latency" in str(report)
    html = report._repr_html_()
    assert html.count("<pre") == 1
    assert html.count("<img") == 1
    assert report.plot("boxes").axes
    with pytest.raises(ValueError, match="use course or boxes"):
        report.plot("pie")  # type: ignore[arg-type]


def test_a_query_is_checked_with_only_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, building an application would take time quadratic in its size."""
    app = hg.Application()
    for number in range(5):
        app.stream(f"s{number}", "k INT")
        app.query(f"q{number}", f"SELECT k FROM s{number}")
    checked: list[dict[str, Any]] = []
    check = Draft.checked
    monkeypatch.setattr(Draft, "checked", lambda draft, data=None: (checked.append(data), check(draft, data))[1])
    app.query("next", "SELECT k FROM q3 WHERE k > 1")
    assert [(sorted(part["streams"]), sorted(part["queries"])) for part in checked] == [(["s3"], ["next", "q3"])]
    with pytest.raises(hg.ApplicationError, match="s9"):
        app.query("wrong", "SELECT k FROM s9")


def test_a_simulation_says_that_it_keeps_no_checkpoints(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    app = hg.Application(checkpoint={"path": "state", "interval": "1 s"}, folder=tmp_path)
    app.stream("s", "k INT", source=hg.sources.Feeder(rate=10, rows=5))
    app.query("q", "SELECT k FROM s")
    assert app.checked().checkpoint == CheckpointSettings("state", 1.0, 3)
    app.simulate()
    assert "a simulation neither writes checkpoints nor goes on from one" in caplog.text
    assert not (tmp_path / "state").exists()
