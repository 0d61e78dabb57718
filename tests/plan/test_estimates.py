"""Rates, sizes and selectivities that follow from declared values."""

import pytest

import headgate as hg
from headgate.application.checked import CheckedApplication
from headgate.application.document import Document
from headgate.application.explain import AssumedStats, explain
from headgate.metrics.stats import DeclaredStats, SideStats
from headgate.plan.estimates import estimate
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.plan.paths import find_paths
from headgate.scheduling.segments import path_cost, path_steps
from tests.applications import application

STREAMS = {
    "a": {"schema": "k INT, x INT", "source": hg.sources.Feeder(rate=40)},
    "b": {"schema": "k INT, y INT", "source": hg.sources.Feeder(rate=100)},
}


def app_of(*operators: str) -> CheckedApplication:
    """The query q of operators as a file has them, without the braces."""
    return application(STREAMS, {"q": [Document(f"{{{operator}}}").data for operator in operators]}).checked()


def plan_of(*operators: str) -> Plan:
    return app_of(*operators).plan


HALF = 'id: half, kind: select, input: b, where: "y > 1", selectivity: 0.5'
JOIN = "id: j, kind: join, inputs: [a, half], on: k, "


def test_a_join_by_the_probability_of_a_match() -> None:
    """A row of `a` meets 50/s * 3 s = 150 rows, a row of `half` 40/s * 2 s = 80; one in a hundred matches."""
    plan = plan_of(HALF, JOIN + "windows: [RANGE 2 SECONDS, RANGE 3 SECONDS], match: 0.01")
    found = estimate(plan)
    assert found.rates[Port("q/half")] == 50.0
    assert [found.rows_held[Edge("q/j", side)] for side in (0, 1)] == [80.0, 150.0]
    sides = DeclaredStats(plan).of("q/j").sides
    assert [side.selectivity for side in sides] == pytest.approx([1.5, 0.8])
    assert found.rates[Port("q/j")] == pytest.approx(40 * 50 * 0.01 * (2 + 3))
    assert DeclaredStats(plan).of("q/j").selectivity == pytest.approx(40 * 50 * 0.01 * 5 / 90)


def test_rows_windows_hold_a_fixed_number() -> None:
    plan = plan_of(HALF, JOIN + "windows: [ROWS 10, ROWS 20], match: 0.5")
    assert [side.selectivity for side in DeclaredStats(plan).of("q/j").sides] == [10.0, 5.0]


def test_a_join_of_a_join() -> None:
    """The first join holds 0.1 * 40 * 100 = 400 pairs and yields 0.1 * (40 * 100 + 100 * 40) = 800 per second."""
    plan = plan_of(
        "id: j, kind: join, inputs: [a, b], on: k, window: RANGE 1 SECOND, match: 0.1",
        'id: c, kind: project, input: a, columns: {z: "x + 1"}',
        "id: more, kind: join, inputs: [j, c], windows: [null, RANGE 1 SECOND], match: 0.01",
    )
    found = estimate(plan)
    assert found.rates[Port("q/j")] == pytest.approx(800.0)
    assert found.rows_held[Edge("q/more", 0)] == pytest.approx(400.0)
    assert found.rates[Port("q/more")] == pytest.approx(0.01 * (800 * 40 + 40 * 400))


def test_declared_selectivities_win_and_unknown_ones_stay_unknown() -> None:
    plan = plan_of(HALF, JOIN + "window: RANGE 2 SECONDS, selectivities: [3, 0.25]")
    assert [side.selectivity for side in DeclaredStats(plan).of("q/j").sides] == [3.0, 0.25]
    plan = plan_of(HALF, JOIN + "window: RANGE 2 SECONDS")
    assert DeclaredStats(plan).of("q/j").sides == (SideStats(), SideStats())
    assert AssumedStats(plan).of("q/j").sides == (SideStats(None, 1.0), SideStats(None, 1.0))


def test_unbounded_windows_have_no_size() -> None:
    plan = plan_of(HALF, JOIN + "windows: [RANGE 2 SECONDS, RANGE UNBOUNDED], match: 0.01")
    assert AssumedStats(plan).of("q/j").sides == (SideStats(None, None), SideStats(None, 0.8))


def test_a_path_uses_the_numbers_of_the_side_it_enters() -> None:
    plan = plan_of(
        HALF + ", cost: 1 s",
        JOIN + "window: RANGE 2 SECONDS, selectivities: [3, 0.25], costs: [10 s, 20 s]",
        'id: out, kind: select, input: j, where: "x > 1", cost: 100 s, selectivity: 1',
    )
    stats = AssumedStats(plan)
    # The last step is `changes`, whose cost is not declared.
    costs = {path.stream: path_cost(path_steps(plan, stats, path)[:-1]) for path in find_paths(plan)}
    assert costs == pytest.approx({"a": 10 + 3 * 100, "b": 1 + 0.5 * 20 + 0.5 * 0.25 * 100})


def test_explain_shows_both_sides() -> None:
    windows = "windows: [RANGE 2 SECONDS, RANGE 3 SECONDS]"
    explained = explain(app_of(HALF, JOIN + windows + ", match: 0.01, costs: [10us, 20us]"))
    join = next(o for o in explained["queries"]["q"]["operators"] if o["id"] == "q/j")
    assert join["sides"] == [
        {"input": "a", "cost": 10e-6, "selectivity": pytest.approx(1.5), "assumed": False},
        {"input": "q/half", "cost": 20e-6, "selectivity": pytest.approx(0.8), "assumed": False},
    ]
