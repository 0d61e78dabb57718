"""Run an application in virtual time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.errors import ApplicationError
from headgate.metrics.assumptions import assumptions
from headgate.metrics.monitor import Monitor
from headgate.metrics.recent import Look
from headgate.policies.registry import make_policy
from headgate.runtime.simulated.accounts import Accounts, Progress
from headgate.runtime.simulated.agenda import Agenda
from headgate.runtime.simulated.calls import CallPlanner
from headgate.runtime.simulated.closing import CallCloser, ResultEvent
from headgate.runtime.simulated.engine import CallEvent, Engine
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.frontier import Frontier
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.light import LightUnits
from headgate.runtime.simulated.network import Network
from headgate.runtime.simulated.queues import StepQueue
from headgate.runtime.simulated.sources import Merged, Source, make_sources
from headgate.scheduling.board import Board


@dataclass(frozen=True)
class Trace:
    """What happened, in detail. Kept only when asked for: it grows with the run."""

    results: list[ResultEvent]
    calls: list[CallEvent]
    memory: list[tuple[float, float]]  # time, bytes queued from then on


@dataclass(frozen=True)
class SimulationResult:
    """The report (see `Monitor.report`), and per operator: in = processed + queued + shed, and what came out."""

    report: dict[str, Any]
    operators: dict[str, dict[str, int | float]]
    trace: Trace | None = None


def simulate(
    app: CheckedApplication,
    limits: RunLimits,
    monitor: Monitor | None = None,
    *,
    trace: bool = False,
    short_cuts: bool = True,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate an application with virtual time. Same application and seed, same result, to the last digit.

    Declared costs and selectivities are the truth. What is not declared is taken from `metrics/assumptions.py`, and the
    report names it under `assumed`; a tuple keeps its size. `progress(now, tuples processed)` is called about every
    100,000 tuples. Raises ApplicationError for settings that cannot be simulated, PolicyError for a wrong policy,
    InvariantError for a bug in a policy or here.

    Without limits, or with `until_idle`, the run goes on until sources are exhausted and queues empty. At `seconds` it
    ends: calls in flight are cut there, so that what they had not finished counts as queued. With both, a run that is
    idle sooner took until its last event. With `short_cuts`, decisions that are not open are not asked for; the answer
    is the same.
    """
    sources = make_sources(app)
    _refuse_endless(sources, limits)
    end = math.inf if limits.seconds is None else limits.seconds
    monitor = Monitor(app.plan) if monitor is None else monitor
    kept = Trace([], [], []) if trace else None
    network, engine, ledger = _wire(app, sources, end, monitor, kept, progress)
    seconds = engine.run(end, limits.until_idle, short_cuts)
    if kept is not None:
        kept.memory.extend(ledger.trace())
    report = monitor.report("simulated", app.policy.name, app.slots, seconds, engine.policy)
    report["assumed"] = assumptions(app.plan)
    report["rejected"] = {source.stream: source.rejected for source in sources}
    return SimulationResult(report, _counters(network), kept)


def _wire(
    app: CheckedApplication,
    sources: list[Source],
    end: float,
    monitor: Monitor,
    kept: Trace | None,
    progress: Progress | None,
) -> tuple[Network, Engine, Ledger]:
    settings = app.simulator
    network = Network(app, monitor)
    ledger = Ledger(monitor, keep=kept is not None)
    policy = make_policy(app.policy.name, app.policy.parameters)
    lights = LightUnits(network, settings, wanted=kept is None)

    def latency(class_name: str, now: float, look: Look, since: float) -> float | None:
        lights.flush(monitor, ledger)
        return monitor.recent(class_name, now, look, since)

    board = Board(
        app.plan,
        network.queues,
        policy,
        network.stats,
        app.slots,
        call_fixed_s=settings.call_s,
        latency=latency,
        joint=network.joint,
        seed=app.seed,
    )
    for edge, queue in network.queues.items():
        queue.gate = board.gate(edge)
        if isinstance(queue, StepQueue):
            queue.step.wake = board.wake
    results, calls = (kept.results, kept.calls) if kept is not None else (None, None)
    arrivals = Merged(sources, settings.source_slots, settings.source_cost_s)
    entrance = Entrance(network, arrivals, board, monitor, ledger, end, results)
    planner = CallPlanner(network, board, settings)
    closer = CallCloser(board, monitor, ledger, settings.fluid, results)
    accounts = Accounts(network, board, entrance, monitor, ledger, lights, progress)
    has_windows = any(node.join is not None for node in network.nodes.values())
    frontier = Frontier(network, entrance) if has_windows else None
    agenda = Agenda(app.changes, list(settings.selectivities), network, board, monitor)
    engine = Engine(board, entrance, planner, closer, lights, accounts, ledger, settings, calls, frontier, agenda)
    return network, engine, ledger


def _refuse_endless(sources: list[Source], limits: RunLimits) -> None:
    endless = [source.stream for source in sources if source.endless]
    if limits.seconds is None and endless:
        raise ApplicationError(
            f"streams.{endless[0]}.source",
            f"the simulation would never end: stream '{endless[0]}' is endless",
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
