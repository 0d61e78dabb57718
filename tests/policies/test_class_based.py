"""cqc, abd, mbd and their baselines, decision by decision."""

from dataclasses import replace

import pytest

from headgate.plan.model import Edge
from tests.conformance.plans import feeder, make_plan, project, select
from tests.policies.boards import TimedHarness


def queries(costs, classes):
    """A query of one operator for each cost; `classes`: name -> (priority, queries)."""
    streams = {f"s-{name}": feeder() for name in costs}
    operators = [project(f"{name}/x", f"s-{name}", cost) for name, cost in costs.items()]
    return make_plan(
        streams,
        operators,
        {name: f"{name}/x" for name in costs},
        {name: priority for name, (priority, _) in classes.items()},
        {query: name for name, (_, members) in classes.items() for query in members},
    )


# cqc -------------------------------------------------------------------------------------------------------------


def two_classes(high=6, low=3):
    return queries({"h": 1.0, "l": 1.0}, {"high": (high, ["h"]), "low": (low, ["l"])})


def test_cqc_gives_each_class_its_slice():
    """6 : 3 of a cycle of 9 s: two calls of 3 s for each call of the other class."""
    harness = TimedHarness(two_classes(), "cqc", cycle=9.0)
    ran = []
    for _ in range(6):
        harness.feed("h/x")
        harness.feed("l/x")
        ran.append(harness.run(3.0).unit.id)
    assert ran == ["h/x", "h/x", "l/x"] * 2


def test_cqc_debt_is_paid_by_lost_turns():
    """Slices of 12 and 6 s. A call of 26 s by the second leaves it at -14: it loses three turns."""
    harness = TimedHarness(two_classes(12, 6), "cqc", cycle=18.0)
    harness.feed("l/x")
    assert harness.run(26.0).unit.id == "l/x"
    ran = []
    for _ in range(5):
        harness.feed("h/x")
        harness.feed("l/x")
        ran.append(harness.run(12.0).unit.id)
    assert ran == ["h/x"] * 4 + ["l/x"]


def test_cqc_passes_the_turn_on_when_a_class_has_no_input():
    harness = TimedHarness(two_classes(), "cqc", cycle=9.0)
    for _ in range(4):
        harness.feed("l/x")
        assert harness.run(3.0).unit.id == "l/x"
    assert harness.run() is None


@pytest.mark.parametrize(("leaves", "order"), [("ranked", ["r/x", "q/b"]), ("last", ["q/b", "r/x"])])
def test_cqc_runs_leaves_last_on_request(leaves, order):
    operators = [project("q/a", "s", 1.0), project("q/b", "q/a", 100.0), project("r/x", "t", 1.0)]
    harness = TimedHarness(
        make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/b", "r": "r/x"}), "cqc", leaves=leaves
    )
    harness.feed("q/b")
    harness.feed("r/x")
    assert [harness.run().unit.id, harness.run().unit.id] == order


# abd -------------------------------------------------------------------------------------------------------------


def slow_operator(fixed=10e-6, cost=8e-6):
    plan = queries({"q": cost}, {"only": (1, ["q"])})
    operator = plan.operators["q/x"]
    plan.operators["q/x"] = replace(operator, declared=replace(operator.declared, fixed_s=fixed))
    return plan


def test_abd_quota_grows_by_what_is_missing_and_shrinks_again():
    """c0 = 10, c1 = 8 us, quota 50: five of ten tuples fit, and 40 us are missing."""
    harness = TimedHarness(slow_operator(), "abd", quota=50e-6)
    harness.feed("q/x", 10)
    assert harness.run(50e-6).tuples == 5
    assert harness.policy.quota == pytest.approx(90e-6)
    quotas = []
    for _ in range(5):
        harness.queues[Edge("q/x", 0)].arrivals.clear()
        harness.feed("q/x")
        assert harness.run(18e-6).tuples is None
        quotas.append(round(harness.policy.quota * 1e6))
    assert quotas == [
        90,
        50,
        28,
        28,
        28,
    ]  # 10 us are too short for a tuple, so the quota grows at once by 18 us


