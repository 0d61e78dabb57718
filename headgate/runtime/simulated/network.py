"""The plan as the simulator runs it: an operator is a cost, a draw and queues."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import repeat

from headgate.control.monitor import Monitor, Tap
from headgate.control.stats import OperatorStats
from headgate.flow.board import Gate
from headgate.flow.seeds import derived_seed
from headgate.flow.sizes import port_bytes
from headgate.plan.application import Application
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator, Port
from headgate.runtime.simulated.draws import Draw, Item, branch_selectivities, factors, make_draw


class SimulatedQueue(deque[Item]):
    """The FIFO in front of an operator's input. Two queues are never the same, whatever is in them."""

    __slots__ = ("edge", "gate", "item_bytes", "node")
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__

    def __init__(self, edge: Edge, node: Node, item_bytes: float) -> None:
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


class Node:
    """An operator: its true costs in seconds, its draw, its queues, and its counters.

    When a call was stopped in the middle of a tuple, `partial` is the queue at whose head that tuple stands, `left`
    what it still needs and `spent` what it was given. A node has at most one: it is always continued first.
    """

    __slots__ = (
        "cost",
        "draw",
        "entered",
        "fixed",
        "fluid",
        "id",
        "left",
        "noise",
        "out",
        "partial",
        "passes_all",
        "ports",
        "processed",
        "queues",
        "shed",
        "spent",
    )

    def __init__(self, operator: Operator, app: Application) -> None:
        declared, settings = operator.declared, app.simulator
        self.id = operator.id
        self.ports = operator.ports
        self.cost = declared.cost_s or 0.0
        self.fixed = declared.fixed_s or 0.0
        self.fluid = settings.fluid
        self.draw: Draw = make_draw(operator, app.seed, settings.fluid)
        self.passes_all = not self.fluid and tuple(branch_selectivities(operator).values()) == (1.0,)
        self.noise: Iterator[float] = repeat(1.0)
        if settings.noise:
            self.noise = factors(derived_seed(app.seed, "costs", operator.id), settings.noise)
        self.queues: tuple[SimulatedQueue, ...] = ()
        self.partial: SimulatedQueue | None = None
        self.left = 0.0
        self.spent = 0.0
        self.entered = 0  # tuples put into its queues; entered = processed + queued + in a call + shed
        self.processed = 0
        self.shed = 0
        self.out: int | float = 0  # tuples given out, all branches together; weights in a fluid simulation

    @property
    def queued(self) -> int:
        return sum(len(queue) for queue in self.queues)


class Outlet:
    """What happens to the tuples of a port: copies to queues, results to sinks."""

    __slots__ = ("held_bytes", "queues", "taps")

    def __init__(self, queues: tuple[SimulatedQueue, ...], taps: tuple[Tap, ...]) -> None:
        self.queues = queues
        self.taps = taps
        self.held_bytes = sum(queue.item_bytes for queue in queues)  # a tuple and its copies


class Network:
    """All operators, queues and outlets of a plan; made for one simulation."""

    def __init__(self, app: Application, monitor: Monitor) -> None:
        plan = app.plan
        self.plan: Plan = plan
        self.nodes = {name: Node(operator, app) for name, operator in plan.operators.items()}
        sizes = port_bytes(plan)
        self.queues: dict[Edge, SimulatedQueue] = {}
        for operator in plan.operators.values():
            node = self.nodes[operator.id]
            edges = [Edge(operator.id, i) for i in range(len(operator.inputs))]
            node.queues = tuple(
                SimulatedQueue(edge, node, sizes[port]) for edge, port in zip(edges, operator.inputs, strict=True)
            )
            self.queues.update(zip(edges, node.queues, strict=True))
        self.outlets: dict[Port, Outlet] = {
            port: Outlet(
                tuple(self.queues[edge] for edge in plan.consumers[port]),
                tuple(monitor.tap(query) for query in plan.sinks.get(port, ())),
            )
            for port in plan.schemas
        }
        self.readers = {  # the queries that read each stream, through operators or as it is
            name: tuple(dict.fromkeys((*plan.readers(name), *plan.sinks.get(Port(name), ())))) for name in plan.streams
        }


class TrueStats:
    """What the simulator goes by, as the statistics that policies see: declared values, and for what is not declared
    cost 0, selectivity 1 and the size of the input."""

    def __init__(self, plan: Plan) -> None:
        sizes = port_bytes(plan)
        self._stats = {}
        for operator in plan.operators.values():
            shares = branch_selectivities(operator)
            branches: Mapping[str, float] = {} if tuple(shares) == ("",) else shares
            self._stats[operator.id] = OperatorStats(
                operator.declared.fixed_s or 0.0,
                operator.declared.cost_s or 0.0,
                sum(shares.values()),
                sizes[operator.ports[0]],
                branches,
            )

    def of(self, operator: str) -> OperatorStats:
        return self._stats[operator]
