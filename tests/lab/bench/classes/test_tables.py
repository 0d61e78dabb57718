"""The tables that `bench classes` prints."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from headgate.cli.main import app
from headgate_lab.bench import classes
from headgate_lab.bench.classes import comparison
from headgate_lab.bench.classes.comparison import compare, headline
from headgate_lab.bench.classes.measured import Served, summary
from headgate_lab.bench.classes.stock import VARIANTS
from headgate_lab.bench.classes.stolen import Stolen
from headgate_lab.bench.classes.tables import tables
from headgate_lab.bench.classes.workload import PRIORITIES, Workload
from tests.lab.bench.classes.test_comparison import measured, sides


def with_trains(figures):
    trains = {name: {"calls": 40, "tuples_a_call": 1234.5} for name in list(PRIORITIES)[:2]}
    return {**figures, "details": {"trains": {**trains, "class3": {"calls": 0, "tuples_a_call": None}}}}


@pytest.fixture
def result(monkeypatch):
    monkeypatch.setattr(comparison, "stolen_time", lambda: nullcontext(Stolen(0.0)))
    names = ("heavy", "medium", "easy")
    found = {name: compare(sides(), Workload(name, 3, 1.0, 1.0), 1) for name in names}
    return {
        **headline(found),
        "workloads": found,
        "limit": {"mbd": with_trains(found["heavy"]["mbd"])},
        "highest_rate_by_way": {"mbd": 2000.0},
        "scaling": {"5": {"mbd": found["easy"]["mbd"]}},
        "changed_priorities": {"seconds_to_follow": 1.5, "mean_before": {"class1": 0.25, "class3": None}},
        "source_of_stock": {"batch_ms": 12.0},
        "settings": {
            "priorities": PRIORITIES,
            "queries": dict.fromkeys(names, 3),
            "rates": dict.fromkeys((*names, "limit"), 1500.0),
        },
    }


def test_every_way_of_stock_has_its_row(result):
    heavy, *others = tables(result)
    assert heavy.title == "heavy: 3 queries at 1,500 tuples/s each"
    assert [row[0] for row in heavy.rows] == [
        "stock fifo",
        *(f"stock fair, {name}" + " (best)" * (name == "minshare") for name in VARIANTS),
        *comparison.POLICIES,
    ]
    assert heavy.rows[-1][1:4] == ["100 ms, 100 ms, 100 ms", "200 ms, 200 ms, 200 ms", "300 ms, 300 ms, 300 ms"]
    assert heavy.rows[-1][4] == "100.0, 100.0, 100.0"
    assert all(len(row) == len(one.columns) for one in (heavy, *others) for row in one.rows)
    rows = [list(row) for one in others for row in one.rows]
    assert ["mean_before", "class1 0.25, class3 -"] in rows
    assert ["mbd", "1,234 (40)", "1,234 (40)", "- (0)"] in rows


def test_unknown_values_are_dashes(result):
    nothing = measured([1.0, 2.0, 3.0])
    nothing = replace(
        nothing,
        classes={**nothing.classes, "class3": {"q": Served(nothing.classes["class3"]["q"].latencies[:0], 0, 0)}},
    )
    result["scaling"]["5"]["mbd"] = summary(nothing)
    (row,) = next(one for one in tables(result) if one.title == "growing numbers of queries").rows
    assert row[3] == "-, -, -"


def test_the_command_prints_them(result, monkeypatch):
    monkeypatch.setattr(classes, "run", lambda quick: result)
    shown = CliRunner().invoke(app, ["bench", "classes"], env={"COLUMNS": "200"}).stdout
    assert "class1 speedup heavy" in shown
    assert all(fragment in shown for fragment in ("minshare", "(best)", "class3 -"))
    assert "workloads" not in shown
