"""The input of a call: which waiting tuples it takes, and in which order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import merge

from headgate.runtime.simulated.network import NetworkNode
from headgate.runtime.simulated.queues import SimulatedQueue, SynchronizedQueue
from headgate.runtime.simulated.selectivity import Item

Waiting = tuple[Item, SimulatedQueue]  # a tuple and the queue that it waits in


class CallInput:
    """Takes tuples out of the queues when the call begins: all of them, or the oldest `bound`.

    The oldest tuple over all queues of the unit comes first, except that a partly processed one precedes all others.
    """

    def __init__(self, nodes: Iterable[NetworkNode], bound: int | None) -> None:
        self._bound = bound
        self._taken: dict[NetworkNode, deque[Waiting]] = {}
        for node in nodes if bound is None else ():
            if waiting := take_all(node):
                self._taken[node] = waiting
        if bound is not None:
            self._take_oldest([queue for node in nodes for queue in node.queues], bound)

    def next(self, node: NetworkNode) -> Waiting | None:
        """The next tuple for an operator; None when the call has no more for it."""
        waiting = self._taken.get(node)
        return waiting.popleft() if waiting else None

    def rest(self, node: NetworkNode) -> deque[Waiting]:
        """All remaining tuples that the call has for an operator."""
        return self._taken.pop(node, deque())

    def has(self, node: NetworkNode) -> bool:
        """Does the call have a tuple for an operator?"""
        return bool(self._taken.get(node))

    def release(self, inputs: Sequence[SynchronizedQueue], limit: float) -> None:
        """Also take the tuples that the inputs of an operator held back, up to a time, unless the call is bounded."""
        if self._bound is None:
            held = [[(item, queue) for item in queue.take_held_back(limit)] for queue in inputs]
            if any(held):
                (node,) = {queue.node for queue in inputs}
                self._taken.setdefault(node, deque()).extend(merge(*held, key=arrival))

    def _take_oldest(self, queues: list[SimulatedQueue], bound: int) -> None:
        if len(queues) == 1:
            queue = queues[0]
            self._taken[queue.node] = deque((queue.popleft(), queue) for _ in range(min(bound, len(queue))))
            return
        for queue in queues:
            if bound > 0 and queue.node.partial is queue:
                self._taken[queue.node] = deque([(queue.popleft(), queue)])
                bound -= 1
        for _ in range(bound):
            heads = [(queue[0][0], at) for at, queue in enumerate(queues) if queue]
            if not heads:
                return
            queue = queues[min(heads)[1]]
            self._taken.setdefault(queue.node, deque()).append((queue.popleft(), queue))


class LazyCallInput(CallInput):
    """Takes tuples as the call gets to them, because a time budget may reach only the first few of a long queue."""

    def __init__(self) -> None:
        super().__init__((), None)

    def next(self, node: NetworkNode) -> Waiting | None:
        queue = node.partial
        if queue is None:
            queue = min((q for q in node.queues if q), key=lambda q: q[0][0], default=None)
        return (queue.popleft(), queue) if queue else None

    def rest(self, node: NetworkNode) -> deque[Waiting]:
        return deque()  # nothing was taken, so there is nothing to give back

    def has(self, node: NetworkNode) -> bool:
        return any(node.queues)

    def release(self, inputs: Sequence[SynchronizedQueue], limit: float) -> None:
        """Do nothing: they are released when the call has ended."""


def arrival(waiting: Waiting) -> float:
    """When a waiting tuple arrived."""
    return waiting[0][0]


def take_all(node: NetworkNode) -> deque[Waiting]:
    """Empty an operator's queues: a partly processed tuple first, then the oldest first."""
    queues = node.queues
    if len(queues) == 1:
        taken = deque((item, queues[0]) for item in queues[0])
    else:
        first = node.partial
        started = [(first.popleft(), first)] if first else []
        rows = [[(item, queue) for item in queue] for queue in queues if queue]
        taken = deque([*started, *merge(*rows, key=arrival)])
    for queue in queues:
        queue.clear()
    return taken
