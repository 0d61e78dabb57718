"""What each policy achieved in a run in which the policy was replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.metrics.latency import LatencyRecorder

Recorders = Mapping[str, LatencyRecorder]  # by query


class PolicyLatencies:
    """Told of every switch, it gives the latencies under each policy. Results count for the policy of the moment when
    they are given out, so the first after a switch bear what the policy before it left waiting."""

    def __init__(self) -> None:
        self._since = 0.0  # the policy that is in charge now
        self._at_switch: dict[str, LatencyRecorder] = {}  # what was recorded when it took over
        self._seconds: dict[str, float] = {}  # of policies before it
        self._recorded: dict[str, dict[str, LatencyRecorder]] = {}

    def switched(self, now: float, before: str, recorders: Recorders) -> None:
        """Another policy takes over; `recorders` have all results of each query so far."""
        self._seconds, self._recorded = self._until(now, before, recorders)
        self._since = now
        self._at_switch = {query: recorder.copy() for query, recorder in recorders.items()}

    def summary(self, now: float, policy: str, recorders: Recorders, classes: Mapping[str, str]) -> dict[str, Any]:
        """As in a report: for each policy its seconds, and the latencies of each class. `classes` is by query."""
        seconds, recorded = self._until(now, policy, recorders)
        return {
            name: {"seconds": seconds[name], "classes": _by_class(found, classes)} for name, found in recorded.items()
        }

    def _until(
        self, now: float, policy: str, recorders: Recorders
    ) -> tuple[dict[str, float], dict[str, dict[str, LatencyRecorder]]]:
        """All that came until now, the policy in charge included; what is kept stays as it is."""
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
