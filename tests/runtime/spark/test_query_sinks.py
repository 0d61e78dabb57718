"""A sink that fails, in whatever way, concerns only its query."""

from __future__ import annotations

from typing import Any

from headgate.runtime.spark.query_sinks import QuerySinks


class Refreshed:
    """A sink that counts how often it was asked to catch up."""

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


def test_what_goes_wrong_while_a_sink_catches_up_concerns_its_query_only() -> None:
    error = OverflowError("date value out of range")
    sinks = {"bad": Refreshed(error), "good": Refreshed()}
    assert outputs_of(**sinks).refresh(["bad", "good"]) == {"bad": error}
    assert sinks["good"].times == 1


def test_sinks_of_stopped_queries_are_left_alone() -> None:
    sinks = {"stopped": Refreshed(ValueError("as before")), "good": Refreshed()}
    assert outputs_of(**sinks).refresh(["good"]) == {}
    assert [sink.times for sink in sinks.values()] == [0, 1]
