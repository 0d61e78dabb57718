"""Queues in front of simulated operators, as the scheduler and calls see them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headgate.plan.model import Edge
from headgate.runtime.simulated.selectivity import Item
from headgate.scheduling.board import Gate

if TYPE_CHECKING:
    from headgate.runtime.simulated.network import NetworkNode


class SimulatedQueue(deque[Item]):
    """The FIFO in front of an operator's input. Two queues are never the same, whatever is in them."""

    __slots__ = ("edge", "gate", "item_bytes", "node")
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def __init__(self, edge: Edge, node: NetworkNode, item_bytes: float) -> None:
        super().__init__()
        self.edge = edge
        self.gate = Gate()  # the board's, once there is one
        self.node = node
        self.item_bytes = item_bytes

    count = property(len)  # the scheduler's word; deque's method is not used

    @property
    def oldest(self) -> float | None:
        return self[0][0] if self else None

    @property
    def bytes(self) -> float:
        if self.node.fluid:
            return self.item_bytes * sum(item[2] for item in self)
        return self.item_bytes * len(self)


class JointQueue:
    """All inputs of an operator together, as the scheduler and single units see them.

    A union of 50 has 50 queues, and most are empty most of the time: `filled` has all that are not, and maybe some
    that have become empty since they were last looked at.
    """

    __slots__ = ("filled",)

    def __init__(self) -> None:
        self.filled: dict[SimulatedQueue, None] = {}

    @property
    def first(self) -> SimulatedQueue | None:
        """The input with the oldest first tuple; of equals, the first input."""
        filled = self.filled
        if len(filled) > 1:
            for queue in [queue for queue in filled if not queue]:
                del filled[queue]
            return min(filled, key=_age, default=None)
        return next(filter(None, filled), None)

    @property
    def count(self) -> int:
        return sum(map(len, self.filled))

    @property
    def oldest(self) -> float | None:
        if len(self.filled) == 1:  # nearly always, and a call asks several times
            (queue,) = self.filled
            return queue[0][0] if queue else None
        first = self.first
        return None if first is None else first[0][0]

    @property
    def bytes(self) -> float:
        return sum(queue.bytes for queue in self.filled)


class InputQueue(SimulatedQueue):
    """The queue of one of several inputs: it tells the joint queue when there is something in it."""

    __slots__ = ("_filled",)

    def __init__(self, edge: Edge, node: NetworkNode, item_bytes: float, joint: JointQueue) -> None:
        super().__init__(edge, node, item_bytes)
        self._filled = joint.filled

    def append(self, item: Item) -> None:
        self._filled[self] = None
        deque.append(self, item)

    def appendleft(self, item: Item) -> None:
        self._filled[self] = None
        deque.appendleft(self, item)

    def extend(self, items: Iterable[Item]) -> None:
        self._filled[self] = None
        deque.extend(self, items)


def _age(queue: SimulatedQueue) -> tuple[float, int]:
    return queue[0][0], queue.edge.input


def _wake_nothing(gate: Gate) -> None:
    """Before there is a board, nobody is woken."""


class SynchronizedInputs:
    """The inputs of an operator that consumes in the order of time stamps.

    A tuple can be processed when every other input has brought one as late, or has ended: before that, an earlier one
    might still come. Operators in front tell how far they have come even when they pass nothing on. So where rates are
    low, tuples wait for each other.
    """

    def __init__(self) -> None:
        self.queues: list[SynchronizedQueue] = []
        self.wake: Callable[[Gate], None] = _wake_nothing  # the board's, once there is one

    def release(self) -> None:
        """Let all tuples go on that no other input can precede any more."""
        low = min(queue.reached for queue in self.queues)
        for queue in self.queues:
            if queue.held and queue.held[0][0] <= low:
                queue.release_until(low)
                self.wake(queue.gate)


class SynchronizedQueue(InputQueue):
    """The queue of one of several inputs: what is in it can be processed, what it holds back cannot yet."""

    __slots__ = ("held", "inputs", "reached")

    def __init__(
        self, edge: Edge, node: NetworkNode, item_bytes: float, joint: JointQueue, inputs: SynchronizedInputs
    ) -> None:
        super().__init__(edge, node, item_bytes, joint)
        self.held: deque[Item] = deque()
        self.reached = -math.inf  # nothing earlier will come
        self.inputs = inputs
        inputs.queues.append(self)

    def append(self, item: Item) -> None:
        self.held.append(item)
        self.reached = max(self.reached, item[0])
        self.inputs.release()

    def extend(self, items: Iterable[Item]) -> None:
        for item in items:
            self.append(item)

    def reach(self, time: float) -> None:
        """Nothing earlier than that will come any more."""
        if time > self.reached:
            self.reached = time
            self.inputs.release()

    def release_until(self, low: float) -> None:
        for item in self.take_held_back(low):
            InputQueue.append(self, item)

    def take_held_back(self, low: float) -> list[Item]:
        """Take out what it holds back, up to a time."""
        held, released = self.held, []
        while held and held[0][0] <= low:
            released.append(held.popleft())
        return released

    def appendleft(self, item: Item) -> None:
        """A call that was stopped gives it back."""
        if item[0] <= min(queue.reached for queue in self.inputs.queues):
            InputQueue.appendleft(self, item)
        else:
            self.held.appendleft(item)
