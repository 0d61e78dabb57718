"""Snapshots of runs that never were: applications with made-up call times, rates and queues."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from headgate.metrics.stats import OperatorStats
from headgate.plan.model import Plan, PolicySettings
from headgate.policies.registry import make_policy
from headgate.qos.settings import OptimizerSettings
from headgate.scheduling.call_profile import TimedCall
from headgate.scheduling.core import Core
from headgate.scheduling.core_settings import CoreSettings
from headgate.scheduling.events import TuplesArrived
from headgate.twin.snapshot import Snapshot, StreamTrace, TimeLine, take_snapshot
from headgate.twin.stand_ins import StreamMaker

AT = 20.0  # seconds after the run began
FIXED_S, TUPLE_S = 0.002, 0.0001
BY_TURNS, WATCHING = PolicySettings("rr", {"unit": "query"}), OptimizerSettings("none")


class KnownStats:
    """The statistics that a run has learned."""

    def __init__(self, plan: Plan, passing: Mapping[str, float], fixed_s: float, tuple_s: float) -> None:
        self.call_fixed_s = fixed_s
        self.operators = plan.operators
        self._passing = passing
        self._tuple_s = tuple_s

    def of(self, operator: str) -> OperatorStats:
        return OperatorStats(0.0, self._tuple_s, self._passing.get(operator, 1.0), 40.0)

    def arrived(self, stream: str, rows: int, size: int) -> None:
        """Nothing more is learned."""

    def learn(self, *_: object, **__: object) -> None:
        """Nor this."""

    def stream_bytes(self, stream: str) -> float:
        return 40.0


def snapshot_of(
    plan: Plan,
    rates: Mapping[str, float],
    passing: Mapping[str, float] | None = None,
    policy: PolicySettings = BY_TURNS,
    slots: int = 1,
    waiting: Mapping[str, int] | None = None,
    fixed_s: float = FIXED_S,
    tuple_s: float = TUPLE_S,
    optimizer: OptimizerSettings = WATCHING,
    **more: object,
) -> Snapshot:
    """Of a run in which tuples come at steady rates. A call costs `fixed_s`, and each of its tuples at each operator
    `tuple_s`; `waiting` tuples of a stream came just now."""
    stats = KnownStats(plan, passing or {}, fixed_s, tuple_s)
    core = Core(CoreSettings(plan, policy.name, policy.parameters, slots), make_policy, stats=stats, began=AT)  # type: ignore[arg-type]
    for stream, count in (waiting or {}).items():
        trace = StreamTrace(1.0, (), 40.0, TimeLine(), True)
        arrivals = np.full(count, round(AT * 1e6))
        core.handle(TuplesArrived(AT, {stream: StreamMaker(plan.streams[stream], trace).table(arrivals)}, (), AT))
    taken = take_snapshot(core, optimizer)
    steps = {name: _steady(rates.get(name, 0.0)) for name in plan.streams}
    streams = {name: replace(one, period_s=1.0, steps=steps[name]) for name, one in taken.streams.items()}
    return replace(taken, streams=streams, **more)  # type: ignore[arg-type]


def _steady(rate: float) -> list[tuple[float, int]]:
    return [(at * 0.05, round(rate * 0.05)) for at in range(20)] if rate else []


def calls(fixed_s: float, tuple_s: float, sizes: tuple[int, ...] = (5, 10, 20, 40, 80)) -> deque[TimedCall]:
    """Calls on a straight line."""
    return deque(TimedCall(rows, fixed_s + tuple_s * rows) for rows in sizes)


def copied(snapshot: Snapshot) -> Snapshot:
    """As the helper process gets it."""
    found: Snapshot = pickle.loads(pickle.dumps(snapshot))
    return found
