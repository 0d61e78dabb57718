"""Where a query is shed, by place weights, and in which steps (T9 and T10 of the MavStream specification)."""

from dataclasses import replace

import pytest

from headgate.application.checked import RunLimits
from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.load import Room
from headgate.qos.monitoring import Monitoring
from headgate.qos.settings import OptimizerSettings
from headgate.qos.shedding import Place, SheddingSteps, declared_rates, place_weights, places_of
from headgate.runtime.simulated import simulate
from tests.conformance.plans import feeder, make_app, make_plan, project, select, union

COSTS, PASSED = (1e-4, 2e-4, 5e-4), (0.2, 0.5, 0.8)


@pytest.mark.parametrize(
    ("test_s", "weights"),
    [(1e-5, (0.09, 0.07, 0.04)), (2e-5, (-0.01, 0.05, 0.03)), (1e-4, (-0.81, -0.11, -0.05))],
)
def test_t9_place_weights(test_s, weights):
    assert place_weights(1000.0, COSTS, PASSED, 0.1, test_s) == pytest.approx(weights)


def tolerant(plan, query, tolerance):
    changed = replace(plan.queries[query], tolerance=tolerance)
    return replace(plan, queries={**plan.queries, query: changed})


def chain(tolerance=0.1):
    names = ("q/a", "q/b", "q/c")
    sources = ("s", *names)
    operators = [select(*of) for of in zip(names, sources, COSTS, PASSED, strict=False)]
    return tolerant(make_plan({"s": feeder(1000.0)}, operators, {"q": "q/c"}), "q", tolerance)


def places(plan, test_s, query="q"):
    stats = DeclaredStats(plan)
    found = places_of(plan, plan.queries[query], stats, declared_rates(plan), plan.edges, test_s)
    return [place.edge.operator for place in found]


def test_the_place_with_the_largest_weight_is_taken_and_none_if_no_place_pays():
    assert places(chain(), 1e-5) == ["q/a"]
    assert places(chain(), 2e-5) == ["q/b"]
    assert places(chain(), 1e-4) == []
    assert places(chain(None), 1e-5) == []


def two_streams():
    operators = [project("q/a", "s", 0.001), project("q/b", "t", 0.005), union("q/u", "q/a", "q/b", cost=0.001)]
    return tolerant(make_plan({"s": feeder(10.0), "t": feeder(10.0)}, operators, {"q": "q/u"}), "q", 0.3)


def test_one_place_on_each_path_the_best_first():
    assert places(two_streams(), 1e-9) == ["q/b", "q/a"]


def test_a_place_behind_the_meeting_of_two_paths_serves_both():
    """Tests are so expensive that only the union is worth one: it is the rest of both paths."""
    plan = two_streams()
    cheap = [replace(one, declared=replace(one.declared, cost_s=0.0)) for one in plan.operators.values()][:2]
    plan = replace(plan, operators={**plan.operators, **{one.id: one for one in cheap}})
    assert places(plan, 1e-9) in (["q/a", "q/b"], ["q/b", "q/a"])
    only_behind = [edge for edge in plan.edges if edge.operator == "q/u"]
    found = places_of(plan, plan.queries["q"], DeclaredStats(plan), declared_rates(plan), only_behind, 1e-9)
    assert [place.edge for place in found] == [Edge("q/u", 0), Edge("q/u", 1)]


def test_steps_go_up_place_by_place_and_down_in_reverse():
    steps = SheddingSteps([Place(Edge("a", 0), 2.0, 0.5), Place(Edge("b", 0), 1.0, 0.1)], steps=2)
    ups = [steps.more(None) for _ in range(4)]
    assert [(one.edge.operator, one.extra) for one in ups] == [("a", 32), ("a", 64), ("b", 4), ("b", 7)]
    assert steps.more(None) is None
    downs = [steps.less() for _ in range(4)]
    assert [(one.edge.operator, one.extra) for one in downs] == [("b", 4), ("b", 0), ("a", 32), ("a", 0)]
    assert not steps.active
    assert steps.less() is None
    assert ups[1].after == pytest.approx(0.5)


