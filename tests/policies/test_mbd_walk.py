"""mbd, ambd: how slots walk the round; mbd, mprr: what becomes of classes that change."""

import random
from collections import Counter

import pytest

from tests.conformance.plans import feeder, make_plan, project
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
    """Three units with 6, 3 and 1 slots, all with input at every decision, two slots that take turns by chance."""
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (6, ["a"]), "two": (3, ["b"]), "three": (1, ["c"])})
    desk = Desk(plan, "ambd", 2, **PLAIN)
    wanted = Counter(a=6, b=3, c=1)
    chance = random.Random(seed)
    assert Counter(desk.board.units[index].id for index in desk.policy._round) == wanted
    for _ in range(5):
        ran: Counter[str] = Counter()
        for _ in range(sum(wanted.values())):
            for name in wanted:
                desk.feed(f"{name}/x")
            claim = desk.begin(chance.randrange(2))
            ran[claim.decision.unit.id] += 1
            desk.end(claim)
        assert ran == wanted


def test_ambd_tells_how_far_it_looked():
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


def test_only_the_first_entry_of_a_round_is_taken_by_chance():
    """1.3 of b to 1 of a: the first of b's two slots is open in three of ten rounds. Input that comes after it has
    been passed is served in the second, always."""
    desk = Desk(queries({"a": 10.0, "b": 13.0}, {"one": (1, ["a", "b"])}), "mbd", **PLAIN)
    assert [desk.board.units[index].id for index in desk.policy._round] == ["b", "a", "b"]
    for _ in range(50):
        desk.feed("a/x")
        assert desk.run().unit.id == "a"
        desk.feed("b/x")
        assert not desk.run().ends_round


def test_a_gate_that_hardly_opens_is_not_waited_for():
    """The only unit with input has one slot in 65,536, open by a chance of one in 30,000: a second round takes it."""
    desk = Desk(queries({"a": 1.0, "b": 1.0}, {"one": (2**31 - 1, ["a"]), "two": (1, ["b"])}), "mbd", **PLAIN)
    gate = desk.policy._gates[1]
    assert 0.0 < gate < 1e-4
    for _ in range(20):
        desk.feed("b/x")
        decision = desk.run()
        assert decision.unit.id == "b"
        assert decision.inspected <= 3 * len(desk.policy._round)


def test_a_promoted_unit_follows_the_priorities():
    desk = Desk(shared_plan(), "mbd", **PLAIN)
    assert [unit.class_name for unit in desk.board.units] == ["gold", "bronze"]
    desk.board.set_classes(desk.board.plan.with_priority("gold", 1))
    assert [unit.class_name for unit in desk.board.units] == ["silver", "bronze"]
    desk.board.install(desk.policy)  # as when a query stops, or the policy is replaced
    assert [unit.class_name for unit in desk.board.units] == ["silver", "bronze"]


def test_together_goes_by_the_priorities_of_now():
    """q1 and q2 share an operator and are of gold; when gold falls below silver they are of silver, with q4."""
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
    assert desk.policy.updates > 1  # schedules were made with the classes of the start


def test_mprr_follows_changed_priorities():
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (9, ["a"]), "two": (1, ["b"])})
    desk = Desk(plan, "mprr")
    desk.feed("b/x", 10)
    assert desk.run().tuples == 1
    desk.board.set_classes(plan.with_priority("two", 9))
    desk.feed("b/x", 1)
    assert desk.run().tuples == 5
