"""How much a call takes: a decision's budget in tuples, or in seconds turned into tuples by the statistics."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress

import numpy as np

from headgate.plan.model import Edge, Plan
from headgate.scheduling.board import Board
from headgate.scheduling.costs import cost_per_tuple, fixed_cost, grain
from headgate.scheduling.policy import Decision
from headgate.scheduling.queue import BatchQueue, SpillError
from headgate.scheduling.reference import Rows
from headgate.scheduling.suspect_rows import SuspectRows
from headgate.scheduling.units import Unit

MOST_ROWS = 1_000_000  # in one call, whatever the policy says: calls must stay short and fit into memory
# A call over a reference is planned for it and starts tasks, so with fewer rows it would be mostly overhead.
LEAST_REFERRED_ROWS = 500_000
PREEMPTIBLE_S = 0.1  # a preemptive policy gets to decide again this often: Spark calls are not stopped


def operators_to_run(unit: Unit, plan: Plan) -> tuple[str, ...]:
    """The operators of a call: all of the unit. If tuples wait inside it, only the last one at which some do.

    They were left there by an earlier policy with smaller units, whose calls are still prepared. A call that takes
    input both from outside and in the middle would have to be planned and compiled, to be used once.
    """
    if unit.alone and len(unit.operators) > 1:
        for edge, queue in zip(reversed(unit.edges), reversed(unit.queues), strict=True):
            if queue.count and plan.operators[edge.operator].inputs[edge.input].node in unit.operators:
                return (edge.operator,)
    return unit.operators


def take_input(decision: Decision, operators: Collection[str], board: Board, suspects: SuspectRows) -> dict[Edge, Rows]:
    """Take a call's input out of the queues of these operators: the oldest tuples of all of them, but only a part of
    suspect rows.

    SpillError: some of it is on disk and cannot be read; nothing was removed.
    """
    unit = decision.unit
    waiting: list[tuple[Edge, BatchQueue]] = []
    for edge, queue in zip(unit.edges, unit.queues, strict=True):
        assert isinstance(queue, BatchQueue)
        if queue.count and edge.operator in operators:
            waiting.append((edge, queue))
    referred = max((queue.referred_next for _, queue in waiting), default=0)
    shares = oldest_first([queue for _, queue in waiting], _rows(decision, board, referred))
    taken: dict[Edge, Rows] = {}
    try:
        for (edge, queue), share in zip(waiting, shares, strict=True):
            most = suspects.most(edge)
            table = queue.take(share if most is None else min(share, most))
            if table is not None:
                taken[edge] = table
    except SpillError:
        for edge, queue in waiting:
            if edge in taken:
                with suppress(SpillError):  # even if they cannot go back to disk, the tuples are in the queue
                    queue.put_back(taken[edge])
        raise
    return taken


def oldest_first(queues: Sequence[BatchQueue], limit: int) -> list[int]:
    """How many tuples of each queue are among the `limit` oldest.

    Of equally old tuples, those of the first queue come first. A queue need not be in order of arrival: a tuple behind
    a younger one has to wait for it, so it counts as if it were as young.
    """
    counts = [queue.count for queue in queues]
    if sum(counts) <= limit:
        return counts
    if len(queues) == 1:
        return [limit]
    heads = [np.maximum.accumulate(queue.arrivals(limit)) for queue in queues]
    owners = np.repeat(np.arange(len(queues)), [len(head) for head in heads])
    first = np.argsort(np.concatenate(heads), kind="stable")[:limit]
    return [int(share) for share in np.bincount(owners[first], minlength=len(queues))]


def _rows(decision: Decision, board: Board, referred: int) -> int:
    """How many rows a call takes; `referred` is how many there are by reference, and do not need the driver's memory.

    A budget takes a part of these, but not a small one.
    """
    most = max(MOST_ROWS, referred)
    return max(_allowed(decision, board, min(most, decision.tuples or most)), min(referred, LEAST_REFERRED_ROWS))


def _allowed(decision: Decision, board: Board, rows: int) -> int:
    seconds = decision.seconds
    if seconds is None and board.policy.preemptive:
        seconds = PREEMPTIBLE_S
    if seconds is None:
        return rows
    fixed, cost = fixed_cost(decision.unit, board), cost_per_tuple(decision.unit, board)
    if fixed is None or not cost:
        return rows  # nothing is known yet: take everything, and learn from it
    # A quantum below the fixed cost leaves no room for any tuple. Then take as many as keep the call from being
    # mostly overhead (see `grain`).
    fitting = int((seconds - fixed) / cost)
    return min(rows, max(fitting, grain(decision.unit, board) or 1))
