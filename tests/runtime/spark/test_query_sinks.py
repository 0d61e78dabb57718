"""A sink that fails, in whatever way, affects only its query."""

from __future__ import annotations

from typing import Any

from headgate.runtime.spark.query_sinks import QuerySinks


class RefreshCounter:
    """A sink that counts how often it was asked to catch up, and may fail then."""

    def __init__(self, error: Exception | None = None) -> None:
        self.times = 0
        self._error = error

    def refresh(self) -> None:
        self.times += 1
        if self._error is not None:
            raise self._error


def outputs_of(**sinks: Any) -> QuerySinks:
    outputs = QuerySinks()
    outputs.update(sinks)
    return outputs


def test_an_error_while_a_sink_catches_up_affects_only_its_query() -> None:
    error = OverflowError("date value out of range")
    sinks = {"bad": RefreshCounter(error), "good": RefreshCounter()}
    assert outputs_of(**sinks).refresh(["bad", "good"]) == {"bad": error}
    assert sinks["good"].times == 1


def test_sinks_of_stopped_queries_are_left_alone() -> None:
    sinks = {"stopped": RefreshCounter(ValueError("as before")), "good": RefreshCounter()}
    assert outputs_of(**sinks).refresh(["good"]) == {}
    assert [sink.times for sink in sinks.values()] == [0, 1]
