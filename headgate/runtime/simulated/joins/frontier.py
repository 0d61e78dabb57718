"""How far the inputs of joins have advanced: the oldest tuple that may still reach a window."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from headgate.plan.model import Edge
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.calls import RunningCall
from headgate.runtime.simulated.joins.from_plan import upstream_edges
from headgate.runtime.simulated.network import Network, NetworkNode
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.selectivity import Item
from headgate.runtime.simulated.single_tuple import SingleTupleUnit


@dataclass(frozen=True)
class _Upstream:
    """All queues and operators upstream of one side of a join."""

    queues: tuple[SimulatedQueue, ...]
    nodes: frozenset[NetworkNode]
    in_order: bool  # a single path from one stream, so tuples come in the order of their arrival


class Frontier:
    """Keeps the windows of joins as small as possible. Called after each call that ran a join."""

    def __init__(self, network: Network, admission: Admission) -> None:
        self._admission = admission
        self._upstream: dict[NetworkNode, tuple[_Upstream, _Upstream]] = {}
        for node in network.nodes.values():
            if node.join is not None:
                self._upstream[node] = (
                    self._upstream_of(network, Edge(node.id, 0)),
                    self._upstream_of(network, Edge(node.id, 1)),
                )

    def tidy(
        self, call: RunningCall, in_flight: Iterable[tuple[RunningCall | None, SingleTupleUnit | None, Item]]
    ) -> None:
        """Drop what the joins of an ended call no longer need; `in_flight` are the other calls and their tuples."""
        for node in {stage.step.node for stage in call.stages}:
            if node.join is not None and node.join.untidy:
                held = list(in_flight)
                left, right = self._upstream[node]
                (one, seen), (two, also) = self._oldest(left, held), self._oldest(right, held)
                node.join.tidy((one, two), seen + also)

    def _upstream_of(self, network: Network, edge: Edge) -> _Upstream:
        queues = tuple(dict.fromkeys(network.queues[found] for found in upstream_edges(network.plan, edge)))
        nodes = frozenset(queue.node for queue in queues if queue.edge.operator != edge.operator)
        return _Upstream(queues, nodes, all(len(node.queues) == 1 for node in nodes))

    def _oldest(
        self, upstream: _Upstream, in_flight: list[tuple[RunningCall | None, SingleTupleUnit | None, Item]]
    ) -> tuple[float, int]:
        """The earliest arrival that may still reach a side, and how many tuples were examined to find it."""
        oldest, seen = self._admission.next_arrival, 0
        for queue in upstream.queues:
            waiting = (queue[0],) if queue and upstream.in_order else queue
            oldest = min(oldest, min((item[0] for item in waiting), default=math.inf))
            seen += len(waiting)
        for call, single, item in in_flight:
            if single is not None and single.node in upstream.nodes:
                oldest = min(oldest, item[0])
            for stage in call.stages if call is not None else ():
                if stage.step.node in upstream.nodes:
                    oldest = min(oldest, min((one[0] for one in stage.items), default=math.inf))
                    seen += len(stage.items)
        return oldest, seen