def test_abd_too_short_for_a_single_tuple():
    """Quota 15, three tuples: 34 us are missing, and the operator goes first again."""
    harness = TimedHarness(slow_operator(), "abd", quota=15e-6)
    harness.feed("q/x", 3)
    assert harness.run(34e-6).tuples is None
    assert harness.policy.quota == pytest.approx(49e-6)


def test_abd_walks_the_broadcast_disk():
    costs = dict.fromkeys("abc", 1.0)
    plan = queries(costs, {name: (priority, [name]) for name, priority in zip("abc", (3, 2, 1), strict=True)})
    harness = TimedHarness(plan, "abd", quota=1.5, literal=True)
    ran = []
    for _ in range(12):
        for name in "abc":
            harness.feed(f"{name}/x", 1 - len(harness.queues[Edge(f"{name}/x", 0)].arrivals))
        ran.append(harness.run(1.0).unit.id[0])
    assert "".join(ran) == "abacab" * 2


def test_abd_changes_frequencies_of_inverted_classes():
    plan = queries({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": (30, ["a"]), "b": (20, ["b"]), "c": (10, ["c"])})
    harness = TimedHarness(plan, "abd", quota=5.0, latencies={"a": 1.0, "b": 3.0, "c": 2.0})
    for _ in range(60):
        harness.feed("a/x")
        harness.run(1.0)
    assert harness.policy.frequencies == [30, 20, 9]
    assert harness.policy.updates == 2


# mbd -------------------------------------------------------------------------------------------------------------


def example_5_9():
    """Class 1 (3): three queries of 10; class 2 (1): 5 and 15. Slots 4, 4, 4, 1, 3."""
    costs = {"a": 10.0, "b": 10.0, "c": 10.0, "d": 5.0, "e": 15.0}
    return queries(costs, {"one": (3, ["a", "b", "c"]), "two": (1, ["d", "e"])})


def feed_all(harness, names):
    for name in names:
        queue = harness.queues[Edge(f"{name}/x", 0)]
        if not queue.arrivals:
            harness.feed(f"{name}/x")


def plain(plan, slots=1, **more):
    return TimedHarness(plan, "mbd", slots, **{"inversion": None, "selectivity": None, **more})


def test_mbd_walks_its_schedule():
    harness = plain(example_5_9())
    ran = []
    for _ in range(32):
        feed_all(harness, "abcde")
        ran.append(harness.run().unit.id)
    assert "".join(ran) == "abceabcedabceabc" * 2
    assert harness.policy.updates == 1


def test_mbd_skips_queries_without_input():
    harness = plain(example_5_9())
    harness.feed("d/x")
    assert (harness.run().unit.id, harness.run()) == ("d", None)
    ran = []
    for _ in range(9):
        feed_all(harness, "ed")
        ran.append(harness.run().unit.id)
    assert "".join(ran) == "e" + "eede" * 2  # the rest of the round first


def test_mbd_marks_a_query_that_runs_and_runs_it_once_more():
    """The round is x y x. Slots 0 and 1 take x and y; slot 2 meets x and gets nothing. When x has ended, slot 0 runs it
    again at once, although y would be due."""
    harness = plain(queries({"x": 20.0, "y": 10.0}, {"one": (1, ["x", "y"])}), slots=3)
    feed_all(harness, "xy")
    first, second = harness.begin(0), harness.begin(1)
    assert (first.decision.unit.id, second.decision.unit.id) == ("x", "y")
    assert harness.begin(2) is None
    feed_all(harness, "xy")
    harness.end(second)
    harness.end(first, 1.0)
    assert harness.begin(0).decision.unit.id == "x"
    assert harness.begin(1).decision.unit.id == "y"


def test_mbd_fractions_hold_on_average():
    """Priorities 4.5, 1.5, 1, 1: over many rounds each runs that often per round."""
    costs = {"h1": 30.0, "h2": 10.0, "l1": 20.0, "l2": 20.0}
    harness = plain(queries(costs, {"high": (6, ["h1", "h2"]), "low": (2, ["l1", "l2"])}))
    assert harness.policy.gates == pytest.approx([0.5, 0.5, 1.0, 1.0])
    counts = dict.fromkeys(costs, 0)
    for _ in range(16_000):
        feed_all(harness, costs)
        counts[harness.run().unit.id] += 1
    rounds = counts["l1"]
    assert {name: count / rounds for name, count in counts.items()} == pytest.approx(
        {"h1": 4.5, "h2": 1.5, "l1": 1.0, "l2": 1.0}, abs=0.05
    )


def test_mbd_queries_that_share_operators_are_one_unit_of_the_best_class():
    operators = [
        select("v/s", "s", 4.0),
        project("a/x", "v/s", 1.0),
        project("b/x", "v/s", 2.0),
        project("c/x", "s", 1.0),
    ]
    plan = make_plan(
        {"s": feeder()},
        operators,
        {"a": "a/x", "b": "b/x", "c": "c/x"},
        {"high": 3, "low": 1},
        {"a": "low", "b": "high", "c": "low"},
    )
    harness = plain(plan)
    assert [(unit.id, unit.class_name) for unit in harness.board.units] == [("a+b", "high"), ("c", "low")]


def changed(plan, moved, latencies=None, **parameters):
    """Frequencies and costs after a round in which one selectivity changed from 0.5 to `moved`."""
    harness = TimedHarness(plan, "mbd", latencies=latencies or {"a": 1.0, "b": 3.0, "c": 2.0}, **parameters)
    before = dict(harness.policy.costs.seconds)
    harness.stats.selectivities = {"c/s": moved}
    for _ in range(80):
        harness.feed("a/x")
        harness.run(0.01)
        if harness.policy.updates > 1:
            break
    return harness.policy.frequencies, dict(harness.policy.costs.seconds) != before


def selecting():
    operators = [
        project("a/x", "s", 1.0),
        project("b/x", "t", 1.0),
        select("c/s", "u", 1.0, 0.5),
        project("c/x", "c/s", 1.0),
    ]
    return make_plan(
        {name: feeder() for name in "stu"},
        operators,
        {"a": "a/x", "b": "b/x", "c": "c/x"},
        {"a": 50, "b": 40, "c": 30},
        {name: name for name in "abc"},
    )


@pytest.mark.parametrize(
    ("inversion", "selectivity", "moved", "frequencies", "adopted"),
    [
        (None, "s", 0.44, [50, 40, 30], True),
        ("dvp", "s", 0.44, [50, 40, 30], True),
        ("dvp", "sa", 0.44, [50, 40, 29], True),
        ("dvp", None, 0.44, [50, 40, 29], False),
        (None, "s", 0.46, [50, 40, 30], False),
        ("dvp", "s", 0.46, [50, 40, 29], False),
        ("dvp", "sa", 0.46, [50, 40, 29], True),
        (None, None, 0.44, [50, 40, 30], False),
    ],
)
def test_mbd_at_the_end_of_a_round(inversion, selectivity, moved, frequencies, adopted):
    """Class 2 is slower than class 3, and the selectivity of a select changed by 12 % or by 8 %."""
    assert changed(selecting(), moved, inversion=inversion, selectivity=selectivity) == (frequencies, adopted)


def test_mbd_changes_nothing_without_inversion():
    for latencies in ({"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 5.0, "b": 2.0}):  # nothing is known about c
        assert changed(selecting(), 0.1, latencies) == ([50, 40, 30], False)


def test_mbd_reacts_although_the_cost_of_a_query_is_not_known():
    """c never had input, so nothing is known about it: it counts like the others, and frequencies change."""
    operators = [project("a/x", "s", 1.0), project("b/x", "t", 3.0), select("c/x", "u", None)]
    plan = make_plan(
        {name: feeder() for name in "stu"},
        operators,
        {name: f"{name}/x" for name in "abc"},
        {"a": 50, "b": 40, "c": 30},
        {name: name for name in "abc"},
    )
    harness = TimedHarness(plan, "mbd", latencies={"a": 1.0, "b": 3.0, "c": 2.0}, inversion="dvp", selectivity=None)
    assert harness.policy.costs.seconds == {"a": 1.0, "b": 3.0, "c": 2.0}
    for _ in range(80):
        harness.feed("a/x")
        harness.run(0.01)
    assert harness.policy.frequencies[2] < 30


def test_mbd_a_shorter_round_after_a_longer_one():
    """In mid-round, 100 + 1 slots are replaced by a round of 2: the number of slots passed is never negative."""
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (100, ["a"]), "two": (1, ["b"])})
    harness = TimedHarness(plan, "mbd")
    passed = []
    for number in range(400):
        harness.board.now += 0.01
        if number == 60:
            harness.board.set_classes(harness.board.plan.with_priority("one", 1))
        harness.feed("a/x")
        passed.append(harness.run(0.01).inspected)
    assert harness.policy.frequencies == [1, 1]
    assert min(passed) == 0
    assert max(passed) == 1  # the slot of b, which has no input


@pytest.mark.parametrize(("mode", "frequencies"), [("follow", [90, 50, 40]), ("fixed", [50, 40, 30])])
def test_mbd_follows_changed_priorities(mode, frequencies):
    harness = TimedHarness(selecting(), "mbd", priorities=mode)
    harness.board.now = 1.0
    harness.board.set_classes(harness.board.plan.with_priority("c", 90))
    for _ in range(300):
        harness.feed("a/x")
        harness.run(0.01)
    assert harness.policy.frequencies == frequencies
    assert harness.policy.class_order.names == (["c", "a", "b"] if mode == "follow" else ["a", "b", "c"])


def test_mbd_together_makes_units_of_queries_of_a_class():
    """Classes of seven and two queries, at most three per unit: three units of similar size, and one unit."""
    plan = queries(dict.fromkeys("abcdefgxy", 1.0), {"one": (2, list("abcdefg")), "two": (1, ["x", "y"])})
    harness = plain(plan, together=3)
    assert [unit.id for unit in harness.board.units] == ["a+b+c", "d+e", "f+g", "x+y"]
    assert [unit.class_name for unit in harness.board.units] == ["one"] * 3 + ["two"]
    feed_all(harness, "abc")
    assert harness.run().unit.id == "a+b+c"
    assert harness.run() is None  # one call took the input of all three


def test_mbd_together_regroups_when_a_query_changes_class():
    plan = queries(dict.fromkeys("abxy", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["x", "y"])})
    harness = plain(plan, together=2)
    feed_all(harness, "bx")
    harness.board.set_classes(plan.with_class("b", "two"))
    assert {unit.id: unit.class_name for unit in harness.board.units} == {"a": "one", "b+x": "two", "y": "two"}
    assert (harness.run().unit.id, harness.run()) == ("b+x", None)


@pytest.mark.parametrize(("fixed_costs", "slots"), [("amortised", [1, 1]), ("ignored", [1, 9])])
def test_mbd_counts_the_fixed_cost_of_a_call(fixed_costs, slots):
    """Costs of 1 and 9 us per tuple and a fixed cost of 1 ms per call, of which each of 10 tuples bears 100 us."""
    plan = queries({"a": 1e-6, "b": 9e-6}, {"one": (1, ["a", "b"])})
    harness = plain(plan, call_fixed_s=1e-3, fixed_costs=fixed_costs)
    for _ in range(40):
        feed_all(harness, "ab")
        harness.end(harness.begin(), 1e-3, tuples=10)
        harness.board.learned()
    shares = [gate + len(places) - 1 for gate, places in zip(harness.policy.gates, harness.policy.places, strict=True)]
    assert shares == pytest.approx(slots, abs=0.1)


def test_mrr_together_serves_queries_of_a_class_at_once():
    plan = queries(dict.fromkeys("abxy", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["x", "y"])})
    harness = TimedHarness(plan, "mrr", together=2)
    feed_all(harness, "abxy")
    assert [harness.run().unit.id, harness.run().unit.id, harness.run()] == ["a+b", "x+y", None]


