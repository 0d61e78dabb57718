"""The decision maker: classes in order, cycles, intervals, and shedding as the last resort."""

from dataclasses import dataclass, field

import pytest

from headgate.plan.model import Edge, Query
from headgate.plan.operators import Port
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.decision_maker import DecisionMaker
from headgate.qos.decisions import Step
from headgate.qos.selectors import TableSelector

LATENCY_S, MEMORY = 0.5, 1000.0


@dataclass
class Steps:
    """Shedding in four steps at one place. `known_load` is what comes over what can be done."""

    most: int = 4
    step: int = 0
    known_load: float | None = None
    log: list[str] = field(default_factory=list)

    @property
    def active(self):
        return self.step > 0

    def load(self, arriving):
        return self.known_load

    def more(self, arriving, in_vain=False):
        if in_vain:
            self.log.append("in vain")
        if self.step == self.most:
            return None
        self.step += 1
        return Step(Edge("q/a", 0), self.step, (self.step - 1) / 10, self.step / 10)

    def could_be_less(self, arriving):
        return self.active

    def less(self):
        if not self.step:
            return None
        self.step -= 1
        return Step(Edge("q/a", 0), self.step, (self.step + 1) / 10, self.step / 10)


def flat(value, until=1000.0):
    return QosGraph(((0.0, value), (until, value)))


def measure(name, priority, *points):
    graph = QosGraph(points) if points else flat(LATENCY_S if name == "latency" else MEMORY)
    return QosMeasure(name, priority, graph)


class Case:
    """A query that starts with `segment`; `at` reports measures and returns what was decided."""

    def __init__(self, *measures, shedding=None):
        query = Query("q", "normal", Port("q/a"), ("q/a",), qos=measures)
        self.maker = DecisionMaker(query, TableSelector(), shedding)
        self.policy = "segment"

    def at(self, now, look_ahead=0.0, **measured):
        found = self.maker.decide(now, look_ahead, measured, self.policy)
        for one in found:
            if one.kind == "switch":
                self.policy = one.after
        return [(one.kind, one.after) for one in found]


GOOD, BAD = 0.1, 2.0


def test_nothing_is_done_while_promises_are_kept_or_nothing_is_known():
    case = Case(measure("latency", "must"))
    assert case.at(1.0, latency=GOOD) == []
    assert case.at(2.0, latency=None) == []


def test_a_violated_must_gets_the_best_policy_and_then_stays():
    """Experiments 6.1 and 6.2.1: one switch to pcs, none afterwards."""
    case = Case(measure("latency", "must"), measure("memory", "dont-care"))
    assert case.at(1.0, latency=BAD, memory=10 * MEMORY) == [("switch", "pcs")]
    assert case.at(2.0, latency=BAD, memory=10 * MEMORY) == []
    assert case.at(3.0, latency=GOOD, memory=10 * MEMORY) == []


def test_a_lower_class_counts_only_when_all_higher_ones_are_satisfied():
    case = Case(measure("latency", "must"), measure("memory", "best-effort"))
    assert case.at(1.0, latency=BAD, memory=10 * MEMORY) == [("switch", "pcs")]
    assert case.at(2.0, latency=BAD, memory=10 * MEMORY) == []
    # The latency is a fifth of what is expected and weighs 0.6, the memory 0.5.
    assert case.at(3.0, latency=GOOD, memory=10 * MEMORY) == [("switch", "simplified-segment")]


def test_t5_two_switches_in_a_circle_weigh_both_measures():
    case = Case(measure("latency", "must"), measure("memory", "must"))
    assert case.at(1.0, latency=BAD, memory=0.0) == [("switch", "pcs")]
    assert case.at(2.0, latency=GOOD, memory=10 * MEMORY) == [("switch", "simplified-segment")]


def test_t5_another_interval_begins_anew():
    points = ((0.0, MEMORY), (10.0, MEMORY), (10.0, MEMORY), (99.0, MEMORY))
    case = Case(measure("latency", "must"), measure("memory", "must", *points))
    assert case.at(1.0, latency=BAD, memory=0.0) == [("switch", "pcs")]
    assert case.at(11.0, latency=GOOD, memory=10 * MEMORY) == [("switch", "segment")]


def test_promises_are_judged_by_what_will_be_expected():
    case = Case(measure("latency", "must", (0.0, 10.0), (5.0, 10.0), (5.0, 0.5), (99.0, 0.5)))
    assert case.at(4.0, look_ahead=0.5, latency=BAD) == []
    assert case.at(4.0, look_ahead=1.5, latency=BAD) == [("switch", "pcs")]


def test_load_is_shed_step_by_step_once_no_policy_is_better():
    case = Case(measure("latency", "must"), shedding=Steps(most=2))
    assert case.at(1.0, latency=BAD) == [("switch", "pcs")]
    assert case.at(2.0, latency=BAD) == [("shed more", 0.1)]
    assert case.at(3.0, latency=BAD) == [("shed more", 0.2)]
    assert case.at(4.0, latency=BAD) == []  # it drops all that it may
    assert case.at(5.0, latency=LATENCY_S * 0.9) == []  # too close to drop less
    assert case.at(6.0, latency=GOOD) == [("shed less", 0.1)]
    assert case.at(7.0, latency=None) == [("shed less", 0.0)]
    assert case.at(8.0, latency=GOOD) == []


