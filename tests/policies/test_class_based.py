"""cqc, abd, mbd and their baselines, decision by decision."""

from dataclasses import replace

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from tests.conformance.plans import feeder, make_plan, project, select
from tests.policies.boards import Waiting


class Desk:
    """A policy at work with several slots and a clock that the test moves."""

    def __init__(self, plan, name, slots=1, call_fixed_s=0.0, latencies=None, **parameters):
        self.queues = {edge: Waiting() for edge in plan.edges}
        self.latencies = latencies or {}
        self.stats = Stats(plan)
        self.policy = make_policy(name, parameters)
        self.board = Board(plan, self.queues, self.policy, self.stats, slots, call_fixed_s, self.latency)

    def latency(self, name, now, look, since):
        """The latency of a class, as set by the test."""
        return self.latencies.get(name)

    def feed(self, operator, tuples=1):
        edge = Edge(operator, 0)
        self.queues[edge].arrivals += [self.board.now] * tuples
        self.board.fed(edge)

    def begin(self, slot=0):
        """Carry out a decision and take its input. Returns the claim, or None."""
        claim = self.board.claim(slot)
        if claim is not None:
            left = claim.decision.tuples
            for queue in claim.decision.unit.queues:
                taken = len(queue.arrivals) if left is None else min(left, len(queue.arrivals))
                del queue.arrivals[:taken]
        return claim

    def end(self, claim, seconds=0.0, tuples=1):
        self.board.now += seconds
        self.board.release(claim, tuples, 0)

    def run(self, seconds=0.0):
        """A whole call. Returns what ran, or None."""
        claim = self.begin()
        if claim is None:
            return None
        self.end(claim, seconds)
        return claim.decision


class Stats:
    """Declared statistics, except for selectivities that a test sets."""

    def __init__(self, plan):
        self._declared = DeclaredStats(plan)
        self.selectivities = {}

    def of(self, operator):
        stats = self._declared.of(operator)
        passed = self.selectivities.get(operator)
        return stats if passed is None else replace(stats, selectivity=passed)

    def stream_bytes(self, stream):
        return None


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
    """6 : 3 of 9 s: two calls of 3 s for one."""
    desk = Desk(two_classes(), "cqc", cycle=9.0)
    ran = []
    for _ in range(6):
        desk.feed("h/x")
        desk.feed("l/x")
        ran.append(desk.run(3.0).unit.id)
    assert ran == ["h/x", "h/x", "l/x"] * 2


def test_cqc_debt_is_paid_by_lost_turns():
    """Slices of 12 and 6 s. A call of 26 s by the second leaves it at -14: it loses three turns."""
    desk = Desk(two_classes(12, 6), "cqc", cycle=18.0)
    desk.feed("l/x")
    assert desk.run(26.0).unit.id == "l/x"
    ran = []
    for _ in range(5):
        desk.feed("h/x")
        desk.feed("l/x")
        ran.append(desk.run(12.0).unit.id)
    assert ran == ["h/x"] * 4 + ["l/x"]


def test_cqc_passes_the_turn_on_when_a_class_has_no_input():
    desk = Desk(two_classes(), "cqc", cycle=9.0)
    for _ in range(4):
        desk.feed("l/x")
        assert desk.run(3.0).unit.id == "l/x"
    assert desk.run() is None