def test_ambd_prefers_the_query_that_its_slot_ran_last():
    costs = dict.fromkeys("abcd", 1.0)
    harness = TimedHarness(queries(costs, {"one": (1, list(costs))}), "ambd", 2, inversion=None, selectivity=None)
    rounds = []
    for slots in ((0, 1), (1, 0), (1, 0), (0, 1)):
        feed_all(harness, costs)
        claims = [harness.begin(slot) for slot in slots]
        rounds.append("".join(claim.decision.unit.id for claim in claims))
        for claim in claims:
            harness.end(claim)
    # In the second round slot 1 runs b before a, which slot 0 ran last; each still runs once.
    assert rounds == ["ab", "cd", "ba", "dc"]


# Baselines -------------------------------------------------------------------------------------------------------


def test_wehr_weighs_rates_by_priority():
    plan = queries({"h": 4.0, "l": 1.0}, {"high": (6, ["h"]), "low": (1, ["l"])})
    harness = TimedHarness(plan, "wehr")
    harness.feed("l/x")
    harness.feed("h/x")
    assert harness.run().unit.id == "h/x"  # 6 / 4 against 1 / 1
    harness.board.set_classes(harness.board.plan.with_priority("high", 3))
    harness.feed("h/x")
    assert harness.run().unit.id == "l/x"


