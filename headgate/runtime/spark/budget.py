"""How much a call takes: a decision's budget in tuples, or in seconds turned into tuples by the statistics."""

from __future__ import annotations

import pyarrow as pa

from headgate.flow.board import Board
from headgate.flow.queue import BatchQueue
from headgate.plan.model import Edge
from headgate.policies.base import Decision
from headgate.policies.costs import cost_per_tuple, fixed_cost, grain

MOST_ROWS = 1_000_000  # in one call, whatever the policy says: a call must end in reasonable time and memory
PREEMPTIBLE_S = 0.1  # a preemptive policy gets to decide anew at least this often


def take(decision: Decision, board: Board) -> dict[Edge, pa.Table]:
    """Remove a call's input from the unit's queues; the queue with the oldest tuple gives first."""
    unit = decision.unit
    left = _rows(decision, board)
    taken: dict[Edge, pa.Table] = {}
    waiting = [(q.oldest, e, q) for e, q in zip(unit.edges, unit.queues, strict=True) if q.count]
    for _, edge, queue in sorted(waiting, key=lambda entry: entry[:2]):
        assert isinstance(queue, BatchQueue)
        table = queue.take(left)
        if table is not None and table.num_rows:
            taken[edge] = table
            left -= table.num_rows
        if left <= 0:
            break
    return taken


def _rows(decision: Decision, board: Board) -> int:
    rows = min(MOST_ROWS, decision.tuples or MOST_ROWS)
    seconds = decision.seconds
    if seconds is None and board.policy.preemptive:
        seconds = PREEMPTIBLE_S
    if seconds is None:
        return rows
    fixed, cost = fixed_cost(decision.unit, board), cost_per_tuple(decision.unit, board)
    if fixed is None or not cost:
        return rows  # nothing known yet: everything, and the next call will know
    # A quantum below the fixed cost would leave room for no tuple at all: then the call is at least not mostly
    # overhead (see `grain`).
    fitting = int((seconds - fixed) / cost)
    return min(rows, max(fitting, grain(decision.unit, board) or 1))