def test_as_many_steps_at_once_as_the_load_asks_for():
    steps = SheddingSteps([Place(Edge("a", 0), 1.0, 0.5)], steps=4, room=lambda: Room(0.01, 1.0))
    assert steps.more(80.0).after == pytest.approx(0.2, abs=0.01)  # 0.8 of a slot: one step will do
    assert steps.less() is not None
    assert steps.more(115.0).after == pytest.approx(0.43, abs=0.01)  # 1.15 need 0.39 dropped, to drain
    assert not steps.could_be_less(150.0)
    assert steps.could_be_less(100.0)
    assert steps.load(145.0) == pytest.approx(1.45)


def test_all_at_once_if_what_was_expected_to_do_did_not():
    place = Place(Edge("a", 0), 1.0, 0.5)
    steps = SheddingSteps([place], steps=4, room=lambda: Room(0.01, 1.0))
    assert steps.more(80.0).after == pytest.approx(0.2, abs=0.01)
    assert steps.more(80.0, in_vain=True).after == pytest.approx(0.5)
    unknown = SheddingSteps([place], steps=4)
    assert [round(unknown.more(80.0, in_vain=True).after, 1) for _ in range(4)] == [0.2, 0.3, 0.4, 0.5]


def burst(tolerance, **more):
    """Twice the load for 20 s, of which 1.2 can be carried; latency at most 0.5 s."""
    source = feeder(60.0, None, changes=[[10.0, 2.0], [30.0, 1.0]])
    operators = [select("q/a", "s", 0.010, 1.0)]
    plan = tolerant(make_plan({"s": source}, operators, {"q": "q/a"}), "q", tolerance)
    latency = QosMeasure("latency", "must", QosGraph(((0.0, 0.5), (100.0, 0.5))))
    plan = replace(plan, queries={"q": replace(plan.queries["q"], qos=(latency,))})
    often = OptimizerSettings("none", monitoring=Monitoring(10, 0.5, 0.5))
    return simulate(make_app(plan, "fifo", optimizer=often, **more), RunLimits(seconds=60.0), trace=True)


def latencies(found, first, last):
    return [one.time - one.arrival for one in found.trace.results if first <= one.time < last]


def test_without_tolerance_latency_grows_and_recovers_and_nothing_is_lost():
    found = burst(None)
    assert max(latencies(found, 28, 31)) > 3.0
    assert max(latencies(found, 50, 60)) < 0.1
    assert found.report["queries"]["q"]["shed"] == 0


def test_with_tolerance_the_promise_is_kept_again_and_shedding_stops_after_the_burst():
    found = burst(0.3)
    assert max(latencies(found, 27, 30)) < 0.5
    query = found.report["queries"]["q"]
    assert 0 < query["shed"] <= 0.3 * query["inputs"]
    kinds = [one["kind"] for one in found.report["decisions"]]
    assert "shed more" in kinds
    assert kinds[-1] == "shed less"
    assert found.report["decisions"][-1]["to"] == 0.0
    assert found.report["shedding"] == [{"query": "q", "operator": "q/a", "tuples": query["shed"]}]
    counts = found.operators["q/a"]
    assert counts["in"] == counts["processed"] + counts["queued"] + counts["shed"]


def test_the_overload_is_seen_before_the_promise_is_broken():
    """The burst begins at 10 s. Each second leaves 0.2 s of work, so the promise of 0.5 s would last until 12.5 s."""
    found = burst(0.3)
    first = found.report["decisions"][0]
    assert first["kind"] == "shed more"
    assert 10.0 < first["at"] <= 12.5
    assert first["measured"]["latency"] < first["expected"]["latency"] == 0.5
    assert "120% of what can be processed arrives" in first["reason"]
    assert max(latencies(found, 10, 30)) < 0.6


def test_shedding_does_not_come_and_go():
    kinds = [one["kind"] for one in burst(0.3).report["decisions"]]
    assert kinds == sorted(kinds, reverse=True)  # "shed more" and then "shed less"


def test_the_same_seed_drops_the_same_tuples():
    first, second = burst(0.3), burst(0.3)
    assert first.report == second.report
    assert first.trace.results == second.trace.results