@pytest.mark.parametrize(("leaves", "order"), [("ranked", ["r/x", "q/b"]), ("last", ["q/b", "r/x"])])
def test_cqc_runs_leaves_last_on_request(leaves, order):
    operators = [project("q/a", "s", 1.0), project("q/b", "q/a", 100.0), project("r/x", "t", 1.0)]
    desk = Desk(make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/b", "r": "r/x"}), "cqc", leaves=leaves)
    desk.feed("q/b")
    desk.feed("r/x")
    assert [desk.run().unit.id, desk.run().unit.id] == order


# abd -------------------------------------------------------------------------------------------------------------


def slow_operator(fixed=10e-6, cost=8e-6):
    plan = queries({"q": cost}, {"only": (1, ["q"])})
    operator = plan.operators["q/x"]
    plan.operators["q/x"] = replace(operator, declared=replace(operator.declared, fixed_s=fixed))
    return plan


def test_abd_quota_grows_by_what_is_missing_and_shrinks_again():
    """c0 = 10, c1 = 8 us, quota 50: of ten tuples five fit, 40 us are missing."""
    desk = Desk(slow_operator(), "abd", quota=50e-6)
    desk.feed("q/x", 10)
    assert desk.run(50e-6).tuples == 5
    assert desk.policy.quota == pytest.approx(90e-6)
    quotas = []
    for _ in range(5):
        desk.queues[Edge("q/x", 0)].arrivals.clear()
        desk.feed("q/x")
        assert desk.run(18e-6).tuples is None
        quotas.append(round(desk.policy.quota * 1e6))
    assert quotas == [90, 50, 28, 28, 28]  # 10 us are too short for a tuple, so the quota grows by its 18 us at once


def test_abd_too_short_for_a_single_tuple():
    """Quota 15, three tuples: 34 us are missing, and the operator comes first again."""
    desk = Desk(slow_operator(), "abd", quota=15e-6)
    desk.feed("q/x", 3)
    assert desk.run(34e-6).tuples is None
    assert desk.policy.quota == pytest.approx(49e-6)


def test_abd_walks_the_broadcast_disk():
    costs = dict.fromkeys("abc", 1.0)
    plan = queries(costs, {name: (priority, [name]) for name, priority in zip("abc", (3, 2, 1), strict=True)})
    desk = Desk(plan, "abd", quota=1.5)
    ran = []
    for _ in range(12):
        for name in "abc":
            desk.feed(f"{name}/x", 1 - len(desk.queues[Edge(f"{name}/x", 0)].arrivals))
        ran.append(desk.run(1.0).unit.id[0])
    assert "".join(ran) == "abacab" * 2


def test_abd_changes_frequencies_of_inverted_classes():
    plan = queries({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": (30, ["a"]), "b": (20, ["b"]), "c": (10, ["c"])})
    desk = Desk(plan, "abd", quota=5.0, latencies={"a": 1.0, "b": 3.0, "c": 2.0})
    for _ in range(60):
        desk.feed("a/x")
        desk.run(1.0)
    assert desk.policy.frequencies == [30, 20, 9]
    assert desk.policy.updates == 2


# mbd -------------------------------------------------------------------------------------------------------------


def example_5_9():
    """Class 1 (3): three queries of 10; class 2 (1): 5 and 15. Slots 4, 4, 4, 1, 3."""
    costs = {"a": 10.0, "b": 10.0, "c": 10.0, "d": 5.0, "e": 15.0}
    return queries(costs, {"one": (3, ["a", "b", "c"]), "two": (1, ["d", "e"])})


def feed_all(desk, names):
    for name in names:
        queue = desk.queues[Edge(f"{name}/x", 0)]
        if not queue.arrivals:
            desk.feed(f"{name}/x")


def plain(plan, slots=1, **more):
    return Desk(plan, "mbd", slots, **{"inversion": None, "selectivity": None, **more})


def test_mbd_walks_its_schedule():
    desk = plain(example_5_9())
    ran = []
    for _ in range(32):
        feed_all(desk, "abcde")
        ran.append(desk.run().unit.id)
    assert "".join(ran) == "abceabcedabceabc" * 2
    assert desk.policy.updates == 1


def test_mbd_skips_queries_without_input():
    desk = plain(example_5_9())
    desk.feed("d/x")
    assert (desk.run().unit.id, desk.run()) == ("d", None)
    ran = []
    for _ in range(9):
        feed_all(desk, "ed")
        ran.append(desk.run().unit.id)
    assert "".join(ran) == "e" + "eede" * 2  # the rest of the round first


def test_mbd_marks_a_query_that_runs_and_runs_it_once_more():
    """The round is x y x. Slots 0 and 1 take x and y; slot 2 meets x and gets nothing. When x has ended, slot 0 runs it
    again at once, although y would be due."""
    desk = plain(queries({"x": 20.0, "y": 10.0}, {"one": (1, ["x", "y"])}), slots=3)
    feed_all(desk, "xy")
    first, second = desk.begin(0), desk.begin(1)
    assert (first.decision.unit.id, second.decision.unit.id) == ("x", "y")
    assert desk.begin(2) is None
    feed_all(desk, "xy")
    desk.end(second)
    desk.end(first, 1.0)
    assert desk.begin(0).decision.unit.id == "x"
    assert desk.begin(1).decision.unit.id == "y"


def test_mbd_fractions_hold_on_average():
    """Priorities 4.5, 1.5, 1, 1: over many rounds each runs that often per round."""
    costs = {"h1": 30.0, "h2": 10.0, "l1": 20.0, "l2": 20.0}
    desk = plain(queries(costs, {"high": (6, ["h1", "h2"]), "low": (2, ["l1", "l2"])}))
    assert desk.policy.gates == pytest.approx([0.5, 0.5, 1.0, 1.0])
    counts = dict.fromkeys(costs, 0)
    for _ in range(16_000):
        feed_all(desk, costs)
        counts[desk.run().unit.id] += 1
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
    desk = plain(plan)
    assert [(unit.id, unit.class_name) for unit in desk.board.units] == [("a+b", "high"), ("c", "low")]


def changed(plan, moved, latencies=None, **parameters):
    """Frequencies and costs after a round in which one selectivity changed from 0.5 to `moved`."""
    desk = Desk(plan, "mbd", latencies=latencies or {"a": 1.0, "b": 3.0, "c": 2.0}, **parameters)
    before = dict(desk.policy.costs.seconds)
    desk.stats.selectivities = {"c/s": moved}
    for _ in range(80):
        desk.feed("a/x")
        desk.run(0.01)
        if desk.policy.updates > 1:
            break
    return desk.policy.frequencies, dict(desk.policy.costs.seconds) != before


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
    desk = Desk(plan, "mbd", latencies={"a": 1.0, "b": 3.0, "c": 2.0}, inversion="dvp", selectivity=None)
    assert desk.policy.costs.seconds == {"a": 1.0, "b": 3.0, "c": 2.0}
    for _ in range(80):
        desk.feed("a/x")
        desk.run(0.01)
    assert desk.policy.frequencies[2] < 30


def test_mbd_a_shorter_round_after_a_longer_one():
    """A round of 100 + 1 slots becomes one of 2 in the middle of it: the number of slots passed is never negative."""
    plan = queries({"a": 1.0, "b": 1.0}, {"one": (100, ["a"]), "two": (1, ["b"])})
    desk = Desk(plan, "mbd")
    passed = []
    for number in range(400):
        desk.board.now += 0.01
        if number == 60:
            desk.board.set_classes(desk.board.plan.with_priority("one", 1))
        desk.feed("a/x")
        passed.append(desk.run(0.01).inspected)
    assert desk.policy.frequencies == [1, 1]
    assert min(passed) == 0
    assert max(passed) == 1  # the slot of b, which has no input


@pytest.mark.parametrize(("mode", "frequencies"), [("follow", [90, 50, 40]), ("fixed", [50, 40, 30])])
def test_mbd_follows_changed_priorities(mode, frequencies):
    desk = Desk(selecting(), "mbd", priorities=mode)
    desk.board.now = 1.0
    desk.board.set_classes(desk.board.plan.with_priority("c", 90))
    for _ in range(300):
        desk.feed("a/x")
        desk.run(0.01)
    assert desk.policy.frequencies == frequencies
    assert desk.policy.class_order.names == (["c", "a", "b"] if mode == "follow" else ["a", "b", "c"])


def test_mbd_together_makes_units_of_queries_of_a_class():
    """Seven and two queries, at most three together: three units of like size, and one unit."""
    plan = queries(dict.fromkeys("abcdefgxy", 1.0), {"one": (2, list("abcdefg")), "two": (1, ["x", "y"])})
    desk = plain(plan, together=3)
    assert [unit.id for unit in desk.board.units] == ["a+b+c", "d+e", "f+g", "x+y"]
    assert [unit.class_name for unit in desk.board.units] == ["one"] * 3 + ["two"]
    feed_all(desk, "abc")
    assert desk.run().unit.id == "a+b+c"
    assert desk.run() is None  # one call took the input of all three


def test_mbd_together_regroups_when_a_query_changes_class():
    plan = queries(dict.fromkeys("abxy", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["x", "y"])})
    desk = plain(plan, together=2)
    feed_all(desk, "bx")
    desk.board.set_classes(plan.with_class("b", "two"))
    assert {unit.id: unit.class_name for unit in desk.board.units} == {"a": "one", "b+x": "two", "y": "two"}
    assert (desk.run().unit.id, desk.run()) == ("b+x", None)


@pytest.mark.parametrize(("fixed_costs", "slots"), [("amortised", [1, 1]), ("ignored", [1, 9])])
def test_mbd_counts_the_fixed_cost_of_a_call(fixed_costs, slots):
    """Costs of 1 and 9 us per tuple and a fixed cost of 1 ms per call, of which each of 10 tuples bears 100 us."""
    plan = queries({"a": 1e-6, "b": 9e-6}, {"one": (1, ["a", "b"])})
    desk = plain(plan, call_fixed_s=1e-3, fixed_costs=fixed_costs)
    for _ in range(40):
        feed_all(desk, "ab")
        desk.end(desk.begin(), 1e-3, tuples=10)
        desk.board.learned()
    shares = [gate + len(places) - 1 for gate, places in zip(desk.policy.gates, desk.policy.places, strict=True)]
    assert shares == pytest.approx(slots, abs=0.1)


def test_mrr_together_serves_queries_of_a_class_at_once():
    plan = queries(dict.fromkeys("abxy", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["x", "y"])})
    desk = Desk(plan, "mrr", together=2)
    feed_all(desk, "abxy")
    assert [desk.run().unit.id, desk.run().unit.id, desk.run()] == ["a+b", "x+y", None]


def test_ambd_prefers_the_query_that_its_slot_ran_last():
    costs = dict.fromkeys("abcd", 1.0)
    desk = Desk(queries(costs, {"one": (1, list(costs))}), "ambd", 2, inversion=None, selectivity=None)
    rounds = []
    for slots in ((0, 1), (1, 0), (1, 0), (0, 1)):
        feed_all(desk, costs)
        claims = [desk.begin(slot) for slot in slots]
        rounds.append("".join(claim.decision.unit.id for claim in claims))
        for claim in claims:
            desk.end(claim)
    # In the second round slot 1 runs b before a, which slot 0 ran last; each still runs once.
    assert rounds == ["ab", "cd", "ba", "dc"]


# Baselines -------------------------------------------------------------------------------------------------------


def test_wehr_weighs_rates_by_priority():
    plan = queries({"h": 4.0, "l": 1.0}, {"high": (6, ["h"]), "low": (1, ["l"])})
    desk = Desk(plan, "wehr")
    desk.feed("l/x")
    desk.feed("h/x")
    assert desk.run().unit.id == "h/x"  # 6 / 4 against 1 / 1
    desk.board.set_classes(desk.board.plan.with_priority("high", 3))
    desk.feed("h/x")
    assert desk.run().unit.id == "l/x"


@pytest.mark.parametrize(("of", "tuples"), [("sum", [6, 3, 1]), ("largest", [10, 5, 1])])
def test_mprr_takes_a_portion(of, tuples):
    plan = queries(dict.fromkeys("abc", 1.0), {name: (p, [name]) for name, p in zip("abc", (60, 30, 10), strict=True)})
    desk = Desk(plan, "mprr", of=of)
    for name in "abc":
        desk.feed(f"{name}/x", 10)
    assert [desk.run().tuples for _ in range(3)] == tuples


def test_mrr_and_morr_take_turns():
    operators = [project("a/x", "s", 1.0), project("a/y", "a/x", 1.0), project("b/x", "t", 1.0)]
    plan = make_plan({"s": feeder(), "t": feeder()}, operators, {"a": "a/y", "b": "b/x"})
    for name, expected in (("mrr", ["a", "b"]), ("morr", ["a/x", "a/y", "b/x"])):
        desk = Desk(plan, name)
        for operator in ("a/x", "a/y", "b/x"):
            desk.feed(operator, 2)
        assert [desk.run().unit.id for _ in expected] == expected


def test_lotteries_draw_by_tickets():
    costs = {"h": 10.0, "l": 10.0}
    for name in ("ml", "mol"):
        desk = Desk(queries(costs, {"high": (3, ["h"]), "low": (1, ["l"])}), name)
        counts = dict.fromkeys("hl", 0)
        for _ in range(4000):
            feed_all(desk, costs)
            counts[desk.run().unit.id[0]] += 1
        assert counts["h"] / 4000 == pytest.approx(0.75, abs=0.03)


def test_pct_keeps_a_slot_for_each_class():
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    desk = Desk(plan, "pct", slots=3)
    for name in "abc":
        desk.feed(f"{name}/x", 2)
    assert [claim and claim.decision.unit.id for claim in (desk.begin(slot) for slot in range(3))] == ["a", "c", None]


def test_pct_s_gives_the_most_important_a_second_thread():
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    desk = Desk(plan, "pct-s", slots=3)
    for name in "abc":
        desk.feed(f"{name}/x")
    assert [desk.begin(slot).decision.unit.id for slot in range(3)] == ["a", "b", "c"]


def test_pct_threads_wait_in_line_when_slots_are_few():
    plan = queries(dict.fromkeys("abc", 1.0), {"one": (2, ["a", "b"]), "two": (1, ["c"])})
    desk = Desk(plan, "pct", slots=1)
    ran = []
    for _ in range(6):
        feed_all(desk, "abc")
        ran.append(desk.run().unit.id)
    assert "".join(ran) == "abcabc"
