"""A twin: the core of a run in virtual time, from a snapshot on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.metrics.recent_rate import STEP_S
from headgate.plan.model import Edge, Plan, PolicySettings, Stream
from headgate.plan.operators.base import Port
from headgate.policies.registry import make_policy
from headgate.qos.optimizer import Optimizer
from headgate.qos.settings import OptimizerSettings, make_optimizer
from headgate.scheduling.calls import Call, CallResult, Outcome
from headgate.scheduling.core import Core
from headgate.scheduling.events import CallEnded, Event, SheddingChanged, SlotFree, StreamEnded, TuplesArrived
from headgate.scheduling.instructions import StartCall, StreamRefused, WakeSlots
from headgate.scheduling.shedder import as_read
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.scheduling.units import most_important
from headgate.twin.caller import TwinCaller
from headgate.twin.snapshot import Snapshot, StreamTrace
from headgate.twin.stand_ins import StreamMaker, results

ROUND_S = 0.005  # from one round of the sources to the next, where it was not measured
SAMPLE_S = 0.25  # from one look at what waits to the next
IDLE_WAIT_S = 0.1  # an idle slot asks again after this long, even if nothing woke it

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WhatIf:
    """What is to be different. None: as it is."""

    policy: PolicySettings | None = None
    linger_s: float | None = None  # of all queries
    queries: Mapping[str, PolicySettings] = field(default_factory=dict)  # with policies of their own
    load: float = 1.0  # so many times as many tuples come


class Twin:
    """Runs the core for some seconds. It changes the snapshot, so each twin needs its own."""

    def __init__(self, snapshot: Snapshot, what_if: WhatIf, seed: int = 0) -> None:
        self._snapshot = snapshot
        self.now = snapshot.at
        self.calls = 0  # begun
        settings = replace(snapshot.settings, plan=_changed(snapshot.settings.plan, what_if))
        if what_if.policy is not None:
            settings = replace(settings, policy=what_if.policy.name, parameters=what_if.policy.parameters)
        if what_if.linger_s is not None:
            settings = replace(settings, linger_s=what_if.linger_s)
        self.core = Core(settings, make_policy, stats=snapshot.stats, began=self.now)
        off = replace(snapshot.optimizer, selection="none", linger=False)
        self._optimizer = _watching_only(self.core, off, settings.policy)
        self._caller = TwinCaller(snapshot, seed)
        self._load = what_if.load
        self._makers = {name: StreamMaker(stream, snapshot.streams[name]) for name, stream in _streams(self.core.plan)}
        self._running: dict[int, tuple[float, CallResult]] = {}  # slot -> when its call ends, and how
        self._asks_at = dict.fromkeys(range(settings.slots), self.now)  # idle slots -> when they ask for a call next
        self._waited: defaultdict[str, float] = defaultdict(float)  # class -> bytes, summed over the samples
        self._samples, self._sample_at = 0, self.now
        self._round_s = max(ROUND_S, snapshot.round_s or 0.0)

    def run(self, seconds: float) -> dict[str, Any]:
        """Go on for so long; returns the report of that time, and the score of the promises."""
        end = self.now + seconds
        self._begin(seconds)
        rounds = self.now
        while True:
            self._ask()
            now = min(rounds, self._next_end(), self._next_ask())
            if now >= end:
                break
            self.now = now
            for slot in [slot for slot, (ends, _) in self._running.items() if ends <= now]:
                self._end_call(slot)
            if now >= rounds:
                self._come(now)
                rounds = now + self._rest_s()
                self._sample_memory()
        self.now = end
        return self._report(seconds)

    # Sources ------------------------------------------------------------------------------------------------------

    def _begin(self, seconds: float) -> None:
        """What waits now goes into the queues, and what will come is drawn."""
        for edge, arrivals in self._snapshot.waiting.items():
            self.core.queues[edge].put(self._backlog(edge, (arrivals * 1e6).astype(np.int64)))
            self.core.board.fed(edge)
        for edge, extra in self._snapshot.shed.items():
            self._handle(SheddingChanged(self.now, edge, extra))
        traces = self._snapshot.streams
        self._coming = {name: _coming(traces[name], self._snapshot.at, seconds, self._load) for name in self._makers}
        self._come_until = dict.fromkeys(self._makers, 0)  # tuples that have come, by stream
        for name in self._makers:
            if not traces[name].open:
                self._handle(StreamEnded(self.now, name))
        self._open = [name for name in self._makers if traces[name].open]

    def _backlog(self, edge: Edge, arrivals: NDArray[np.int64]) -> pa.Table:
        source = self.core.plan.operators[edge.operator].inputs[edge.input]
        if source.node in self._makers:
            entrance = StreamEntrance(self.core.plan.streams[source.node])
            return as_read(self.core.plan, edge, entrance.admit(self._makers[source.node].table(arrivals)).table)
        return results(arrivals, arrivals, self._snapshot.stats.of(source.node).tuple_bytes)

    def _come(self, now: float) -> None:
        """A round of the sources."""
        upto = max(self._snapshot.at, now - self._snapshot.reading_s)
        tables: dict[str, pa.Table] = {}
        for name in self._open:
            coming, done = self._coming[name], self._come_until[name]
            last = int(np.searchsorted(coming, upto, side="right"))
            if last > done:
                tables[name] = self._makers[name].table((coming[done:last] * 1e6).astype(np.int64))
                self._come_until[name] = last
        self._handle(TuplesArrived(now, tables, self._open, upto))

    def _rest_s(self) -> float:
        """Until the next round; it begins at a boundary if one is near, as with the real sources."""
        rest = self._round_s
        left = self.core.next_boundary(self.now) - self.now
        return left if rest / 2 <= left < rest * 3 / 2 else rest

    def _sample_memory(self) -> None:
        """Now and then, what waits of each class; shared operators count for the most important one."""
        if self.now < self._sample_at:
            return
        self._sample_at = self.now + SAMPLE_S
        self._samples += 1
        plan = self.core.plan
        for edge, queue in self.core.queues.items():
            if queue.count:
                self._waited[most_important(plan, plan.owners[edge.operator])] += queue.bytes

    # Slots --------------------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        """Let the idle slots whose time has come ask for calls."""
        while (slot := min(self._asks_at, key=self._asks_at.__getitem__, default=None)) is not None:
            if self._asks_at[slot] > self.now:
                return
            self._asks_at[slot] = self.now + IDLE_WAIT_S
            for one in self._handle(SlotFree(self.now, slot)):
                if isinstance(one, StartCall):
                    self._start(one.call)

    def _next_ask(self) -> float:
        """When the next idle slot asks: woken, or by itself."""
        if not self._asks_at:
            return math.inf
        board = self.core.board
        timer = min(board.linger.next, board.policy.review_at, self._optimizer.next)
        self._wake(max(self.now, timer))
        return max(self.now, min(self._asks_at.values()))

    def _wake(self, at: float) -> None:
        """Idle slots ask soon after a time at which something changes."""
        for slot, asks in self._asks_at.items():
            self._asks_at[slot] = min(asks, at + self._snapshot.wake_s)

    def _start(self, call: Call) -> None:
        result = self._caller.run(call, self.core.board, len(self._running))
        self.calls += 1
        self._running[call.slot] = (self.now + result.seconds, result)
        del self._asks_at[call.slot]

    def _end_call(self, slot: int) -> None:
        _, result = self._running.pop(slot)
        written: dict[str, list[pa.Table]] = {}
        for port, table in result.outputs.items():
            for query in self._readers(port):
                kept = self.core.up_to_last_event(query, table)
                if kept.num_rows:
                    written.setdefault(query, []).append(kept)
        self._handle(CallEnded(self.now, slot, Outcome([result]), written))
        self._asks_at[slot] = self.now + self._snapshot.pause_s

    def _readers(self, port: Port) -> tuple[str, ...]:
        return self.core.plan.sinks.get(port, ())

    def _next_end(self) -> float:
        return min((ends for ends, _ in self._running.values()), default=math.inf)

    def _handle(self, event: Event) -> list[Any]:
        instructions = self.core.handle(event)
        for one in instructions:
            match one:
                case WakeSlots():
                    self._wake(event.at)
                case StreamRefused(error=error):
                    raise error
        if event.at >= self._optimizer.next:
            for change in self._optimizer.review():
                self.core.handle(change)
        return instructions

    # The end ------------------------------------------------------------------------------------------------------

    def _report(self, seconds: float) -> dict[str, Any]:
        core = self.core
        report = core.monitor.report("twin", core.policy, core.board.slots, self.now, core.board.policy)
        report["seconds"] = seconds
        report["memory"]["mean"] *= self.now / seconds  # of the time before the snapshot it knows nothing
        for name, one in report["classes"].items():
            one["memory"] = self._waited[name] / max(1, self._samples)
        report["qos"] = self._optimizer.scores()
        return report


def _streams(plan: Plan) -> list[tuple[str, Stream]]:
    return [(name, stream) for name, stream in plan.streams.items() if plan.entrances(name)]


def _changed(plan: Plan, what_if: WhatIf) -> Plan:
    for name, policy in what_if.queries.items():
        plan = plan.with_policy(name, policy)
    for name in plan.queries if what_if.linger_s is not None else ():
        plan = plan.with_linger(name, what_if.linger_s or 0.0)
    return plan


def _watching_only(core: Core, settings: OptimizerSettings, policy: str) -> Optimizer:
    """An optimizer that only keeps the score."""
    return make_optimizer(core.board, settings, policy, 0, lambda query: None)


def _coming(trace: StreamTrace, at: float, seconds: float, load: float) -> Floats:
    """The arrivals of a stream from `at` on: what came lately comes again, evenly spread within each step."""
    if not trace.open or not trace.steps:
        return np.empty(0)
    offsets, counts = (np.array(column, dtype=np.float64) for column in zip(*trace.steps, strict=True))
    exact = np.cumsum(counts * load)
    many = np.diff(np.floor(exact), prepend=0.0).astype(np.int64)
    widths = np.diff(offsets, append=trace.period_s)
    within = [
        offset + width * (np.arange(count) + 0.5) / count for offset, width, count in _steps(offsets, widths, many)
    ]
    period = np.concatenate(within) if within else np.empty(0)
    repeats = math.ceil(seconds / trace.period_s)
    return np.concatenate([at + number * trace.period_s + period for number in range(repeats)])


def _steps(offsets: Floats, widths: Floats, counts: NDArray[np.int64]) -> list[tuple[float, float, int]]:
    short = np.minimum(widths, STEP_S)
    return [
        (float(offset), float(width), int(count))
        for offset, width, count in zip(offsets, short, counts, strict=True)
        if count
    ]
