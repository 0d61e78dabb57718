"""The board: who may run, who runs, and what survives a change of policy."""

import math

import pytest

from headgate.errors import InvariantError
from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from headgate.scheduling.policy import Decision, Policy, PolicyError
from headgate.scheduling.units import Group
from tests.conformance.plans import feeder, make_plan, project
from tests.policies.boards import Waiting


class Recording(Policy):
    """Oldest unit number first; remembers what it was told."""

    name = "recording"

    def start(self, view):
        super().start(view)
        self.ready, self.calls, self.rounds = [], [], 0

    def became_ready(self, unit):
        self.ready.append(unit.id)

    def choose(self, slot):
        ready = self.view.ready()
        return Decision(ready[0], ends_round=True) if ready else None

    def finished(self, call):
        self.calls.append((call.unit.id, call.slot, call.seconds, call.tuples, call.preempted))

    def round_ended(self):
        self.rounds += 1


@pytest.fixture
def plan():
    operators = [project("q/a", "s"), project("q/b", "q/a"), project("r/c", "q/a")]
    return make_plan({"s": feeder()}, operators, {"q": "q/b", "r": "r/c"})


def make_board(plan, policy, slots=2):
    queues = {edge: Waiting() for edge in plan.edges}
    return Board(plan, queues, policy, DeclaredStats(plan), slots), queues


def feed(board, queues, operator, *arrivals):
    queues[Edge(operator, 0)].arrivals += arrivals
    board.fed(Edge(operator, 0))


def test_a_unit_is_announced_once_claimed_once_and_announced_again(plan):
    policy = Recording()
    board, queues = make_board(plan, policy)
    feed(board, queues, "q/a", 1.0)
    feed(board, queues, "q/a", 2.0)
    assert (policy.ready, board.ready_units, board.memory) == (["q/a"], 1, 16.0)
    board.now = 3.0
    claim = board.claim(0)
    assert (claim.decision.unit.id, claim.slot, claim.started, board.calls_in_flight) == ("q/a", 0, 3.0, 1)
    assert board.claim(1) is None
    assert policy.rounds == board.rounds == 1
    board.now = 5.0
    board.release(claim, 1, 0)
    assert policy.calls == [("q/a", 0, 2.0, 1, False)]
    assert policy.ready == ["q/a", "q/a"]
    assert (board.ready_units, board.calls_in_flight) == (1, 0)


def test_overlapping_units_wait_for_each_other(plan):
    policy = make_policy("fifo")  # by path: both paths contain q/a
    board, queues = make_board(plan, policy)
    feed(board, queues, "r/c", 0.5)
    feed(board, queues, "q/a", 1.0)
    assert board.ready_units == 2
    claim = board.claim(0)
    assert (claim.decision.unit.id, board.ready_units) == ("r#1", 0)
    feed(board, queues, "q/b", 0.1)
    assert board.claim(1) is None
    board.release(claim, 0, 0)
    assert board.ready_units == 2


def test_a_policy_replaced_during_a_call_inherits_what_the_call_blocks(plan):
    board, queues = make_board(plan, Recording())
    feed(board, queues, "q/a", 1.0)
    claim = board.claim(0)
    successor = Recording()
    board.install(successor)
    assert board.claim(1) is None
    board.release(claim, 0, 0)
    assert successor.calls == []  # the call was not its own
    assert successor.ready == ["q/a"]
    assert board.claim(0) is not None


def test_time_given_to_a_stopped_tuple_is_seen_by_every_unit_and_policy(plan):
    board, queues = make_board(plan, make_policy("fifo"))
    feed(board, queues, "q/a", 1.0)
    board.spend(Edge("q/a", 0), 0.25)
    assert [unit.spent for unit in board.units] == [0.25, 0.25]
    board.install(Recording())
    assert [unit.spent for unit in board.units] == [0.25, 0, 0]
    board.spend(Edge("q/a", 0), 0.0)
    assert [unit.spent for unit in board.units] == [0, 0, 0]


def test_a_ready_unit_of_several_queues_is_announced_again(plan):
    policy = Recording()
    policy.unit = "query"
    board, queues = make_board(plan, policy)
    feed(board, queues, "q/b", 2.0)
    feed(board, queues, "q/a", 1.0)
    assert policy.ready == ["q", "q", "r"]
    assert board.ready_units == 2
    board.claim(0)
    feed(board, queues, "q/a", 3.0)
    assert policy.ready == ["q", "q", "r"]  # both are blocked


def test_a_refused_policy_leaves_the_board_as_it_was(plan):
    class Partial(Recording):
        def units(self, plan, stats):
            return [Group("some", ("q/a",))]

    policy = Recording()
    board, queues = make_board(plan, policy)
    units = board.units
    with pytest.raises(ValueError, match="leave out"):
        board.install(Partial(), plan.without({"r"}))
    assert (board.policy, board.plan, board.units) == (policy, plan, units)
    feed(board, queues, "q/a", 1.0)
    assert board.claim(0).decision.unit is units[0]


@pytest.mark.parametrize(
    "bounds", [{"tuples": 0}, {"tuples": -1}, {"seconds": 0.0}, {"seconds": -1.0}, {"seconds": math.nan}], ids=str
)
def test_a_bound_that_lets_nothing_through_is_an_error(plan, bounds):
    class Stingy(Recording):
        def choose(self, slot):
            return Decision(self.view.units[0], **bounds)

    board, queues = make_board(plan, Stingy())
    feed(board, queues, "q/a", 1.0)
    with pytest.raises(PolicyError, match=r"policy recording gives q/a .*: a bound must be above 0"):
        board.claim(0)
    assert (board.ready_units, board.calls_in_flight) == (1, 0)


def test_policies_hear_of_new_statistics_and_may_ask_for_other_units(plan):
    class Moody(Recording):
        mood = False

        def units(self, plan, stats):
            return [Group("all", tuple(plan.operators))] if self.mood else super().units(plan, stats)

        def regroups(self, plan, stats):
            return self.mood

    policy = Moody()
    board, queues = make_board(plan, policy)
    feed(board, queues, "q/a", 1.0)
    units = board.units
    board.learned()
    assert (board.stats_version, board.units) == (1, units)
    policy.mood = True
    board.learned()
    assert (board.stats_version, [unit.id for unit in board.units]) == (2, ["all"])
    assert (board.policy, policy.ready) == (policy, ["all"])


def test_broken_laws_are_errors(plan):
    class Wrong(Recording):
        def choose(self, slot):
            return None if slot else Decision(self.view.units[1])

    board, queues = make_board(plan, Wrong())
    feed(board, queues, "q/a", 1.0)
    with pytest.raises(InvariantError, match="slot 1 idle while q/a could run"):
        board.claim(1)
    with pytest.raises(PolicyError, match="chose q/b, which cannot run"):
        board.claim(0)
    board, queues = make_board(plan, Recording())
    feed(board, queues, "q/a", 1.0)
    board.claim(0)
    with pytest.raises(InvariantError, match="slot 0 asks for a call while it runs q/a"):
        board.claim(0)
