"""The state of a core between calls: what a checkpoint holds of it, and how another core goes on from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.errors import InvariantError
from headgate.plan.model import Edge
from headgate.scheduling.core import Core


def state_of(core: Core) -> dict[str, Any]:
    """What a core of the same plan needs to go on from here: values that JSON can hold, but for the rows that wait.

    These are Arrow tables, or `queue.FiledRows`. No call may be in flight. Shedders and the policy begin anew, so
    nothing is kept of them. SpillError: rows that wait on disk cannot be held.
    """
    if core.board.calls_in_flight:
        raise InvariantError("the state of a core was asked for while a call is in flight")
    return {
        "queues": [[*edge, queue.state()] for edge, queue in core.queues.items()],
        "due": sorted(core.due),
        "time": core.time.state(),
        "stats": core.stats.state(),
        "work": core.work.state(),
    }


def restore(core: Core, state: Mapping[str, Any]) -> None:
    """Let a core that has handled no event go on from a state, in which all rows are tables.

    What the state says of operators and streams that are not in the plan is left out. SpillError: what waits is too
    much for memory, and the disk failed.
    """
    for operator, index, queue in state["queues"]:
        if Edge(operator, index) in core.queues:
            core.queues[Edge(operator, index)].restore(queue)
    core.time.restore(state["time"])
    core.stats.restore(state["stats"])
    core.work.restore({query: fit for query, fit in state["work"].items() if query in core.plan.queries})
    core.board.call_fixed_s = core.stats.call_fixed_s
    core.board.learned()
    core.mark_due(name for name in state["due"] if name in core.plan.operators)
    for edge, queue in core.queues.items():
        if queue.count:
            core.board.fed(edge)
