"""pct and pct-s when classes change during a run."""

import pytest

from tests.policies.boards import TimedHarness
from tests.policies.test_class_based import queries


def plan(one="ab", two="c", three="", priorities=(3, 2, 1)):
    members = {"one": one, "two": two, "three": three}
    return queries(
        dict.fromkeys(one + two + three, 1.0),
        {name: (p, list(found)) for (name, found), p in zip(members.items(), priorities, strict=True)},
    )


def feed(harness, names):
    for name in names:
        harness.feed(f"{name}/x")


def begun(harness, *slots):
    claims = [harness.begin(slot) for slot in slots]
    return claims, [claim and claim.decision.unit.id for claim in claims]


def threads(harness):
    """The queries of the thread in each slot."""
    return ["" if held is None else "".join(unit.id for unit in held.units) for held in harness.policy.thread_of_slot]


def move(harness, query, to):
    harness.board.set_classes(harness.board.plan.with_class(query, to))


@pytest.mark.parametrize("fed_before", [True, False])
def test_a_moved_query_moves_to_the_thread_of_its_new_class(fed_before):
    harness = TimedHarness(plan(), "pct", slots=2)
    if fed_before:
        feed(harness, "ab")
    move(harness, "b", "two")
    feed(harness, "ab")
    assert begun(harness, 0, 1)[1] == ["a", "b"]  # a and b shared a thread


def test_a_class_that_gets_its_first_query_gets_a_thread():
    harness = TimedHarness(plan("abc", ""), "pct", slots=2)
    feed(harness, "abc")
    assert begun(harness, 0, 1)[1] == ["a", None]
    move(harness, "c", "two")
    assert begun(harness, 1)[1] == ["c"]


def test_a_thread_stays_in_the_slot_that_runs_a_query_of_it():
    """Class one is left without queries; the thread of class two is first now, but slot 1 is running c."""
    harness = TimedHarness(plan("a", "cd"), "pct", slots=2)
    feed(harness, "acd")
    claims, ran = begun(harness, 0, 1)
    assert ran == ["a", "c"]
    move(harness, "a", "two")
    harness.end(claims[0])
    assert begun(harness, 0)[1] == [None]
    harness.end(claims[1])
    assert begun(harness, 1)[1] == ["d"]


def test_threads_in_line_are_in_one_slot_each():
    harness = TimedHarness(plan("ab", "cd", "e"), "pct", slots=2)
    feed(harness, "abcde")
    claims, ran = begun(harness, 0, 1)
    assert ran == ["a", "c"]
    move(harness, "e", "one")
    harness.end(claims[1])
    assert begun(harness, 1)[1] == ["d"]  # b and e wait for a: their thread is in slot 0
    harness.end(claims[0])
    claims, ran = begun(harness, 0)
    assert ran == ["b"]
    harness.end(claims[0])
    assert begun(harness, 0)[1] == ["e"]


def test_pct_does_not_follow_priorities():
    harness = TimedHarness(plan("ab", "cd"), "pct", slots=2)
    feed(harness, "abcd")
    harness.end(begun(harness, 0)[0][0])
    harness.board.set_classes(harness.board.plan.with_priority("two", 9))
    assert begun(harness, 0, 1)[1] == ["b", "c"]  # nor does a turn restart


def test_pct_s_splits_the_class_that_has_become_the_most_important():
    harness = TimedHarness(plan("ab", "cd"), "pct-s", slots=3)
    assert threads(harness) == ["a", "b", "cd"]
    feed(harness, "abcd")
    claims, ran = begun(harness, 0, 1, 2)
    assert ran == ["a", "b", "c"]
    harness.board.set_classes(harness.board.plan.with_priority("two", 9))
    harness.end(claims[1])
    assert begun(harness, 1)[1] == ["d"]
    assert sorted(threads(harness)) == ["ab", "c", "d"]


def test_pct_s_splits_a_class_that_got_its_second_query():
    harness = TimedHarness(plan("a", "cd", ""), "pct-s", slots=3)
    assert threads(harness) == ["a", "c", "d"]
    move(harness, "c", "one")
    feed(harness, "acd")
    assert begun(harness, 0, 1, 2)[1] == ["a", "c", "d"]
    assert threads(harness) == ["a", "c", "d"]