@pytest.mark.parametrize(("of", "tuples"), [("sum", [6, 3, 1]), ("largest", [10, 5, 1])])
def test_mprr_takes_a_portion(of, tuples):
    plan = queries(dict.fromkeys("abc", 1.0), {name: (p, [name]) for name, p in zip("abc", (60, 30, 10), strict=True)})
    harness = TimedHarness(plan, "mprr", of=of)
    for name in "abc":
        harness.feed(f"{name}/x", 10)
    assert [harness.run().tuples for _ in range(3)] == tuples


def test_mrr_and_morr_take_turns():
    operators = [project("a/x", "s", 1.0), project("a/y", "a/x", 1.0), project("b/x", "t", 1.0)]
    plan = make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/y", "b": "b/x"})
    for name, expected in (("mrr", ["a", "b"]), ("morr", ["a/x", "a/y", "b/x"])):
        harness = TimedHarness(plan, name)
        for operator in ("a/x", "a/y", "b/x"):
            harness.feed(operator, 2)
        assert [harness.run().unit.id for _ in expected] == expected


def test_lotteries_draw_by_tickets():
    costs = {"h": 10.0, "l": 10.0}
    for name in ("ml", "mol"):
        harness = TimedHarness(queries(costs, {"high": (3, ["h"]), "low": (1, ["l"])}), name)
        counts = dict.fromkeys("hl", 0)
        for _ in range(4000):
            feed_all(harness, costs)
            counts[harness.run().unit.id[0]] += 1
        assert counts["h"] / 4000 == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize(("tickets", "share"), [("whole", 6 / 7), ("real", 3 / 4)])
