"""mbd, ambd: how slots walk the round and by which costs and priorities; mbd, mprr: changes of classes."""

import random
from collections import Counter
from fractions import Fraction

import pytest

from headgate.plan.model import Edge
from tests.conformance.plans import feeder, make_plan, project, select, union
from tests.policies.boards import TimedHarness
from tests.policies.test_class_based import queries

PLAIN = {"inversion": None, "selectivity": None}


def shared_plan():
    """q1 of gold and q2 of silver share an operator; q3 is bronze."""
    operators = [project("x", "s", 1.0), project("q3/y", "t", 1.0)]
    classes = {"gold": 6, "silver": 3, "bronze": 1}
    members = {"q1": "gold", "q2": "silver", "q3": "bronze"}
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"q1": "x", "q2": "x", "q3": "q3/y"}, classes, members)


@pytest.mark.parametrize("seed", range(20))
def test_ambd_uses_each_entry_of_a_round_once(seed):
    """Three units with 6, 3 and 1 slots, all with input at every decision; two slots take turns at random."""
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (6, ["a"]), "two": (3, ["b"]), "three": (1, ["c"])})
    harness = TimedHarness(plan, "ambd", 2, **PLAIN)
    wanted = Counter(a=6, b=3, c=1)
    chance = random.Random(seed)
    assert Counter(harness.board.units[index].id for index in harness.policy.base_schedule) == wanted
    for _ in range(5):
        ran: Counter[str] = Counter()
        for _ in range(sum(wanted.values())):
            for name in wanted:
                harness.feed(f"{name}/x")
            claim = harness.begin(chance.randrange(2))
            ran[claim.decision.unit.id] += 1
            harness.end(claim)
        assert ran == wanted


def test_ambd_reports_how_far_it_looked_ahead():
    """Rounds of a b c. Slot 1 ran b last, which is one entry ahead of a. Slot 0 ran all others, so it looks no further
    than what is due. A slot that has run nothing yet looks to the end."""
    harness = TimedHarness(queries(dict.fromkeys("abc", 1.0), {"one": (1, list("abc"))}), "ambd", 3, **PLAIN)
    ahead = []
    for slot in (0, 1, 0, 1, 0, 2):
        for name in "abc":
            harness.feed(f"{name}/x")
        claim = harness.begin(slot)
        ahead.append((claim.decision.unit.id, claim.decision.ahead))
        harness.end(claim)
    assert ahead == [("a", 2), ("b", 1), ("c", 0), ("b", 1), ("a", 0), ("c", 0)]


def test_only_the_first_entry_of_a_round_is_random():
    """1.3 of b to 1 of a: the first of b's two slots is open in three of ten rounds. Input that arrives after it has
    been passed is always served in the second."""
    harness = TimedHarness(queries({"a": 10.0, "b": 13.0}, {"one": (1, ["a", "b"])}), "mbd", **PLAIN)
    assert [harness.board.units[index].id for index in harness.policy.base_schedule] == ["b", "a", "b"]
    for _ in range(50):
        harness.feed("a/x")
        assert harness.run().unit.id == "a"
        harness.feed("b/x")
        assert not harness.run().ends_round


def test_a_gate_that_rarely_opens_does_not_block():
    """The only unit with input has one slot in 65,536, open with a chance of 1 in 30,000: a second round takes it."""
    harness = TimedHarness(
        queries({"a": 1.0, "b": 1.0}, {"one": (2**31 - 1, ["a"]), "two": (1, ["b"])}), "mbd", **PLAIN
    )
    gate = harness.policy.gates[1]
    assert 0.0 < gate < 1e-4
    for _ in range(20):
        harness.feed("b/x")
        decision = harness.run()
        assert decision.unit.id == "b"
        assert decision.inspected <= 3 * len(harness.policy.base_schedule)


def test_a_promoted_unit_follows_the_priorities():
    harness = TimedHarness(shared_plan(), "mbd", **PLAIN)
    assert [unit.class_name for unit in harness.board.units] == ["gold", "bronze"]
    harness.board.set_classes(harness.board.plan.with_priority("gold", 1))
    assert [unit.class_name for unit in harness.board.units] == ["silver", "bronze"]
    harness.board.install(harness.policy)  # as when a query stops, or the policy is replaced
    assert [unit.class_name for unit in harness.board.units] == ["silver", "bronze"]


