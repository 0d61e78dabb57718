"""How far the inputs of joins have come: what the oldest tuple is that may still reach a window."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from headgate.plan.model import Edge
from headgate.runtime.simulated.calls import RunningCall
from headgate.runtime.simulated.draws import Item
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.light import LightUnit
from headgate.runtime.simulated.network import Network, Node
from headgate.runtime.simulated.pairing import upstream_edges
from headgate.runtime.simulated.queues import SimulatedQueue


@dataclass(frozen=True)
class _Cone:
    """All that lies in front of one side of a join."""

    queues: tuple[SimulatedQueue, ...]
    nodes: frozenset[Node]
    in_order: bool  # one way from one stream: tuples come in the order of their arrival


class Frontier:
    """Keeps the windows of joins as small as they can be. Asked after each call that ran a join."""

    def __init__(self, network: Network, entrance: Entrance) -> None:
        self._entrance = entrance
        self._cones: dict[Node, tuple[_Cone, _Cone]] = {}
        for node in network.nodes.values():
            if node.join is not None:
                self._cones[node] = (self._cone(network, Edge(node.id, 0)), self._cone(network, Edge(node.id, 1)))

    def tidy(self, call: RunningCall, flying: Iterable[tuple[RunningCall | None, LightUnit | None, Item]]) -> None:
        """Drop what the joins of an ended call need no more; `flying` is what other calls have in their hands."""
        for node in {stage.step.node for stage in call.stages}:
            if node.join is not None and node.join.untidy:
                held = list(flying)
                left, right = self._cones[node]
                (one, seen), (two, also) = self._oldest(left, held), self._oldest(right, held)
                node.join.tidy((one, two), seen + also)

    def _cone(self, network: Network, edge: Edge) -> _Cone:
        queues = tuple(dict.fromkeys(network.queues[found] for found in upstream_edges(network.plan, edge)))
        nodes = frozenset(queue.node for queue in queues if queue.edge.operator != edge.operator)
        return _Cone(queues, nodes, all(len(node.queues) == 1 for node in nodes))

    def _oldest(
        self, cone: _Cone, flying: list[tuple[RunningCall | None, LightUnit | None, Item]]
    ) -> tuple[float, int]:
        """The earliest arrival of what may still come by a side, and how many tuples were looked at for it."""
        oldest, seen = self._entrance.next_arrival, 0
        for queue in cone.queues:
            waiting = (queue[0],) if queue and cone.in_order else queue
            oldest = min(oldest, min((item[0] for item in waiting), default=math.inf))
            seen += len(waiting)
        for call, light, item in flying:
            if light is not None and light.node in cone.nodes:
                oldest = min(oldest, item[0])
            for stage in call.stages if call is not None else ():
                if stage.step.node in cone.nodes:
                    oldest = min(oldest, min((one[0] for one in stage.items), default=math.inf))
                    seen += len(stage.items)
        return oldest, seen