def test_lower_classes_neither_shed_nor_end_shedding():
    """Literally, a violation of a lower class would reach the branch that ends shedding."""
    shedding = Steps()
    case = Case(measure("latency", "must"), measure("memory", "best-effort"), shedding=shedding)
    case.policy = "pcs"
    assert case.at(1.0, latency=BAD, memory=10 * MEMORY) == [("shed more", 0.1)]
    assert case.at(2.0, latency=LATENCY_S * 0.9, memory=10 * MEMORY) == []
    assert shedding.active
    case = Case(measure("memory", "best-effort"), shedding=Steps())
    assert case.at(1.0, memory=10 * MEMORY) == []


def test_a_better_policy_ends_shedding():
    points = ((0.0, MEMORY), (10.0, MEMORY), (10.0, MEMORY), (99.0, MEMORY))
    case = Case(measure("latency", "must"), measure("memory", "must", *points), shedding=Steps())
    case.policy = "pcs"
    case.at(1.0, latency=BAD, memory=0.0)
    case.at(2.0, latency=BAD, memory=0.0)
    assert case.at(11.0, latency=GOOD, memory=10 * MEMORY) == [
        ("stop shedding", 0.1),
        ("stop shedding", 0.0),
        ("switch", "segment"),
    ]


def test_in_an_overload_no_time_is_lost_with_policies():
    """No policy makes room for more than can be processed: the better one is taken, and tuples are dropped at once."""
    case = Case(measure("latency", "must"), shedding=Steps(known_load=1.3))
    assert case.at(1.0, latency=BAD) == [("switch", "pcs"), ("shed more", 0.1)]
    again = Case(measure("latency", "must"), shedding=Steps(known_load=1.3))
    reasons = [one.reason for one in again.maker.decide(1.0, 0.0, {"latency": BAD}, "segment")]
    assert all(reason.endswith("130% of what can be processed arrives") for reason in reasons)


def test_a_better_policy_does_not_end_shedding_while_more_comes_than_can_be_done():
    shedding = Steps(known_load=1.3)
    case = Case(measure("latency", "must"), shedding=shedding)
    case.at(1.0, latency=BAD)
    case.policy = "segment"  # somebody has changed it back
    assert case.at(2.0, latency=BAD) == [("switch", "pcs"), ("shed more", 0.2)]
    case.policy, shedding.known_load = "segment", 0.9
    assert case.at(3.0, latency=BAD) == [("stop shedding", 0.1), ("stop shedding", 0.0), ("switch", "pcs")]


def test_an_overload_of_lower_classes_is_a_matter_of_policy_alone():
    case = Case(measure("memory", "best-effort"), shedding=Steps(known_load=1.3))
    case.policy = "pcs"
    assert case.at(1.0, memory=10 * MEMORY) == [("switch", "segment")]


def test_a_latency_is_judged_by_what_an_overload_will_make_of_it():
    """0.13 s of work waited in the middle of the period; of the 2 s from then on, 0.6 s of work are left over."""
    steps = Steps()
    case = Case(measure("latency", "must"), shedding=steps)
    case.policy = "pcs"
    assert case.at(3.0, look_ahead=0.5, latency=0.1) == []
    steps.known_load = 1.3
    (decision,) = case.maker.decide(6.0, 0.5, {"latency": 0.1}, "pcs")
    assert (decision.kind, decision.violated) == ("shed more", ("latency",))
    assert decision.reason == (
        "latency is 100 ms, expected 500 ms; 130% of what can be processed arrives, so latency will be 730 ms"
    )
    assert case.at(9.0, look_ahead=0.5, latency=0.3) == [("shed less", 0.0)]  # what is measured while shedding counts


@pytest.mark.parametrize(("load", "look_ahead"), [(1.0, 0.5), (0.9, 0.5), (None, 0.5), (1.1, 0.1)])
def test_nothing_is_foreseen_without_an_overload_or_if_the_promise_will_hold(load, look_ahead):
    case = Case(measure("latency", "must"), shedding=Steps(known_load=load))
    case.at(3.0, look_ahead=look_ahead, latency=0.3)
    assert case.at(6.0, look_ahead=look_ahead, latency=0.3) == []


def test_what_was_dropped_in_vain_is_said_to_have_been():
    steps = Steps()
    case = Case(measure("latency", "must"), shedding=steps)
    case.policy = "pcs"
    for now, latency in ((1.0, 2.0), (2.0, 1.9), (3.0, 1.9)):
        case.at(now, latency=latency)
    assert steps.log == ["in vain"]  # at 3.0; at 2.0 it had become better, and at 1.0 nothing was dropped yet


def test_a_query_without_tolerance_is_never_shed():
    case = Case(measure("latency", "must"))
    case.policy = "pcs"
    assert case.at(1.0, latency=BAD) == []


def test_the_reason_can_be_read():
    maker = DecisionMaker(Query("q", "n", Port("a"), (), qos=(measure("latency", "must"),)), TableSelector(), None)
    (decision,) = maker.decide(1.0, 0.0, {"latency": 2.0}, "segment")
    assert decision.reason.startswith("latency is 2,000 ms, expected 500 ms; scores pcs 1, simplified-segment 0.75")
    assert decision.as_data()["scores"] == {"rr": 0.5, "pcs": 1.0, "segment": 0.25, "simplified-segment": 0.75}
