"""mbd, ambd: how slots walk the round and by which costs and priorities; mbd, mprr: changes of classes."""

import random
from collections import Counter
from fractions import Fraction

import pytest

from headgate.plan.model import Edge
from tests.conformance.plans import feeder, make_plan, project, select, union
from tests.policies.test_class_based import Desk, queries

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
    desk = Desk(plan, "ambd", 2, **PLAIN)
    wanted = Counter(a=6, b=3, c=1)
    chance = random.Random(seed)
    assert Counter(desk.board.units[index].id for index in desk.policy.base_schedule) == wanted
    for _ in range(5):
        ran: Counter[str] = Counter()
        for _ in range(sum(wanted.values())):
            for name in wanted:
                desk.feed(f"{name}/x")
            claim = desk.begin(chance.randrange(2))
            ran[claim.decision.unit.id] += 1
            desk.end(claim)
        assert ran == wanted


def test_ambd_reports_how_far_it_looked_ahead():
    """Rounds of a b c: when b is what slot 1 ran last, it is one entry ahead of a; slot 0, which ran all others, looks
    no further than what is due; one that ran nothing looks to the end."""
    desk = Desk(queries(dict.fromkeys("abc", 1.0), {"one": (1, list("abc"))}), "ambd", 3, **PLAIN)
    ahead = []
    for slot in (0, 1, 0, 1, 0, 2):
        for name in "abc":
            desk.feed(f"{name}/x")
        claim = desk.begin(slot)
        ahead.append((claim.decision.unit.id, claim.decision.ahead))
        desk.end(claim)
    assert ahead == [("a", 2), ("b", 1), ("c", 0), ("b", 1), ("a", 0), ("c", 0)]


def test_only_the_first_entry_of_a_round_is_random():
    """1.3 of b to 1 of a: the first of b's two slots is open in three of ten rounds. Input that comes after it has
    been passed is served in the second, always."""
    desk = Desk(queries({"a": 10.0, "b": 13.0}, {"one": (1, ["a", "b"])}), "mbd", **PLAIN)
    assert [desk.board.units[index].id for index in desk.policy.base_schedule] == ["b", "a", "b"]
    for _ in range(50):
        desk.feed("a/x")
        assert desk.run().unit.id == "a"
        desk.feed("b/x")
        assert not desk.run().ends_round


def test_a_gate_that_rarely_opens_does_not_block():
    """The only unit with input has one slot in 65,536, open with a chance of 1 in 30,000: a second round takes it."""
    desk = Desk(queries({"a": 1.0, "b": 1.0}, {"one": (2**31 - 1, ["a"]), "two": (1, ["b"])}), "mbd", **PLAIN)
    gate = desk.policy.gates[1]
    assert 0.0 < gate < 1e-4
    for _ in range(20):
        desk.feed("b/x")
        decision = desk.run()
        assert decision.unit.id == "b"
        assert decision.inspected <= 3 * len(desk.policy.base_schedule)


def test_a_promoted_unit_follows_the_priorities():
    desk = Desk(shared_plan(), "mbd", **PLAIN)
    assert [unit.class_name for unit in desk.board.units] == ["gold", "bronze"]
    desk.board.set_classes(desk.board.plan.with_priority("gold", 1))
    assert [unit.class_name for unit in desk.board.units] == ["silver", "bronze"]
    desk.board.install(desk.policy)  # as when a query stops, or the policy is replaced
    assert [unit.class_name for unit in desk.board.units] == ["silver", "bronze"]


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
    desk = Desk(plan, "mbd", together=3, **PLAIN)
    assert [unit.id for unit in desk.board.units] == ["q1+q2", "q4"]
    desk.board.set_classes(plan.with_priority("gold", 1))
    assert [unit.id for unit in desk.board.units] == ["q1+q2+q4"]


def test_fixed_priorities_outlive_a_query_that_moves_to_an_empty_class():
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (6, ["a"]), "two": (3, ["b"]), "spare": (1, [])})
    desk = Desk(plan, "mbd", latencies={"one": 2.0, "two": 1.0}, priorities="fixed")
    desk.board.set_classes(plan.with_class("b", "spare"))
    for _ in range(80):
        desk.feed("a/x")
        desk.feed("b/x")
        assert desk.run(0.01) is not None
    assert desk.policy.updates > 1  # schedules were made with the initial classes


def test_mprr_uses_the_initial_priorities():
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (9, ["a"]), "two": (1, ["b"])})
    desk = Desk(plan, "mprr")
    desk.feed("b/x", 10)
    assert desk.run().tuples == 1
    desk.board.set_classes(plan.with_priority("two", 9))
    desk.feed("b/x", 1)
    assert desk.run().tuples == 1
    desk.board.set_classes(plan.with_class("b", "one"))  # but a query that is moved gets that of its new class
    desk.feed("b/x", 1)
    assert desk.run().tuples == 9


@pytest.mark.parametrize(("left", "right", "tuples"), [(1, 1, 2), (10, 3, 6), (10, 0, 5)])
def test_mprr_takes_its_portion_of_each_input(left, right, tuples):
    operators = [union("a/x", "s", "t"), project("b/x", "u")]
    plan = make_plan({name: feeder() for name in "stu"}, operators, {"a": "a/x", "b": "b/x"})
    desk = Desk(plan, "mprr", of="sum")
    desk.policy.portions = {name: Fraction(1, 2) for name in desk.policy.portions}
    for side, number in enumerate((left, right)):
        desk.queues[Edge("a/x", side)].arrivals += [0.0] * number
        if number:
            desk.board.fed(Edge("a/x", side))
    assert desk.run().tuples == tuples


