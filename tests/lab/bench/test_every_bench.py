"""Every bench runs, with its smallest sizes: headline figures are there, and finite. Nothing is judged by its value.

A new bench is found by its line in the list of the command; it brings `SMALLEST` and a `run` that takes it.
"""

import importlib
import math
from typing import Any

import pytest

from headgate_lab.bench.parts import collecting
from headgate_lab.commands.bench import BENCHES

# What a bench promises at the top level of its result. One that is not listed: every number there.
HEADLINES = {
    "overhead": {
        "direct_over_handwritten",
        "direct_over_prepared",
        "direct_calls_per_second",
        "unit_over_handwritten",
        "unit_over_floor",
        "partitioned_over_handwritten",
        "two_slots_over_one",
    },
    "state": {
        "aggregate_over_stateless",
        "join_over_stateless",
        "updates_growth",
        "replay_over_structured_streaming",
    },
    "start": {"first_seconds", "demo_seconds", "over_bare_spark", "hundred_queries_seconds"},
    "classes": {
        "class1_speedup_medium",
        "class1_speedup_easy",
        "inversion_mbd",
        "completed_over_stock",
        "highest_rate",
    },
    "sources": {"latency_over_stock"},
    "many": {"start_seconds", "memory_mb", "mean_seconds", "completed"},
    "burst": {"share_shed", "capacity"},
    "overload": {"queue_memory_over_bound", "disk_over_bound", "lost", "repeated", "refused_share"},
    "optimizer": {"cpu_share", "microseconds_a_look", "cpu_per_tuple_over_default_linger"},
    "twin": {"error_p50", "error_p90", "best_agrees", "compared"},
    "server": {"ingest_over_feeder", "ingest_tuples_per_second", "listeners_cost"},
    "policies": {"claims", "agreement", "policies", "one_burst", "fixed_cost", "costs"},
    "chaos": {"lost", "repeated", "kills", "kills_in_checkpoint", "kills_in_commit", "seconds"},
    "decisions": {"microseconds", "growth", "share_of_unit_call", "unit_call_microseconds"},
    "simulator": {"speedup_over_simpy", "event_loop_over_simpy"},
}
LONG = {
    "start": "it starts four JVMs",
    "classes": "it starts two Sparks, and runs every way of both for seconds",
    "sources": "it starts a broker, and a Spark with the connector",
    "many": "it starts two Sparks",
    "burst": "it searches for the rate that a query can carry",
    "overload": "it searches for the rate that a query can carry",
    "twin": "it searches for the rate that keeps the processors busy",
    "server": "it starts servers",
    "chaos": "it starts a JVM for each kill, and two more",
    "policies": "each of its runs plans twenty operators anew",
}


def numbers(value: Any) -> list[float]:
    """All numbers in a value."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in numbers(item)]
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak if n in LONG else pytest.mark.nightly) for n in BENCHES]
)
def test_headline_figures_are_there_and_finite(spark: Any, name: str) -> None:
    """Nothing ran them: `state` ended with `RuntimeError: the policy ran nothing`."""
    bench = importlib.import_module(f"headgate_lab.bench.{name}")
    told: list[str] = []
    with collecting(told.append) as parts:
        result = bench.run(sizes=bench.SMALLEST)
    assert result.keys() >= HEADLINES.get(name, set())
    headline = {key: result[key] for key in HEADLINES.get(name, result)}
    assert all(numbers(value) for value in headline.values() if name in HEADLINES)
    assert numbers(headline)
    assert all(math.isfinite(number) for number in numbers(headline)), headline
    assert list(parts.measured) == told  # it says what it does, and keeps each part
    assert len(told) > 1