def test_mol_tickets_are_whole_unless_asked(tickets, share):
    """Six operators share priority 3: half a ticket each, or one, as the only operator of the other class has."""
    costs = dict.fromkeys("abcdefl", 10.0)
    plan = queries(costs, {"high": (3, list("abcdef")), "low": (1, ["l"])})
    harness, high = TimedHarness(plan, "mol", tickets=tickets), 0
    for _ in range(4000):
        feed_all(harness, costs)
        high += harness.run().unit.id != "l/x"
    assert high / 4000 == pytest.approx(share, abs=0.03)


def test_pct_keeps_a_slot_for_each_class():
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    harness = TimedHarness(plan, "pct", slots=3)
    for name in "abc":
        harness.feed(f"{name}/x", 2)
    assert [claim and claim.decision.unit.id for claim in (harness.begin(slot) for slot in range(3))] == [
        "a",
        "c",
        None,
    ]


def test_pct_s_gives_the_most_important_a_second_thread():
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    harness = TimedHarness(plan, "pct-s", slots=3)
    for name in "abc":
        harness.feed(f"{name}/x")
    assert [harness.begin(slot).decision.unit.id for slot in range(3)] == ["a", "b", "c"]


def test_pct_threads_wait_in_line_when_slots_are_few():
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    harness = TimedHarness(plan, "pct", slots=1)
    ran = []
    for _ in range(6):
        feed_all(harness, "abc")
        ran.append(harness.run().unit.id)
    assert "".join(ran) == "abcabc"
