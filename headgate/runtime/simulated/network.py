"""The plan as the simulator runs it: an operator is a cost, a random draw and its queues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import repeat

from headgate.application.checked import CheckedApplication
from headgate.metrics.assumptions import ASSUMED_COST_S, ASSUMED_SELECTIVITY
from headgate.metrics.monitor import Monitor, ResultTap
from headgate.metrics.stats import OperatorStats, declared_stats
from headgate.metrics.tuple_sizes import port_bytes
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator, Port
from headgate.runtime.simulated.joins.from_plan import pair_joins
from headgate.runtime.simulated.joins.join_window import RowsExtent
from headgate.runtime.simulated.joins.pair_join import PairJoin
from headgate.runtime.simulated.queues import (
    InputQueue,
    JointQueue,
    SimulatedQueue,
    SynchronizedInputs,
    SynchronizedQueue,
)
from headgate.runtime.simulated.selectivity import (
    Draw,
    SidedDraw,
    make_draw,
    make_sided_draw,
    make_varying_draw,
    noise_factors,
)
from headgate.runtime.simulated.shedding import KeyShedder, SheddingInputQueue, SheddingQueue, key_shedders
from headgate.seeds import derived_seed


class NetworkNode:
    """An operator: its true costs in seconds, its draw, its queues and its counters.

    With several inputs, `joint` stands for all its queues. If the inputs differ, `side_costs` has a cost for each (and
    `cost` is 1, to be multiplied by it) and `sided_draw` replaces `draw`; `join` is the state of a join that is
    simulated pair by pair.
    If a call was stopped in the middle of a tuple, `partial` is the queue whose head is that tuple, `left` the seconds
    that it still needs and `spent` the seconds spent on it. A node has at most one such tuple, and continues it first.
    """

    __slots__ = (
        "cost",
        "draw",
        "entered",
        "fixed",
        "fluid",
        "id",
        "join",
        "joint",
        "left",
        "multiplies",
        "noise",
        "out",
        "partial",
        "passes_all",
        "ports",
        "processed",
        "queues",
        "shed",
        "side_costs",
        "sided_draw",
        "spent",
        "synchronized_readers",
    )

    def __init__(
        self, operator: Operator, app: CheckedApplication, stats: OperatorStats, join: PairJoin | None
    ) -> None:
        settings = app.simulator
        self.id = operator.id
        self.ports = operator.ports
        self.fixed = operator.declared.fixed_s or 0.0
        self.fluid = settings.fluid
        sides = [stats.side(index) for index in range(len(operator.inputs))]
        costs = tuple(ASSUMED_COST_S if side.cost_s is None else side.cost_s for side in sides)
        passed = [ASSUMED_SELECTIVITY if side.selectivity is None else side.selectivity for side in sides]
        self.side_costs = costs if len(set(costs)) > 1 else None
        self.cost = costs[0] if self.side_costs is None else 1.0
        shares = dict(stats.branches) or {"": passed[0]}
        self.draw: Draw = make_draw(operator, shares, app.seed, settings.fluid)
        self.join = join
        self.sided_draw: SidedDraw | None = None
        if join is not None:
            self.sided_draw = join.draw
        elif len(set(passed)) > 1:
            self.sided_draw = make_sided_draw(operator, passed, app.seed, settings.fluid)
        profile = settings.selectivities.get(operator.id)
        if profile is not None:
            self.draw = make_varying_draw(operator, profile, app.seed)
        self.multiplies = len(shares) > 1 or max(passed) > 1.0  # may one tuple give more than one output?
        constant = self.sided_draw is None and profile is None
        self.passes_all = not self.fluid and constant and tuple(shares.values()) == (1.0,)
        self.noise: Iterator[float] = repeat(1.0)
        if settings.noise:
            self.noise = noise_factors(derived_seed(app.seed, "costs", operator.id), settings.noise)
        self.queues: tuple[SimulatedQueue, ...] = ()
        # Queues that must learn how far the operator has advanced, even when it passes no tuples.
        self.synchronized_readers: tuple[SynchronizedQueue, ...] = ()
        self.joint = JointQueue() if len(operator.inputs) > 1 else None
        self.partial: SimulatedQueue | None = None
        self.left = 0.0
        self.spent = 0.0
        self.entered = 0  # tuples put into its queues; entered = processed + queued + in a call + shed
        self.processed = 0
        self.shed = 0
        self.out: int | float = 0  # output tuples of all branches together; weights in a fluid simulation

    @property
    def queued(self) -> int:
        held = sum(len(queue.held) for queue in self.queues if isinstance(queue, SynchronizedQueue))
        return sum(map(len, self.queues)) + held


class Outlet:
    """Where the tuples of a port go: copies to queues, results to sinks."""

    __slots__ = ("queued_bytes", "queues", "taps")

    def __init__(self, queues: tuple[SimulatedQueue, ...], taps: tuple[ResultTap, ...]) -> None:
        self.queues = queues
        self.taps = taps
        self.queued_bytes = sum(queue.item_bytes for queue in queues)  # a tuple and its copies


class Network:
    """All operators, queues and outlets of a plan, made for one simulation."""

    def __init__(self, app: CheckedApplication, monitor: Monitor) -> None:
        plan = app.plan
        self.plan: Plan = plan
        self.stats = TrueStats(plan, app.simulator.switch_s)
        joins = pair_joins(app)
        self.nodes = {
            name: NetworkNode(operator, app, self.stats.of(name), joins.get(name))
            for name, operator in plan.operators.items()
        }
        extents = [extent for join in joins.values() for extent in join.extents]
        self.logs = [extent.log for extent in extents if isinstance(extent, RowsExtent)]  # to be told of arrivals
        sizes = port_bytes(plan)
        shedders = {} if app.simulator.in_step or app.simulator.fluid else key_shedders(plan, app.seed)
        self.queues: dict[Edge, SimulatedQueue] = {}
        for operator in plan.operators.values():
            node = self.nodes[operator.id]
            edges = [Edge(operator.id, i) for i in range(len(operator.inputs))]
            item_bytes = [sizes[port] for port in operator.inputs]
            node.queues = _make_queues(node, edges, item_bytes, app.simulator.in_step, shedders)
            self.queues.update(zip(edges, node.queues, strict=True))
        self.shedders = shedders
        self.joint = {name: node.joint for name, node in self.nodes.items() if node.joint is not None}
        self.outlets: dict[Port, Outlet] = {
            port: Outlet(
                tuple(self.queues[edge] for edge in plan.consumers[port]),
                tuple(monitor.tap(query) for query in plan.sinks.get(port, ())),
            )
            for port in plan.schemas
        }
        for node in self.nodes.values():
            following = [queue for port in node.ports for queue in self.outlets[port].queues]
            node.synchronized_readers = tuple(queue for queue in following if isinstance(queue, SynchronizedQueue))
        self.readers = {  # the queries that read each stream, through operators or as it is
            name: tuple(dict.fromkeys((*plan.readers(name), *plan.sinks.get(Port(name), ())))) for name in plan.streams
        }


def _make_queues(
    node: NetworkNode,
    edges: list[Edge],
    item_bytes: list[float],
    in_step: bool,
    shedders: Mapping[Edge, KeyShedder],
) -> tuple[SimulatedQueue, ...]:
    joint, sized = node.joint, zip(edges, item_bytes, strict=True)
    if joint is None or not in_step:
        return tuple(_make_queue(node, edge, size, shedders.get(edge)) for edge, size in sized)
    inputs = SynchronizedInputs()
    return tuple(SynchronizedQueue(edge, node, size, joint, inputs) for edge, size in sized)


def _make_queue(node: NetworkNode, edge: Edge, size: float, shedder: KeyShedder | None) -> SimulatedQueue:
    if shedder is None:
        return SimulatedQueue(edge, node, size) if node.joint is None else InputQueue(edge, node, size, node.joint)
    queue: SheddingQueue | SheddingInputQueue
    queue = SheddingQueue(edge, node, size) if node.joint is None else SheddingInputQueue(edge, node, size, node.joint)
    queue.shedder = shedder
    return queue


class TrueStats:
    """The simulator's true values, as the statistics that policies see: declared values, values derived from them for
    joins, and for the rest the defaults of `assumptions.py` and the size of the input. The cost of calling an operator
    is part of its fixed cost, as it would be if that were measured."""

    def __init__(self, plan: Plan, switch_s: float) -> None:
        sizes = port_bytes(plan)
        self._stats = {
            name: replace(
                stats,
                fixed_s=switch_s + (stats.fixed_s or 0.0),
                tuple_bytes=sizes[plan.operators[name].ports[0]],
            )
            for name, stats in declared_stats(plan, ASSUMED_COST_S, ASSUMED_SELECTIVITY).items()
        }

    def of(self, operator: str) -> OperatorStats:
        return self._stats[operator]

    def measured(self, operator: str, selectivity: float) -> None:
        """Replace an operator's selectivity, for all its inputs, by the one measured lately."""
        before = self._stats[operator]
        sides = tuple(side._replace(selectivity=selectivity) for side in before.sides)
        self._stats[operator] = replace(before, selectivity=selectivity, sides=sides)

    def stream_bytes(self, stream: str) -> float | None:
        return None
