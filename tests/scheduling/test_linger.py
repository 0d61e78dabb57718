"""Units with little input wait a little, so that a call is worth its fixed cost."""

from dataclasses import replace

import headgate as hg
from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from tests.conformance.plans import feeder, make_plan, select
from tests.policies.boards import Waiting

CALL_S, TUPLE_S = 0.010, 0.001  # so a call is worth making for 10 tuples
LINGER_S = 0.2


class LingeringBoard:
    """Two queries, one of which lingers; the test moves the clock."""

    def __init__(self, call_fixed_s=CALL_S, cost_s=TUPLE_S, is_due=lambda unit: False, slots=1):
        operators = [select("patient", "s", cost_s), select("prompt", "s", cost_s)]
        plan = make_plan({"s": feeder()}, operators, {"a": "patient", "b": "prompt"})
        plan = replace(plan, queries={**plan.queries, "a": replace(plan.queries["a"], linger_s=LINGER_S)})
        self.queues = {edge: Waiting() for edge in plan.edges}
        policy, stats = make_policy("rr", {"unit": "query"}), DeclaredStats(plan)
        self.board = Board(plan, self.queues, policy, stats, slots, call_fixed_s, is_due=is_due)

    def feed(self, operator, tuples=1):
        self.queues[Edge(operator, 0)].arrivals += [self.board.now] * tuples
        self.board.fed(Edge(operator, 0))

    def wait_until(self, now):
        self.board.now = now
        self.board.end_lingers()

    @property
    def ready(self):
        return [unit.id for unit in self.board.ready()]


def test_a_unit_lingers_until_its_oldest_tuple_has_waited_long_enough():
    at = LingeringBoard()
    at.feed("patient")
    at.feed("prompt")
    assert at.ready == ["b"]
    assert at.board.linger.next == LINGER_S
    at.wait_until(0.15)
    at.feed("patient")  # a later tuple does not make it wait longer
    assert at.ready == ["b"]
    at.wait_until(LINGER_S)
    assert at.ready == ["a", "b"]
    assert at.board.linger.next == float("inf")


def test_a_batch_that_is_worth_a_call_does_not_wait():
    at = LingeringBoard()
    at.feed("patient", 9)
    assert not at.ready
    at.feed("patient")
    assert at.ready == ["a"]


def test_nobody_lingers_where_calls_cost_nothing_or_costs_are_unknown():
    for fixed in (0.0, None):
        at = LingeringBoard(call_fixed_s=fixed)
        at.feed("patient")
        assert at.ready == ["a"]


def test_a_unit_that_is_due_does_not_linger():
    at = LingeringBoard(is_due=lambda unit: True)
    at.feed("patient")
    assert at.ready == ["a"]


def test_a_unit_that_becomes_less_patient_does_not_wait_as_long_as_before():
    at = LingeringBoard()
    at.feed("patient")
    plan = at.board.plan
    at.board.set_classes(replace(plan, queries={**plan.queries, "a": replace(plan.queries["a"], linger_s=0.0)}))
    assert at.ready == ["a"]


def test_what_arrives_during_a_call_lingers_after_it():
    at = LingeringBoard()
    at.feed("patient", 10)
    claim = at.board.claim(0)
    at.queues[Edge("patient", 0)].arrivals.clear()
    at.board.now = 0.05
    at.feed("patient")
    at.board.now = 0.06
    at.board.release(claim, 10, 0)
    assert not at.ready
    at.wait_until(0.05 + LINGER_S)
    assert at.ready == ["a"]


def test_costs_that_were_learned_count_from_then_on():
    at = LingeringBoard()
    at.feed("patient", 5)
    assert not at.ready
    at.board.call_fixed_s = CALL_S / 2
    at.board.learned()
    at.feed("patient", 0)
    assert at.ready == ["a"]


def simulated(linger, rate=100):
    """A query whose tuples come 10 ms apart, while a call of it costs 8 ms."""
    app = hg.Application(policy={"name": "rr", "unit": "query"}, slots=1, simulator={"call": "8ms"})
    source = hg.sources.Feeder(rate=rate, rows=1000, arrivals="constant")
    app.stream("s", "k INT", source=source)
    app.add_class("only", priority=1, linger=linger)
    operators = [{"id": "pass", "kind": "select", "input": "s", "where": "k >= 0", "cost": "1us", "selectivity": 1}]
    app.query("q", operators=operators, in_class="only")
    return app.simulate()


def test_in_the_simulator_calls_become_fewer_and_latency_grows_by_at_most_the_linger():
    prompt, patient = simulated(None), simulated("50 ms")
    assert prompt.classes["only"].latency.mean < 0.0082
    assert 0.025 < patient.classes["only"].latency.mean < 0.050 + 0.0082
    assert patient.classes["only"].latency.max < 0.050 + 0.009
    assert patient.classes["only"].outputs == prompt.classes["only"].outputs == 1000


def test_a_query_may_be_less_patient_than_its_class():
    app = hg.Application()
    app.stream("s", "k INT", source=hg.sources.Feeder(rate=1, rows=1))
    app.add_class("only", priority=1, linger="10 ms")
    app.query("patient", "SELECT k FROM s", in_class="only")
    app.query("prompt", "SELECT k FROM s", in_class="only", linger=0)
    queries = app.explain().to_dict()["queries"]
    assert (queries["patient"]["linger"], queries["prompt"]["linger"]) == (0.01, 0.0)
