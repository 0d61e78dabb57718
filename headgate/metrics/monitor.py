"""The monitor: counts what happens in a run, for the report and for policies."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from headgate.metrics.class_measures import (
    COMPARED_STATISTICS,
    by_priority,
    priority_inversion,
    starvation_ratio,
    weighted_mean,
)
from headgate.metrics.latency import LatencyRecorder, LatencyTotal
from headgate.metrics.latency_over_time import LatencyOverTime
from headgate.metrics.level_over_time import LevelOverTime
from headgate.metrics.live_latencies import LiveLatencies
from headgate.metrics.policy_latencies import PolicyLatencies
from headgate.metrics.recent import RECENT_MEAN, RecentStatistic, RecentValues
from headgate.plan.model import Plan

_FOLD = 8192  # results of a query that are kept before they are folded in together


class ScheduleUpdates(Protocol):
    """What is reported about a policy that makes schedules: how often it made one, and when it last did."""

    updates: int
    updated_at: float


class ResultTap:
    """Counts the results of one query.

    Results wait here until many can be folded in together: numpy takes as long for one number as for a hundred. A
    runtime with very many results may append to `times` and `latencies` itself and call `Monitor.fold` regularly.
    """

    __slots__ = ("blocks", "class_name", "latencies", "query", "recorder", "times", "waiting")

    def __init__(self, query: str, class_name: str) -> None:
        self.query = query
        self.class_name = class_name
        self.recorder = LatencyRecorder()
        self.times: list[float] = []  # of results of weight 1 that are not folded in yet
        self.latencies: list[float] = []
        self.blocks: list[tuple[float, NDArray[np.float64]]] = []  # likewise: results handed out at one time
        self.waiting = 0  # results in the blocks


class Monitor:
    """Counts inputs, results, shed tuples and queued bytes. Used by both runtimes, under their lock.

    Pure: times are passed in, in seconds since the run began; one that goes on from a checkpoint is monitored from
    `began` on. `priorities` are those the administrator set last.
    """

    def __init__(self, plan: Plan, began: float = 0.0) -> None:
        self.plan = plan
        self._began = began
        self._taps = {q.name: ResultTap(q.name, q.class_name) for q in plan.queries.values()}
        self._recent = {name: RecentValues() for name in plan.classes}
        self._inputs: dict[str, int] = dict.fromkeys(plan.queries, 0)
        self._shed: dict[tuple[str, str], int] = {}
        self._switches: list[dict[str, Any]] = []
        self._changes: list[dict[str, Any]] = []
        self._policy_latencies = PolicyLatencies(began)
        self._memory = LevelOverTime(began)
        self._over_time = LatencyOverTime(self.priorities, began)
        self._over_time.set_priorities(began, self._compared)
        self._latest = began
        self.live = LiveLatencies()  # of results that are handed out while somebody may watch

    # Called by runtimes ------------------------------------------------------------------------------------------

    def arrived(self, query: str, tuples: int) -> None:
        """Count tuples that arrived on the streams that a query reads."""
        self._inputs[query] += tuples

    def result(self, query: str, now: float, latency: float, weight: float = 1.0) -> None:
        """Count one result of a query. `weight` is the size of the tuple in a fluid simulation."""
        if weight != 1.0:
            self.results(query, now, np.array([latency]), np.array([weight]))
            return
        tap = self._taps[query]
        tap.times.append(now)
        tap.latencies.append(latency)
        if len(tap.times) >= _FOLD:
            self._fold_tap(tap)

    def handed_out(self, query: str, now: float, latencies: NDArray[np.float64]) -> None:
        """Count the results of one call, handed out now; the array is kept. Called after every call on Spark."""
        tap = self._taps[query]
        tap.blocks.append((now, latencies))
        tap.waiting += len(latencies)
        self.live.add(query, tap.class_name, now, latencies)
        self._latest = max(self._latest, now)
        if tap.waiting >= _FOLD:
            self._fold_tap(tap)

    def results(
        self,
        query: str,
        now: float | Sequence[float] | NDArray[np.float64],
        latencies: Sequence[float] | NDArray[np.float64],
        weights: Sequence[float] | NDArray[np.float64] | None = None,
    ) -> None:
        """Count many results of a query by their latencies in seconds. `now` is one time for all, or one for each."""
        values = np.asarray(latencies, dtype=np.float64)
        if len(values):
            tap = self._taps[query]
            times = np.broadcast_to(np.asarray(now, dtype=np.float64), values.shape)
            tap.recorder.add_many(values, weights)
            self._recent[tap.class_name].add(times, values, weights)
            self._over_time.add(tap.class_name, times, values, weights)
            self._latest = max(self._latest, float(times.max()))
            self.record(tap, times, values)

    def record(self, tap: ResultTap, times: NDArray[np.float64], latencies: NDArray[np.float64]) -> None:
        """Called with every result that was counted; a hook for monitors that keep more."""

    def shed(self, query: str, operator: str, tuples: int) -> None:
        """Count tuples of a query that were dropped in front of an operator to lower the load."""
        key = (query, operator)
        self._shed[key] = self._shed.get(key, 0) + tuples

    def memory(self, now: float, level_bytes: float) -> None:
        """Set the number of bytes queued between operators from now on."""
        self._memory.set(now, level_bytes)
        self._latest = max(self._latest, now)

    def memory_levels(self, times: NDArray[np.float64], levels: NDArray[np.float64]) -> None:
        """Set the queued bytes at many times at once, in order of time."""
        self._memory.set_many(times, levels)

    def switched(self, now: float, before: str, after: str, reason: str) -> None:
        """The policy was replaced."""
        self.fold()  # results that wait in the taps came before the switch
        self._policy_latencies.switched(now, before, self._recorders)
        self._switches.append({"at": now, "from": before, "to": after, "reason": reason})

    def switched_query(self, now: float, query: str, before: str, after: str, reason: str) -> None:
        """A query is scheduled by another policy from now on."""
        self._switches.append({"at": now, "query": query, "from": before, "to": after, "reason": reason})

    def restart_comparison(self, now: float) -> None:
        """Leave what was measured so far out of the latencies by policy, as a warm-up."""
        self.fold()
        self._policy_latencies.restart_comparison(now, self._recorders)

    @property
    def _recorders(self) -> dict[str, LatencyRecorder]:
        return {name: tap.recorder for name, tap in self._taps.items()}

    @property
    def queries(self) -> Collection[str]:
        """The queries in the report: all that run, and those that have ended and were not removed."""
        return self.plan.queries.keys()

    @property
    def priorities(self) -> Mapping[str, int]:
        """Class -> its current priority."""
        return self.plan.priorities

    @property
    def _compared(self) -> dict[str, int]:
        """The priorities of classes that have queries; the others are not compared."""
        served = {query.class_name for query in self.plan.queries.values()}
        return {name: priority for name, priority in self.priorities.items() if name in served}

    def set_plan(self, now: float, plan: Plan) -> None:
        """From now on classes have other priorities, or queries are in other classes.

        Earlier results of a query that moved stay with its old class in the latencies over time and in the recent
        ones; elsewhere in the report they count for the new class. Queries that are no longer in the plan stay in the
        report.
        """
        self.fold()  # results that wait in the taps came before the change
        self._changes += class_changes(now, self.plan, plan)
        self.plan = replace(self.plan, classes=plan.classes, queries={**self.plan.queries, **plan.queries})
        for query in plan.queries.values():
            tap = self._taps.setdefault(query.name, ResultTap(query.name, query.class_name))
            tap.class_name = query.class_name
            self._inputs.setdefault(query.name, 0)
        for name in plan.classes:
            self._recent.setdefault(name, RecentValues())
        self._over_time.set_priorities(now, self._compared)

    def remove(self, query: str) -> None:
        """Forget a query that has ended: it leaves the report, and its name is free."""
        self.fold()
        self.plan = replace(self.plan, queries={k: v for k, v in self.plan.queries.items() if k != query})
        del self._taps[query], self._inputs[query]
        self._shed = {key: tuples for key, tuples in self._shed.items() if key[0] != query}
        self._policy_latencies.remove(query)
        self.live.forget(query, self._latest)

    def tap(self, query: str) -> ResultTap:
        """The tap of one query, for runtimes that append to it directly."""
        return self._taps[query]

    def fold(self) -> None:
        """Count the results that were appended to the taps."""
        for tap in self._taps.values():
            self._fold_tap(tap)

    # Read by policies and people -------------------------------------------------------------------------------

    def recent(
        self, class_name: str, now: float | None = None, statistic: RecentStatistic = RECENT_MEAN, since: float = -1.0
    ) -> float | None:
        """The recent latency of a class, by default its mean over the last half second; None with too few results.

        `now` defaults to the latest time that the monitor was given. Results up to `since` do not count.
        """
        self.fold()
        return self._recent[class_name].value(self._latest if now is None else now, statistic, since)

    def inputs_so_far(self, query: str) -> int:
        """The tuples that arrived so far on the streams that a query reads."""
        return self._inputs[query]

    def outputs_so_far(self, query: str) -> int:
        """The results of a query so far, also those that are not folded in yet."""
        tap = self._taps[query]
        return int(tap.recorder.count) + tap.waiting + len(tap.times)

    def shed_so_far(self, query: str) -> int:
        """The tuples of a query that were dropped so far."""
        return sum(tuples for (name, _), tuples in self._shed.items() if name == query)

    def results_so_far(self, queries: Collection[str]) -> LatencyTotal:
        """The results of these queries so far: their number, and the sum of their latencies."""
        count = seconds = 0.0
        for query in queries:
            tap = self._taps[query]
            self._fold_tap(tap)
            mine = tap.recorder.total
            count, seconds = count + mine.results, seconds + mine.seconds
        return LatencyTotal(count, seconds)

    def report(
        self, runtime: str, policy: str, slots: int, seconds: float, schedule: ScheduleUpdates | None = None
    ) -> dict[str, Any]:
        """The report of a run, with the documented keys. A measure that is not defined is None.

        `throughput` counts a tuple once for each query that reads it.
        """
        self.fold()
        queries = {name: self._query_report(name) for name in self.plan.queries}
        classes = {name: self._class_report(name) for name in self.plan.classes}
        levels = {key: {name: one["latency"][key] for name, one in classes.items()} for key in COMPARED_STATISTICS}
        order, means = by_priority(self._compared), levels["mean"]
        class_of = {name: one["class"] for name, one in queries.items()}
        return {
            "runtime": runtime,
            "policy": policy,
            "slots": slots,
            "seconds": seconds,
            "weighted_mean_latency": weighted_mean(means, self.priorities),
            "priority_inversion": priority_inversion(order, means, self.priorities),
            "starvation_ratio": starvation_ratio(order, means),
            "weighted_latency": {key: weighted_mean(one, self.priorities) for key, one in levels.items()},
            "inversion": {key: priority_inversion(order, one, self.priorities) for key, one in levels.items()},
            "classes": classes,
            "queries": queries,
            "memory": {"mean": self._memory.mean(self._began + seconds), "max": self._memory.max},
            "throughput": {
                key: sum(q[key] for q in queries.values()) / seconds if seconds > 0 else 0.0
                for key in ("inputs", "outputs")
            },
            "schedule": {"updates": schedule.updates, "updated_at": schedule.updated_at} if schedule else None,
            "switches": list(self._switches),
            "policies": self._policy_latencies.summary(self._began + seconds, policy, self._recorders, class_of),
            "changes": list(self._changes),
            "shedding": [
                {"query": query, "operator": operator, "tuples": tuples}
                for (query, operator), tuples in self._shed.items()
            ],
            "course": self._over_time.summary(seconds),
        }

    def _query_report(self, name: str) -> dict[str, Any]:
        recorder = self._taps[name].recorder
        return {
            "class": self.plan.queries[name].class_name,
            "inputs": self._inputs[name],
            "outputs": _whole(recorder.count),
            "shed": sum(tuples for (query, _), tuples in self._shed.items() if query == name),
            "latency": recorder.summary(),
        }

    def _class_report(self, name: str) -> dict[str, Any]:
        members = [q.name for q in self.plan.queries.values() if q.class_name == name]
        merged = LatencyRecorder()
        for query in members:
            merged.merge(self._taps[query].recorder)
        return {
            "priority": self.priorities[name],
            "inputs": sum(self._inputs[query] for query in members),
            "outputs": _whole(merged.count),
            "shed": sum(tuples for (query, _), tuples in self._shed.items() if query in members),
            "latency": merged.summary(),
        }

    def _fold_tap(self, tap: ResultTap) -> None:
        if tap.blocks:
            times, blocks = zip(*tap.blocks, strict=True)
            tap.blocks.clear()
            tap.waiting = 0
            self.results(tap.query, np.repeat(times, [len(block) for block in blocks]), np.concatenate(blocks))
        if tap.times:
            self.results(tap.query, tap.times, tap.latencies)
            tap.times.clear()
            tap.latencies.clear()


def class_changes(now: float, before: Plan, after: Plan) -> list[dict[str, Any]]:
    """What the administrator changed: priorities of classes, and classes of queries."""
    found: list[dict[str, Any]] = []
    for name, priority in after.priorities.items():
        if name in before.priorities and priority != before.priorities[name]:
            found.append({"at": now, "class": name, "from": before.priorities[name], "to": priority})
    for name, query in after.queries.items():
        if name in before.queries and query.class_name != before.queries[name].class_name:
            found.append({"at": now, "query": name, "from": before.queries[name].class_name, "to": query.class_name})
    return found


def _whole(count: float) -> int | float:
    """A count as an int, unless it has a fraction, as in a fluid simulation."""
    return int(count) if count == int(count) else count
