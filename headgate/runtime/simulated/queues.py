"""Queues in front of simulated operators, as the scheduler and calls see them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headgate.plan.model import Edge
from headgate.runtime.simulated.selectivity import Item
from headgate.scheduling.board import FedUnits

if TYPE_CHECKING:
    from headgate.runtime.simulated.network import NetworkNode


class SimulatedQueue(deque[Item]):
    """The FIFO in front of an operator's input. Two queues are never equal, whatever they contain."""

    __slots__ = ("edge", "fed_units", "item_bytes", "node")
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def __init__(self, edge: Edge, node: NetworkNode, item_bytes: float) -> None:
        super().__init__()
        self.edge = edge
        self.fed_units = FedUnits()  # the board's, once there is one
        self.node = node
        self.item_bytes = item_bytes

    count = property(len)  # the scheduler's name for the length; deque's own `count` is not used

    @property
    def oldest(self) -> float | None:
        return self[0][0] if self else None

    @property
    def bytes(self) -> float:
        if self.node.fluid:
            return self.item_bytes * sum(item[2] for item in self)
        return self.item_bytes * len(self)


class JointQueue:
    """All inputs of an operator together, as the scheduler and single-tuple units see them.

    A union of 50 inputs has 50 queues, and most are empty most of the time. `filled` has every queue that is not empty,
    and perhaps some that have become empty since it was last checked.
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
        if len(self.filled) == 1:  # nearly always, and this is asked several times per call
            (queue,) = self.filled
            return queue[0][0] if queue else None
        first = self.first
        return None if first is None else first[0][0]

    @property
    def bytes(self) -> float:
        return sum(queue.bytes for queue in self.filled)


class InputQueue(SimulatedQueue):
    """The queue of one of several inputs; it registers with the joint queue when it receives tuples."""

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


def _wake_nothing(fed_units: FedUnits) -> None:
    """Do nothing: the default before there is a board."""


class SynchronizedInputs:
    """The inputs of an operator that consumes tuples in the order of their time stamps.

    A tuple can be processed once every other input has received one at least as late, or has ended; before that, an
    earlier one might still arrive. Upstream operators report how far they have advanced even when they pass nothing on.
    As a result, tuples wait for each other where rates are low.
    """

    def __init__(self) -> None:
        self.queues: list[SynchronizedQueue] = []
        self.wake: Callable[[FedUnits], None] = _wake_nothing  # the board's, once there is one

    def release(self) -> None:
        """Release all tuples that no other input can precede any more."""
        low = min(queue.reached for queue in self.queues)
        for queue in self.queues:
            if queue.held and queue.held[0][0] <= low:
                queue.release_until(low)
                self.wake(queue.fed_units)


class SynchronizedQueue(InputQueue):
    """The queue of one of several synchronized inputs. Its tuples can be processed; those in `held` cannot yet."""

    __slots__ = ("held", "inputs", "reached")

    def __init__(
        self, edge: Edge, node: NetworkNode, item_bytes: float, joint: JointQueue, inputs: SynchronizedInputs
    ) -> None:
        super().__init__(edge, node, item_bytes, joint)
        self.held: deque[Item] = deque()
        self.reached = -math.inf  # no tuple earlier than this will come
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
        """No tuple earlier than `time` will come any more."""
        if time > self.reached:
            self.reached = time
            self.inputs.release()

    def release_until(self, low: float) -> None:
        for item in self.take_held_back(low):
            InputQueue.append(self, item)

    def take_held_back(self, low: float) -> list[Item]:
        """Take out the tuples that are held back, up to a time."""
        held, released = self.held, []
        while held and held[0][0] <= low:
            released.append(held.popleft())
        return released

    def appendleft(self, item: Item) -> None:
        """Put back a tuple of a call that was stopped."""
        if item[0] <= min(queue.reached for queue in self.inputs.queues):
            InputQueue.appendleft(self, item)
        else:
            self.held.appendleft(item)
