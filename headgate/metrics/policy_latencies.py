"""Latencies by policy, for a run in which the policy was replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.metrics.latency import LatencyRecorder

Recorders = Mapping[str, LatencyRecorder]  # by query


class PolicyLatencies:
    """The latencies under each policy of a run. `switched` must be called at every switch.

    A result counts for the policy in charge when it is handed out, so the first results after a switch still carry the
    waiting time that the previous policy caused.
    """

    def __init__(self, began: float = 0.0) -> None:
        self._since = began  # when the current policy took over
        self._at_switch: dict[str, LatencyRecorder] = {}  # what had been recorded by then
        self._seconds: dict[str, float] = {}  # in charge, by policy, before the current one took over
        self._recorded: dict[str, dict[str, LatencyRecorder]] = {}

    def switched(self, now: float, before: str, recorders: Recorders) -> None:
        """Another policy takes over from `before`. `recorders` hold all results of each query so far."""
        self._seconds, self._recorded = self._until(now, before, recorders)
        self._since = now
        self._at_switch = {query: recorder.copy() for query, recorder in recorders.items()}

    def restart_comparison(self, now: float, recorders: Recorders) -> None:
        """Forget what was measured so far, as a warm-up."""
        self._since = now
        self._seconds, self._recorded = {}, {}
        self._at_switch = {query: recorder.copy() for query, recorder in recorders.items()}

    def remove(self, query: str) -> None:
        """Forget the results of a query."""
        for recorders in (self._at_switch, *self._recorded.values()):
            recorders.pop(query, None)

    def summary(self, now: float, policy: str, recorders: Recorders, classes: Mapping[str, str]) -> dict[str, Any]:
        """For the report: the seconds of each policy, and the latencies of each class. `classes` is by query."""
        seconds, recorded = self._until(now, policy, recorders)
        return {
            name: {"seconds": seconds[name], "classes": _by_class(found, classes)} for name, found in recorded.items()
        }

    def _until(
        self, now: float, policy: str, recorders: Recorders
    ) -> tuple[dict[str, float], dict[str, dict[str, LatencyRecorder]]]:
        """Totals up to now, including the policy in charge. Changes nothing."""
        nothing = LatencyRecorder()
        own = dict(self._recorded.get(policy, {}))
        for query, recorder in recorders.items():
            latest = recorder.since(self._at_switch.get(query, nothing))
            latest.merge(own.get(query, nothing))
            own[query] = latest
        seconds = self._seconds.get(policy, 0.0) + now - self._since
        return {**self._seconds, policy: seconds}, {**self._recorded, policy: own}


def _by_class(recorded: Recorders, classes: Mapping[str, str]) -> dict[str, Any]:
    merged = {name: LatencyRecorder() for name in dict.fromkeys(classes.values())}
    for query, recorder in recorded.items():
        merged[classes[query]].merge(recorder)
    return {name: {"outputs": int(recorder.count), "latency": recorder.summary()} for name, recorder in merged.items()}
