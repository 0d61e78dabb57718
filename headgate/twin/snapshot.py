"""All that is needed of a running application to forecast how it goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.learning import LearnedStats
from headgate.metrics.recent_rate import STEP_S, WINDOW_S
from headgate.plan.model import Edge, Plan
from headgate.plan.windows import Clock
from headgate.qos.settings import OptimizerSettings
from headgate.scheduling.call_profile import CallProfile, TimedCall
from headgate.scheduling.core import Core
from headgate.scheduling.core_settings import CoreSettings


@dataclass(frozen=True)
class TimeLine:
    """How the time of a stream goes with the arrivals of its tuples, in ticks and microseconds."""

    begin: float = 0.0
    pace: float = 1.0

    def time(self, arrival: NDArray[np.float64]) -> NDArray[np.float64]:
        """The times of tuples that arrive then."""
        return self.begin + self.pace * arrival

    def arrival(self, time: float) -> float:
        """When a tuple with this time arrives."""
        return (time - self.begin) / self.pace if self.pace > 0.0 else time


@dataclass(frozen=True)
class StreamTrace:
    """What came on a stream lately."""

    period_s: float  # the steps come again after that time
    steps: Sequence[tuple[float, int]]  # seconds since the period began, tuples
    tuple_bytes: float | None
    line: TimeLine
    open: bool  # may more come?


@dataclass(frozen=True)
class Snapshot:
    """A running application at one moment."""

    at: float  # seconds since the run began
    settings: CoreSettings
    optimizer: OptimizerSettings
    stats: LearnedStats
    calls: Mapping[tuple[str, ...], Sequence[TimedCall]]
    pause_s: float
    wake_s: float
    round_s: float | None
    reading_s: float
    boundary_rows: Mapping[str, float]
    ages: Mapping[str, Sequence[float]]  # query -> how much older results of a boundary are than it, microseconds
    streams: Mapping[str, StreamTrace]
    waiting: Mapping[Edge, NDArray[np.float64]]  # arrivals of the tuples in queues, seconds
    shed: Mapping[Edge, int]  # what shedders are set to


def take_snapshot(core: Core, optimizer: OptimizerSettings) -> Snapshot:
    """Of a core that nobody else changes meanwhile. It shares the statistics with it: pickle it at once."""
    profile, now = core.profile, core.board.now
    lines = {name: _line(core.plan, name, profile) for name in core.plan.streams}
    # A twin has no values, so what a shedder drops cannot depend on them.
    queries = {name: replace(query, shed=None) for name, query in core.plan.queries.items()}
    plan = replace(core.plan, queries=queries).without_connectors()
    return Snapshot(
        at=now,
        settings=replace(core.settings, plan=plan),
        optimizer=optimizer,
        stats=core.stats,
        calls={key: list(calls) for key, calls in profile.calls.items()},
        pause_s=profile.pause.value or 0.0,
        wake_s=profile.wake.value or 0.0,
        round_s=profile.round.value,
        reading_s=profile.reading.value or 0.0,
        boundary_rows={name: mean.value for name, mean in profile.boundary_rows.items() if mean.value is not None},
        ages={name: _ages(core.plan, name, profile, lines) for name in profile.stamps},
        streams={name: _trace(core, name, lines[name]) for name in core.plan.streams},
        waiting={edge: queue.arrivals() for edge, queue in core.queues.items() if queue.count},
        shed={edge: shedder.extra for edge, shedder in core.shedders.items() if shedder.extra},
    )


def _line(plan: Plan, stream: str, profile: CallProfile) -> TimeLine:
    if plan.streams[stream].clock is Clock.ARRIVAL or stream not in profile.times:
        return TimeLine()
    first, last = profile.times[stream]
    took = last.arrival - first.arrival
    pace = (last.time - first.time) / took if took > 0 else 1.0
    return TimeLine(last.time - pace * last.arrival, pace)


def _ages(plan: Plan, query: str, profile: CallProfile, lines: Mapping[str, TimeLine]) -> list[float]:
    line = next(lines[name] for name in plan.streams if query in plan.readers(name))
    return [max(0.0, line.arrival(moment.time) - moment.arrival) for moment in profile.stamps[query]]


def _trace(core: Core, stream: str, line: TimeLine) -> StreamTrace:
    now = core.board.now
    found = core.recent.steps(stream, now)
    first = found[0][0] if found else now
    # A stream that has been read for less than the window comes again from its first tuple on.
    begins = max(first, now - WINDOW_S) if first > now - WINDOW_S + 2 * STEP_S else now - WINDOW_S
    steps = [(max(0.0, at - begins), count) for at, count in found]
    size = core.stats.stream_bytes(stream)
    return StreamTrace(max(STEP_S, now - begins), steps, size, line, stream in core.time.open)