def test_together_uses_the_current_priorities():
    """q1 and q2 share an operator and count as gold; when gold falls below silver they count as silver, with q4."""
    operators = [project("x", "s", 1.0), project("q4/y", "t", 1.0)]
    plan = make_plan(
        {"s": feeder(), "t": feeder()},
        operators,
        {"q1": "x", "q2": "x", "q4": "q4/y"},
        {"gold": 6, "silver": 3},
        {"q1": "gold", "q2": "silver", "q4": "silver"},
    )
    harness = TimedHarness(plan, "mbd", together=3, **PLAIN)
    assert [unit.id for unit in harness.board.units] == ["q1+q2", "q4"]
    harness.board.set_classes(plan.with_priority("gold", 1))
    assert [unit.id for unit in harness.board.units] == ["q1+q2+q4"]


def test_fixed_priorities_outlive_a_query_that_moves_to_an_empty_class():
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (6, ["a"]), "two": (3, ["b"]), "spare": (1, [])})
    harness = TimedHarness(plan, "mbd", latencies={"one": 2.0, "two": 1.0}, priorities="fixed")
    harness.board.set_classes(plan.with_class("b", "spare"))
    for _ in range(80):
        harness.feed("a/x")
        harness.feed("b/x")
        assert harness.run(0.01) is not None
    assert harness.policy.updates > 1  # schedules were made with the initial classes


def test_mprr_uses_the_initial_priorities():
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (9, ["a"]), "two": (1, ["b"])})
    harness = TimedHarness(plan, "mprr")
    harness.feed("b/x", 10)
    assert harness.run().tuples == 1
    harness.board.set_classes(plan.with_priority("two", 9))
    harness.feed("b/x", 1)
    assert harness.run().tuples == 1
    harness.board.set_classes(plan.with_class("b", "one"))  # but a query that is moved gets that of its new class
    harness.feed("b/x", 1)
    assert harness.run().tuples == 9


@pytest.mark.parametrize(("left", "right", "tuples"), [(1, 1, 2), (10, 3, 6), (10, 0, 5)])
def test_mprr_takes_its_portion_of_each_input(left, right, tuples):
    operators = [union("a/x", "s", "t"), project("b/x", "u")]
    plan = make_plan({name: feeder() for name in "stu"}, operators, {"a": "a/x", "b": "b/x"})
    harness = TimedHarness(plan, "mprr", of="sum")
    harness.policy.portions = {name: Fraction(1, 2) for name in harness.policy.portions}
    for side, number in enumerate((left, right)):
        harness.queues[Edge("a/x", side)].arrivals += [0.0] * number
        if number:
            harness.board.fed(Edge("a/x", side))
    assert harness.run().tuples == tuples


# What is charged ---------------------------------------------------------------------------------------------------


def test_only_slots_of_queries_without_input_count_as_inspected():
    """The round is a b c d. b has no input; c runs in the other slot and is not inspected."""
    costs = dict.fromkeys("abcd", 1.0)
    harness = TimedHarness(queries(costs, {"one": (1, list(costs))}), "mbd", 2, inversion=None, selectivity=None)
    harness.feed("c/x")
    assert harness.begin(1).decision.inspected == 2
    harness.feed("a/x")
    harness.feed("d/x")
    ran = [harness.run() for _ in range(2)]
    assert [(decision.unit.id, decision.inspected) for decision in ran] == [("d", 0), ("a", 0)]
    harness.feed("d/x")
    assert harness.run().inspected == 1  # b


def test_no_query_runs_once_more_after_a_pause():
    """The round is x y x. Slot 2 meets x while it runs: x would run again at once, but then has no input."""
    harness = TimedHarness(queries({"x": 20.0, "y": 10.0}, {"one": (1, ["x", "y"])}), "mbd", 3, **PLAIN)
    harness.feed("x/x")
    harness.feed("y/x")
    first, second = harness.begin(0), harness.begin(1)
    assert harness.begin(2) is None
    assert [harness.board.units[index].id for index in harness.policy.to_repeat] == ["x"]
    harness.end(second)
    harness.end(first, 1.0)
    assert harness.policy.repeats == [[], [], []]


# Costs ---------------------------------------------------------------------------------------------------------------


