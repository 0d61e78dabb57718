"""Run an application in virtual time."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.errors import ApplicationError
from headgate.metrics.assumptions import assumptions
from headgate.metrics.latency import LatencyTotal
from headgate.metrics.monitor import Monitor
from headgate.metrics.recent import RecentStatistic
from headgate.plan.model import Query
from headgate.policies.registry import make_policy
from headgate.qos.load import room_of
from headgate.qos.optimizer import Optimizer
from headgate.qos.settings import make_optimizer
from headgate.qos.shedding import SheddingSteps, declared_rates, places_of
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.bookkeeping import Bookkeeper, Progress
from headgate.runtime.simulated.call_completion import CallCompletion, ResultEvent
from headgate.runtime.simulated.calls import CallPlanner
from headgate.runtime.simulated.engine import CallEvent, Engine
from headgate.runtime.simulated.forecast import Forecasts
from headgate.runtime.simulated.joins.frontier import Frontier
from headgate.runtime.simulated.network import Network
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SynchronizedQueue
from headgate.runtime.simulated.shedding import connect_shedders
from headgate.runtime.simulated.single_tuple import SingleTupleUnits
from headgate.runtime.simulated.sources import ArrivalSource, MergedArrivals, make_sources
from headgate.runtime.simulated.timed_changes import TimedChanges
from headgate.scheduling.board import Board


@dataclass(frozen=True)
class Trace:
    """A detailed record of a run. Kept only on request, because it grows with the run."""

    results: list[ResultEvent]
    calls: list[CallEvent]
    memory: list[tuple[float, float]]  # time, bytes queued from that time on


@dataclass(frozen=True)
class SimulationResult:
    """The report (see `Monitor.report`), and counters by operator: in = processed + queued + shed, and out."""

    report: dict[str, Any]
    operators: dict[str, dict[str, int | float]]
    trace: Trace | None = None


def simulate(
    app: CheckedApplication,
    limits: RunLimits,
    monitor: Monitor | None = None,
    *,
    trace: bool = False,
    fast_paths: bool = True,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate an application in virtual time. The same application and seed give the same result, to the last digit.

    Declared costs and selectivities are taken as true. Values that are not declared come from `metrics/assumptions.py`,
    and the report lists them under `assumed`; a tuple keeps its size. `progress(now, tuples processed)` is called about
    every 100,000 tuples. Raises ApplicationError for settings that cannot be simulated, PolicyError for a wrong policy,
    and InvariantError for a bug in a policy or in the simulator.

    Without limits, or with `until_idle`, the run continues until the sources are exhausted and the queues are empty. At
    `seconds` it ends: calls in flight are cut off there, and the tuples that they had not finished count as queued.
    With both limits, a run that becomes idle earlier ends at its last event. `fast_paths` skips decisions that could
    only go one way; the result is the same.
    """
    sources = make_sources(app)
    _refuse_endless(sources, limits)
    end = math.inf if limits.seconds is None else limits.seconds
    monitor = Monitor(app.plan) if monitor is None else monitor
    kept = Trace([], [], []) if trace else None
    wired = _wire(app, sources, end, monitor, kept, progress)
    seconds = wired.engine.run(end, limits.until_idle, fast_paths)
    if kept is not None:
        kept.memory.extend(wired.memory.trace())
    report = monitor.report("simulated", app.policy.name, app.slots, seconds, wired.engine.policy)
    report["decisions"], report["qos"] = wired.optimizer.as_data(), wired.optimizer.scores()
    report["assumed"] = assumptions(app.plan)
    report["rejected"] = {source.stream: source.rejected for source in sources}
    return SimulationResult(report, _counters(wired.network), kept)


class _Wired(NamedTuple):
    """The parts of a simulation that are needed once they are connected."""

    network: Network
    engine: Engine
    memory: QueueMemory
    optimizer: Optimizer


def _wire(
    app: CheckedApplication,
    sources: list[ArrivalSource],
    end: float,
    monitor: Monitor,
    kept: Trace | None,
    progress: Progress | None,
) -> _Wired:
    settings = app.simulator
    network = Network(app, monitor)
    memory = QueueMemory(monitor, keep=kept is not None)
    policy = make_policy(app.policy.name, app.policy.parameters, app.plan)
    singles = SingleTupleUnits(network, settings, wanted=kept is None)

    def latency(class_name: str, now: float, statistic: RecentStatistic, since: float) -> float | None:
        singles.flush(monitor, memory)
        return monitor.recent(class_name, now, statistic, since)

    def results_so_far(queries: Collection[str]) -> LatencyTotal:
        singles.flush(monitor, memory)
        return monitor.results_so_far(queries)

    def inputs(query: str) -> int:
        admission.count()
        return monitor.inputs_so_far(query)

    board = Board(
        app.plan,
        network.queues,
        policy,
        network.stats,
        app.slots,
        call_fixed_s=settings.call_s,
        latency=latency,
        results=results_so_far,
        inputs=inputs,
        joint=network.joint,
        seed=app.seed,
    )
    for edge, queue in network.queues.items():
        queue.fed_units = board.fed_units(edge)
        if isinstance(queue, SynchronizedQueue):
            queue.inputs.wake = board.wake
    results, calls = (kept.results, kept.calls) if kept is not None else (None, None)
    arrivals = MergedArrivals(sources, settings.source_slots, settings.source_cost_s)
    admission = Admission(network, arrivals, board, monitor, memory, end, results)
    planner = CallPlanner(network, board, settings)
    completion = CallCompletion(board, monitor, memory, settings.fluid, results)
    bookkeeper = Bookkeeper(network, board, admission, monitor, memory, singles, progress)
    has_windows = any(node.join is not None for node in network.nodes.values())
    frontier = Frontier(network, admission) if has_windows else None
    connect_shedders(network.shedders, network.queues, memory, lambda: board.now)

    def shedding(query: Query) -> SheddingSteps | None:
        rates = declared_rates(app.plan)
        found = places_of(app.plan, query, network.stats, rates, network.shedders)
        room = partial(room_of, app.plan, query, network.stats, rates, app.slots)
        return SheddingSteps(found, room=room) if found else None

    forecast = Forecasts(app, app.optimizer.candidates, lambda other, limits: simulate(other, limits).report)
    optimizer = make_optimizer(board, app.optimizer, app.policy.name, app.seed, shedding, forecast=forecast)
    varying = list(settings.selectivities)
    timed_changes = TimedChanges(app.changes, varying, network, board, monitor, app.policy, optimizer)
    engine = Engine(
        board, admission, planner, completion, singles, bookkeeper, memory, settings, calls, frontier, timed_changes
    )
    return _Wired(network, engine, memory, optimizer)


def _refuse_endless(sources: list[ArrivalSource], limits: RunLimits) -> None:
    endless = [source.stream for source in sources if source.endless]
    if limits.seconds is None and endless:
        raise ApplicationError(
            f"streams.{endless[0]}.source",
            f"the simulation would never end, because stream '{endless[0]}' is endless",
            "give its source `rows`, or bound the run with --seconds",
        )


def _counters(network: Network) -> dict[str, dict[str, int | float]]:
    return {
        node.id: {
            "in": node.entered,
            "processed": node.processed,
            "queued": node.queued,
            "shed": node.shed,
            "out": node.out,
        }
        for node in network.nodes.values()
    }
