"""master: queries with different policies take turns; each policy sees only its own queries."""

import pytest

from headgate.application.checked import PolicySettings, RunLimits
from headgate.policies.registry import POLICIES, make_policy
from headgate.runtime.simulated import simulate
from headgate.scheduling.policy import PolicyError
from tests.conformance.plans import feeder, make_app, make_plan, project, select, union
from tests.policies.boards import PolicyHarness

LIMITS = RunLimits(until_idle=True)


def plan_of(policies, rate=40.0, rows=60):
    """One query of two operators for each policy; None: the application's."""
    operators, streams, roots = [], {}, {}
    for number in range(len(policies)):
        name = f"q{number}"
        streams[f"s{number}"] = feeder(rate, rows)
        operators += [project(f"{name}/a", f"s{number}", 0.004), select(f"{name}/b", f"{name}/a", 0.003, 0.5)]
        roots[name] = f"{name}/b"
    plan = make_plan(streams, operators, roots)
    for number, policy in enumerate(policies):
        plan = plan.with_policy(f"q{number}", None if policy is None else PolicySettings(policy))
    return plan


def results(plan, policy="fifo", **more):
    found = simulate(make_app(plan, policy, **more), LIMITS, trace=True)
    return sorted((one.query, one.arrival, one.key) for one in found.trace.results)


def test_a_query_with_a_policy_of_its_own_brings_the_master():
    assert make_policy("rr", {}, plan_of([None, None])).name == "rr"
    assert make_policy("rr", {}, plan_of([None, "hr"])).name == "master"


def test_each_scheduler_has_units_of_its_own_kind():
    harness = PolicyHarness(plan_of([None, "hr", "fifo"]), "master", default={"name": "rr", "unit": "query"})
    assert [(unit.id, unit.part, unit.index) for unit in harness.board.units] == [
        ("q0", 0, 0),
        ("q1/a", 1, 0),
        ("q1/b", 1, 1),
        (harness.board.units[3].id, 2, 0),
    ]
    assert harness.board.units[3].operators == ("q2/a", "q2/b")
    explained = harness.policy.explain()["schedulers"]
    assert [(one["policy"], one["queries"]) for one in explained] == [("rr", ["q0"]), ("hr", ["q1"]), ("fifo", ["q2"])]


def test_schedulers_take_turns_as_long_as_their_operators_that_are_ready():
    """Two parts; the second has two queries with input, so its turn is twice as long."""
    harness = PolicyHarness(plan_of([None, "fifo", "fifo"]), "master", quantum=1.0)
    for name in ("q0", "q1", "q2"):
        harness.feed(f"{name}/a", *[0.0] * 20)
    turns = []
    for _ in range(12):
        decision = harness.run()
        turns.append(decision.unit.part)
        harness.board.now += 1.0
    # part 1 has two ready units of two operators each: four quanta; part 0 has one ready operator: one quantum
    assert turns[:10] == [1, 1, 1, 1, 0, 1, 1, 1, 1, 0]


def test_a_turn_ends_early_when_nothing_is_ready():
    harness = PolicyHarness(plan_of([None, "fifo"]), "master", quantum=100.0)
    harness.feed("q1/a", 0.0)
    harness.feed("q0/a", 0.0)
    assert [harness.run().unit.part for _ in range(2)] == [1, 0]
    assert harness.run() is None


@pytest.mark.parametrize("slots", [1, 3])
def test_any_mix_of_policies_gives_the_same_results(slots):
    names = [name for name in sorted(POLICIES) if name not in ("master", "pct", "pct-s")]
    expected = results(plan_of([None] * 4), slots=slots)
    for first in range(0, len(names), 3):
        mix = [None, *names[first : first + 3]]
        mix += [None] * (4 - len(mix))
        assert results(plan_of(mix), slots=slots) == expected, mix


def test_queries_that_share_operators_may_have_different_policies():
    operators = [project("a/x", "s", 0.002), select("a/y", "a/x", 0.003, 0.5), select("b/z", "a/x", 0.004, 0.5)]
    operators += [union("b/u", "b/z", "t", cost=0.001)]
    plan = make_plan({"s": feeder(60.0, 80), "t": feeder(30.0, 40)}, operators, {"a": "a/y", "b": "b/u"})
    expected = results(plan)
    for mine, theirs in (("hr", "chain"), ("mbd", "rr"), ("segment", "pcs"), ("prb", "fifo")):
        mixed = plan.with_policy("a", PolicySettings(mine)).with_policy("b", PolicySettings(theirs))
        assert results(mixed) == expected
        assert results(mixed, slots=2) == expected


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"default": "master"}, "must be another policy"),
        ({"default": "nothing"}, "no policy 'nothing'"),
        ({"default": 7}, "does not name a policy"),
        ({"quantum": 0}, "quantum"),
    ],
)
def test_wrong_parameters_are_refused(parameters, said):
    with pytest.raises(PolicyError, match=said):
        make_policy("master", parameters)


def test_a_query_cannot_have_the_master_as_its_own():
    plan = plan_of(["master"])
    with pytest.raises(PolicyError, match="'q0' cannot have"):
        PolicyHarness(plan, "master")