# What is charged ---------------------------------------------------------------------------------------------------


def test_only_slots_of_queries_without_input_count_as_inspected():
    """The round is a b c d. b has no input; c runs in the other slot and is not inspected."""
    costs = dict.fromkeys("abcd", 1.0)
    desk = Desk(queries(costs, {"one": (1, list(costs))}), "mbd", 2, inversion=None, selectivity=None)
    desk.feed("c/x")
    assert desk.begin(1).decision.inspected == 2
    desk.feed("a/x")
    desk.feed("d/x")
    ran = [desk.run() for _ in range(2)]
    assert [(decision.unit.id, decision.inspected) for decision in ran] == [("d", 0), ("a", 0)]
    desk.feed("d/x")
    assert desk.run().inspected == 1  # b


def test_no_query_runs_once_more_after_a_pause():
    """The round is x y x. Slot 2 meets x while it runs: x would run again at once, but then has no input."""
    desk = Desk(queries({"x": 20.0, "y": 10.0}, {"one": (1, ["x", "y"])}), "mbd", 3, **PLAIN)
    desk.feed("x/x")
    desk.feed("y/x")
    first, second = desk.begin(0), desk.begin(1)
    assert desk.begin(2) is None
    assert [desk.board.units[index].id for index in desk.policy.to_repeat] == ["x"]
    desk.end(second)
    desk.end(first, 1.0)
    assert desk.policy.repeats == [[], [], []]


# Costs ---------------------------------------------------------------------------------------------------------------


def test_costs_become_known_with_the_first_calls_although_statistics_do_not_change():
    """Calls have a fixed cost: the share that a tuple bears is known only with a train."""
    desk = Desk(queries({"a": 1.0, "b": 9.0}, {"one": (1, ["a", "b"])}), "mbd", call_fixed_s=1e-3)
    assert set(desk.policy.costs.seconds.values()) == {1.0}
    for _ in range(8):
        desk.feed("a/x")
        desk.feed("b/x")
        desk.run(0.01)
    assert desk.policy.costs.seconds["b"] / desk.policy.costs.seconds["a"] == pytest.approx(9.0, rel=0.01)


def test_statistics_are_not_adopted_while_nothing_becomes_known():
    """A query of class two never runs, so its cost stays unknown; the others nevertheless keep their initial costs."""
    plan = queries({"a": 1.0, "b": 1.0, "c": 1.0}, {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    desk = Desk(plan, "mbd", call_fixed_s=1e-3, selectivity="s", inversion=None)
    for _ in range(8):
        desk.feed("a/x")
        desk.feed("b/x")
        desk.run(0.01)
    costs = desk.policy.costs
    known = dict(costs.seconds)
    desk.stats.selectivities = {"a/x": 0.2}
    desk.board.learned()
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
    desk = Desk(plan, "mbd", selectivity=selectivity, inversion=None)
    before = dict(desk.policy.costs.seconds)
    desk.stats.selectivities = {"a/s": 1.0}
    desk.board.set_classes(plan.with_priority("two", 9))
    for _ in range(8):
        desk.feed("b/x")
        desk.run(0.01)
    assert desk.policy.updates == 2
    assert (dict(desk.policy.costs.seconds) != before) is adopted


def test_priorities_set_to_their_old_values_are_no_change():
    """So what was learned from inverted classes is kept."""
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (2, ["a"]), "two": (1, ["b"])})
    desk = Desk(plan, "mbd", latencies={"one": 3.0, "two": 1.0})
    served(desk, 4)
    repaired, updates = list(desk.policy.frequencies), desk.policy.updates
    assert repaired != [2, 1]
    desk.latencies.clear()
    desk.board.set_classes(plan.with_priority("one", 2).with_class("a", "one"))
    served(desk, 8)
    assert (desk.policy.frequencies, desk.policy.updates) == (repaired, updates)


def served(desk, calls):
    for _ in range(calls):
        desk.feed("b/x")
        desk.run(0.01)


@pytest.mark.parametrize(("gated", "updates"), [(True, 1), (False, 2)])
def test_without_the_gate_changed_selectivities_suffice(gated, updates):
    plan = make_plan({"s": feeder()}, [select("a/s", "s", 1.0, 0.5), project("a/x", "a/s", 1.0)], {"a": "a/x"})
    desk = Desk(plan, "mbd", selectivity="s", inversion=None, sel_gate=gated)
    desk.stats.selectivities = {"a/s": 0.8}
    for _ in range(8):
        desk.feed("a/s")
        desk.run(0.01)
    assert desk.policy.updates == updates


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_the_other_reading_of_the_round(policy):
    members = dict(zip("abcde", (5, 4, 3, 2, 1), strict=True))
    plan = queries(dict.fromkeys(members, 1.0), {name: (priority, [name]) for name, priority in members.items()})
    told = {
        variant: "".join("abcde"[at] for at in Desk(plan, policy, variant=variant).policy.schedule)
        for variant in ("disjoint", "coincident", "staggered")
    }
    assert told == {"disjoint": "abcdabaceabcdab", "coincident": "acecdababcdabab", "staggered": "abcdabacebadcba"}
