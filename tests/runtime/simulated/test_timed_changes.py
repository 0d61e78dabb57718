"""What happens at given times: changed priorities and selectivities."""

import pytest

from headgate.application.checked import Change, RunLimits
from headgate.policies.mbd import MultiBroadcastDisk
from headgate.policies.registry import POLICIES
from headgate.policies.wehr import WeightedHighestRate
from headgate.runtime.simulated import simulate
from tests.conformance.plans import feeder, make_app, make_plan, project, select, union

IDLE = RunLimits(until_idle=True)


def two_classes(rate=9.0, rows=200):
    operators = [project("a/x", "s", 0.1), project("b/x", "t", 0.1)]
    streams = {"s": feeder(rate, rows), "t": feeder(rate, rows)}
    return make_plan(streams, operators, {"a": "a/x", "b": "b/x"}, {"one": 2, "two": 1}, {"a": "one", "b": "two"})


def test_a_changed_priority_is_followed():
    """Overload: wehr serves the important class as it arrives. From 10 s on that is the other class."""
    app = make_app(two_classes(), "wehr", changes=(Change(10.0, {"two": 9}),))
    found = simulate(app, IDLE, trace=True)
    assert (
        max(event.time - event.arrival for event in found.trace.results if event.time < 10.0 and event.query == "a") < 2
    )
    assert {event.query for event in found.trace.results if 10.5 < event.time < 15.0} == {"b"}
    assert found.report["classes"]["two"]["priority"] == 9
    course = found.report["course"]  # the backlog of `two` is an inversion only once `two` is the important class
    inverted = [at for at, ratio in zip(course["times"], course["inversion"], strict=True) if ratio]
    assert min(inverted) >= 10.0 - course["bucket"]


def test_changes_come_at_their_time_between_arrivals(monkeypatch):
    """Neither earlier nor later, even while a long call runs and while nothing happens."""
    seen = []
    original = WeightedHighestRate.worths

    def worths(self):
        seen.append((self.view.now, dict(self.view.priorities)))
        return original(self)

    monkeypatch.setattr(WeightedHighestRate, "worths", worths)
    changes = (Change(3.0, {"one": 7}), Change(1.03, {"two": 5}))
    simulate(make_app(two_classes(2.0, 10), "wehr", changes=changes), IDLE)
    first = {tuple(priorities.values()): now for now, priorities in reversed(seen)}
    assert list(first)[::-1] == [(2, 1), (2, 5), (7, 5)]
    assert first[(2, 5)] >= 1.03
    assert first[(7, 5)] >= 3.0


def test_a_change_after_the_end_does_not_prolong_the_run():
    app = make_app(two_classes(2.0, 10), "wehr", changes=(Change(100.0, {"one": 7}),))
    assert simulate(app, IDLE).report["seconds"] < 10.0


def passing(policy="mrr", **more):
    plan = make_plan({"s": feeder(100.0, 1000)}, [select("q/s", "s", 0.001, 1.0)], {"q": "q/s"})
    profile = {"q/s": [(0.0, 1.0), (5.0, 0.25)]}
    return make_app(plan, policy, simulator={"selectivities": profile}, **more)


def test_a_selectivity_changes_with_the_arrival_of_tuples():
    found = simulate(passing(), IDLE, trace=True).trace.results
    before = [event for event in found if event.arrival < 5.0]
    assert len(before) == 499
    assert len(found) - len(before) == pytest.approx(125, abs=35)
    assert [event[2:] for event in found] == [
        event[2:] for event in simulate(passing("rb", slots=2), IDLE, trace=True).trace.results
    ]


def test_the_measured_selectivity_of_a_union_holds_for_each_input(monkeypatch):
    """The cost of a query follows from how many tuples reach the operators behind the union."""
    operators = [union("q/u", "s", "t", cost=0.001), project("q/x", "q/u", 0.001)]
    plan = make_plan({"s": feeder(50.0, 500), "t": feeder(50.0, 500)}, operators, {"q": "q/x"})
    profile = {"q/u": [(0.0, 1.0), (5.0, 0.25)]}
    costs = {}

    class RecordingMbd(MultiBroadcastDisk):
        def round_ended(self):
            self.costs.adopt()
            costs[self.view.now] = self.costs.seconds["q"]

    monkeypatch.setitem(POLICIES, "mbd", RecordingMbd)
    parameters = {"fixed_costs": "ignored"}
    simulate(make_app(plan, "mbd", parameters, simulator={"selectivities": profile}), IDLE)
    assert {round(cost, 6) for now, cost in costs.items() if now < 5.0} == {0.004}
    assert next(cost for now, cost in costs.items() if now > 8.0) == pytest.approx(0.0025, abs=0.0003)


def test_policies_see_measured_selectivities(monkeypatch):
    seen = {}

    class RecordingMbd(MultiBroadcastDisk):
        def round_ended(self):
            seen[self.view.now] = self.view.stats("q/s").selectivity

    monkeypatch.setitem(POLICIES, "mbd", RecordingMbd)
    simulate(passing("mbd"), IDLE)
    assert all(passed == 1.0 for now, passed in seen.items() if now < 5.0)
    assert next(passed for now, passed in seen.items() if now > 8.0) == pytest.approx(0.25, abs=0.1)