def test_costs_become_known_with_the_first_calls_although_statistics_do_not_change():
    """Calls have a fixed cost: the share that a tuple bears is known only with a train."""
    harness = TimedHarness(queries({"a": 1.0, "b": 9.0}, {"one": (1, ["a", "b"])}), "mbd", call_fixed_s=1e-3)
    assert set(harness.policy.costs.seconds.values()) == {1.0}
    for _ in range(8):
        harness.feed("a/x")
        harness.feed("b/x")
        harness.run(0.01)
    assert harness.policy.costs.seconds["b"] / harness.policy.costs.seconds["a"] == pytest.approx(9.0, rel=0.01)


def test_statistics_are_not_adopted_while_nothing_becomes_known():
    """A query of class two never runs, so its cost stays unknown; the others nevertheless keep their initial costs."""
    plan = queries({"a": 1.0, "b": 1.0, "c": 1.0}, {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    harness = TimedHarness(plan, "mbd", call_fixed_s=1e-3, selectivity="s", inversion=None)
    for _ in range(8):
        harness.feed("a/x")
        harness.feed("b/x")
        harness.run(0.01)
    costs = harness.policy.costs
    known = dict(costs.seconds)
    harness.stats.selectivities = {"a/x": 0.2}
    harness.board.learned()
    assert not costs.became_known()
    assert (dict(costs.seconds), costs.moved(0.1)) == (known, True)


@pytest.mark.parametrize(("selectivity", "adopted"), [(None, False), ("s", True), ("sa", True)])
def test_changed_priorities_leave_costs_alone_unless_selectivities_are_followed(selectivity, adopted):
    operators = [select("a/s", "s", 1.0, 0.5), project("a/x", "a/s", 1.0), project("b/x", "t", 1.0)]
    plan = make_plan(
        {"s": feeder(), "t": feeder()},
        operators,
        {"a": "a/x", "b": "b/x"},
        {"one": 2, "two": 1},
        {"a": "one", "b": "two"},
    )
    harness = TimedHarness(plan, "mbd", selectivity=selectivity, inversion=None)
    before = dict(harness.policy.costs.seconds)
    harness.stats.selectivities = {"a/s": 1.0}
    harness.board.set_classes(plan.with_priority("two", 9))
    for _ in range(8):
        harness.feed("b/x")
        harness.run(0.01)
    assert harness.policy.updates == 2
    assert (dict(harness.policy.costs.seconds) != before) is adopted


def test_priorities_set_to_their_old_values_are_no_change():
    """So what was learned from inverted classes is kept."""
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (2, ["a"]), "two": (1, ["b"])})
    harness = TimedHarness(plan, "mbd", latencies={"one": 3.0, "two": 1.0})
    served(harness, 4)
    repaired, updates = list(harness.policy.frequencies), harness.policy.updates
    assert repaired != [2, 1]
    harness.latencies.clear()
    harness.board.set_classes(plan.with_priority("one", 2).with_class("a", "one"))
    served(harness, 8)
    assert (harness.policy.frequencies, harness.policy.updates) == (repaired, updates)


def served(harness, calls):
    for _ in range(calls):
        harness.feed("b/x")
        harness.run(0.01)


@pytest.mark.parametrize(("gated", "updates"), [(True, 1), (False, 2)])
def test_without_the_gate_changed_selectivities_suffice(gated, updates):
    plan = make_plan({"s": feeder()}, [select("a/s", "s", 1.0, 0.5), project("a/x", "a/s", 1.0)], {"a": "a/x"})
    harness = TimedHarness(plan, "mbd", selectivity="s", inversion=None, sel_gate=gated)
    harness.stats.selectivities = {"a/s": 0.8}
    for _ in range(8):
        harness.feed("a/s")
        harness.run(0.01)
    assert harness.policy.updates == updates


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_schedules_of_each_variant(policy):
    members = dict(zip("abcde", (5, 4, 3, 2, 1), strict=True))
    plan = queries(dict.fromkeys(members, 1.0), {name: (priority, [name]) for name, priority in members.items()})
    schedules = {
        variant: "".join("abcde"[at] for at in TimedHarness(plan, policy, variant=variant).policy.schedule)
        for variant in ("disjoint", "coincident", "staggered")
    }
    assert schedules == {"disjoint": "abcdabaceabcdab", "coincident": "acecdababcdabab", "staggered": "abcdabacebadcba"}
