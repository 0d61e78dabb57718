"""pct and pct-s when classes change during a run."""

import pytest

from tests.policies.test_class_based import Desk, queries


def plan(one="ab", two="c", three="", priorities=(3, 2, 1)):
    members = {"one": one, "two": two, "three": three}
    return queries(
        dict.fromkeys(one + two + three, 1.0),
        {name: (p, list(found)) for (name, found), p in zip(members.items(), priorities, strict=True)},
    )


def feed(desk, names):
    for name in names:
        desk.feed(f"{name}/x")


def begun(desk, *slots):
    claims = [desk.begin(slot) for slot in slots]
    return claims, [claim and claim.decision.unit.id for claim in claims]


def threads(desk):
    """The queries of the thread in each slot."""
    return ["" if held is None else "".join(unit.id for unit in held.units) for held in desk.policy.thread_of_slot]


def move(desk, query, to):
    desk.board.set_classes(desk.board.plan.with_class(query, to))


@pytest.mark.parametrize("fed_before", [True, False])
def test_a_moved_query_moves_to_the_thread_of_its_new_class(fed_before):
    desk = Desk(plan(), "pct", slots=2)
    if fed_before:
        feed(desk, "ab")
    move(desk, "b", "two")
    feed(desk, "ab")
    assert begun(desk, 0, 1)[1] == ["a", "b"]  # a and b shared a thread


def test_a_class_that_gets_its_first_query_gets_a_thread():
    desk = Desk(plan("abc", ""), "pct", slots=2)
    feed(desk, "abc")
    assert begun(desk, 0, 1)[1] == ["a", None]
    move(desk, "c", "two")
    assert begun(desk, 1)[1] == ["c"]


def test_a_thread_stays_in_the_slot_that_runs_a_query_of_it():
    """Class one is left without queries; the thread of class two is first now, but slot 1 is running c."""
    desk = Desk(plan("a", "cd"), "pct", slots=2)
    feed(desk, "acd")
    claims, ran = begun(desk, 0, 1)
    assert ran == ["a", "c"]
    move(desk, "a", "two")
    desk.end(claims[0])
    assert begun(desk, 0)[1] == [None]
    desk.end(claims[1])
    assert begun(desk, 1)[1] == ["d"]


def test_threads_in_line_are_in_one_slot_each():
    desk = Desk(plan("ab", "cd", "e"), "pct", slots=2)
    feed(desk, "abcde")
    claims, ran = begun(desk, 0, 1)
    assert ran == ["a", "c"]
    move(desk, "e", "one")
    desk.end(claims[1])
    assert begun(desk, 1)[1] == ["d"]  # b and e wait for a: their thread is in slot 0
    desk.end(claims[0])
    claims, ran = begun(desk, 0)
    assert ran == ["b"]
    desk.end(claims[0])
    assert begun(desk, 0)[1] == ["e"]


def test_pct_does_not_follow_priorities():
    desk = Desk(plan("ab", "cd"), "pct", slots=2)
    feed(desk, "abcd")
    desk.end(begun(desk, 0)[0][0])
    desk.board.set_classes(desk.board.plan.with_priority("two", 9))
    assert begun(desk, 0, 1)[1] == ["b", "c"]  # nor does a turn restart


def test_pct_s_splits_the_class_that_has_become_the_most_important():
    desk = Desk(plan("ab", "cd"), "pct-s", slots=3)
    assert threads(desk) == ["a", "b", "cd"]
    feed(desk, "abcd")
    claims, ran = begun(desk, 0, 1, 2)
    assert ran == ["a", "b", "c"]
    desk.board.set_classes(desk.board.plan.with_priority("two", 9))
    desk.end(claims[1])
    assert begun(desk, 1)[1] == ["d"]
    assert sorted(threads(desk)) == ["ab", "c", "d"]


def test_pct_s_splits_a_class_that_got_its_second_query():
    desk = Desk(plan("a", "cd", ""), "pct-s", slots=3)
    assert threads(desk) == ["a", "c", "d"]
    move(desk, "c", "one")
    feed(desk, "acd")
    assert begun(desk, 0, 1, 2)[1] == ["a", "c", "d"]
    assert threads(desk) == ["a", "c", "d"]
