"""Expected costs of units, by hand."""

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.plan.operators import Declared, Port, Union
from headgate.plan.operators.base import DeclaredSide
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from headgate.scheduling.costs import cost_per_tuple, grain, train_length
from tests.conformance.plans import feeder, make_plan, project, select, split, union


class Waiting:
    """A queue for the scheduler's eyes."""

    def __init__(self, count=0):
        self.count = count
        self.oldest = 0.0 if count else None
        self.bytes = 8.0 * count


def board_of(plan, unit="query", call_fixed_s=0.0, **waiting):
    queues = {edge: Waiting(waiting.get(edge.operator.removeprefix("q/"), 0)) for edge in plan.edges}
    policy = make_policy("rr", {"unit": unit})
    return Board(plan, queues, policy, DeclaredStats(plan), 1, call_fixed_s=call_fixed_s)


def test_a_chain_counts_each_operator_as_often_as_it_is_reached():
    operators = [select("q/a", "s", 2.0, 0.5), select("q/b", "q/a", 4.0, 0.25), project("q/c", "q/b", 8.0)]
    board = board_of(make_plan({"s": feeder()}, operators, {"q": "q/c"}), a=3)
    assert cost_per_tuple(board.units[0], board) == pytest.approx(2 + 0.5 * 4 + 0.125 * 8)


def two_streams():
    """Tuples of s cost 1 + 0.5 * 4, those of t 7 + 4."""
    operators = [
        select("q/cheap", "s", 1.0, 0.5),
        project("q/dear", "t", 7.0),
        union("q/both", "q/cheap", "q/dear", cost=4.0),
    ]
    return make_plan({"s": feeder(), "t": feeder()}, operators, {"q": "q/both"})


@pytest.mark.parametrize(
    ("waiting", "expected"),
    [
        ({}, (3 + 11) / 2),
        ({"cheap": 5}, 3),
        ({"dear": 5}, 11),
        ({"cheap": 30, "dear": 10}, 0.75 * 3 + 0.25 * 11),
        ({"both": 9}, (3 + 11) / 2),  # left inside by another policy: no entry
    ],
)
def test_several_entries_are_weighted_by_what_waits(waiting, expected):
    board = board_of(two_streams(), call_fixed_s=28.0, **waiting)
    assert cost_per_tuple(board.units[0], board) == pytest.approx(expected)
    assert grain(board.units[0], board) == -(-28 // expected)


def test_a_path_counts_the_other_way_into_its_union():
    board = board_of(two_streams(), unit="path")
    cheap = next(unit for unit in board.units if "q/cheap" in unit.operators)
    board.units[cheap.index].queues[cheap.edges.index(Edge("q/both", 1))].count = 3
    board.units[cheap.index].queues[cheap.edges.index(Edge("q/cheap", 0))].count = 1
    assert cost_per_tuple(cheap, board) == pytest.approx(0.25 * 3 + 0.75 * 4)


def test_branches_and_unknown_costs():
    operators = [
        split("q/split", "s", {"l": 0.25, "r": 0.5}, cost=1.0),
        project("q/l", "q/split.l", 8.0),
        project("q/r", "q/split.r", 2.0),
        union("q/u", "q/l", "q/r", cost=4.0),
    ]
    plan = make_plan({"s": feeder()}, operators, {"q": "q/u"})
    board = board_of(plan)
    assert cost_per_tuple(board.units[0], board) == pytest.approx(1 + 0.25 * 8 + 0.5 * 2 + 0.75 * 4)
    unknown = make_plan({"s": feeder()}, [select("q/a", "s", None)], {"q": "q/a"})
    board = board_of(unknown)
    assert cost_per_tuple(board.units[0], board) is None
    assert grain(board.units[0], board) is None


def test_a_tuple_costs_what_its_side_costs():
    """From s: 10, then 2 results for 3 each. From t: 4, then half a result."""
    sides = (DeclaredSide(10.0, 2.0), DeclaredSide(4.0, 0.5))
    both = Union(id="q/both", inputs=(Port("s"), Port("t")), declared=Declared(fixed_s=0.0, sides=sides))
    plan = make_plan({"s": feeder(), "t": feeder()}, [both, project("q/out", "q/both", 3.0)], {"q": "q/out"})
    board = board_of(plan)
    assert cost_per_tuple(board.units[0], board) == pytest.approx(((10 + 2 * 3) + (4 + 0.5 * 3)) / 2)
    for edge, expected in ((Edge("q/both", 0), 10 + 2 * 3), (Edge("q/both", 1), 4 + 0.5 * 3)):
        queues = {e: Waiting(int(e == edge)) for e in plan.edges}
        board = Board(plan, queues, make_policy("rr", {"unit": "query"}), DeclaredStats(plan), 1)
        assert cost_per_tuple(board.units[0], board) == pytest.approx(expected)


@pytest.mark.parametrize(("fixed", "length"), [(0.0, 1), (1.0, 8), (28.0, 8 * 4), (None, None)])
def test_a_train_is_eight_grains_long_where_calls_have_a_fixed_cost(fixed, length):
    board = board_of(two_streams(), call_fixed_s=fixed)
    assert train_length(board.units[0], board) == length


def test_what_leaves_a_unit_need_not_be_known():
    last = Union(id="q/both", inputs=(Port("s"), Port("t")), declared=Declared(fixed_s=0.0, cost_s=4.0))
    board = board_of(make_plan({"s": feeder(), "t": feeder()}, [last], {"q": "q/both"}))
    assert cost_per_tuple(board.units[0], board) == pytest.approx(4.0)
