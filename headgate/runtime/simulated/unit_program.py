"""What a call of a unit does: the unit's operators in order, and where their outputs go."""

from __future__ import annotations

from headgate.metrics.monitor import ResultTap
from headgate.runtime.simulated.network import Network, NetworkNode
from headgate.runtime.simulated.queues import SimulatedQueue, SynchronizedQueue
from headgate.scheduling.units import Unit


class Branch:
    """One output of an operator as a unit sees it: queues inside the unit, queues outside, sinks."""

    __slots__ = ("inner", "outer", "queued_bytes", "taps")

    def __init__(
        self, inner: tuple[SimulatedQueue, ...], outer: tuple[SimulatedQueue, ...], taps: tuple[ResultTap, ...]
    ) -> None:
        self.inner = inner
        self.outer = outer
        self.taps = taps
        self.queued_bytes = sum(queue.item_bytes for queue in (*inner, *outer))


class ProgramStep:
    """An operator of a unit and where its outputs go."""

    __slots__ = ("branches", "inputs", "node")

    def __init__(self, node: NetworkNode, branches: tuple[Branch, ...], inputs: tuple[SynchronizedQueue, ...]) -> None:
        self.node = node
        self.branches = branches
        self.inputs = inputs  # the synchronized inputs, if other operators of the unit feed them


class UnitProgram:
    """The steps of a unit, made once per unit. A queue inside the unit is served later in the same call."""

    __slots__ = ("steps",)

    def __init__(self, unit: Unit, network: Network) -> None:
        place = {name: i for i, name in enumerate(unit.operators)}
        self.steps: list[ProgramStep] = []
        fed: set[SimulatedQueue] = set()  # inside the unit
        for at, name in enumerate(unit.operators):
            node = network.nodes[name]
            branches = []
            for port in node.ports:
                outlet = network.outlets[port]
                inside = [place.get(queue.node.id, -1) > at for queue in outlet.queues]
                inner = tuple(q for q, within in zip(outlet.queues, inside, strict=True) if within)
                outer = tuple(q for q, within in zip(outlet.queues, inside, strict=True) if not within)
                branches.append(Branch(inner, outer, outlet.taps))
                fed.update(inner)
            inputs = () if fed.isdisjoint(node.queues) else node.queues
            self.steps.append(
                ProgramStep(node, tuple(branches), tuple(q for q in inputs if isinstance(q, SynchronizedQueue)))
            )
