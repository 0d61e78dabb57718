"""Lists every run of the MavStream study, and simulates one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.studies.mavstream.errors import windows_of_errors
from headgate_lab.studies.mavstream.workload import QUERY, STRATEGIES, application, run_seconds
from headgate_lab.studies.seconds_monitor import SecondsMonitor
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import Point

TOLERANCES = (0.0, 0.1, 0.2, 0.3)
PARTS = 100  # of a run, for the figures over time
LAX = 10.0  # how many times as much is promised at first, where the promise changes
LAX_UNTIL = {"6.2": 0.5, "6.3b": 0.1}  # as a share of the run
# Experiment -> the priorities of latency and memory, and whether rates are doubled at times.
EXPERIMENTS = {
    "6.1": ("6.1", "best-effort", None, False),
    "6.2.1": ("6.2", "must", "dont-care", True),
    "6.2.2": ("6.1", "must", "must", True),
    "6.3a": ("6.3a", "must", "dont-care", True),
    "6.3b": ("6.3b", "must", "dont-care", True),
}


def points(profile: Profile) -> list[dict[str, Any]]:
    """All runs. Errors of shedding are one run per seed, without any queues."""
    return [{"tuples": profile.tuples, "seed": seed, **one} for seed in range(profile.seeds) for one in _of_seed()]


def _of_seed() -> Iterator[dict[str, Any]]:
    for name, (experiment, _, _, surges) in EXPERIMENTS.items():
        common = {"name": name, "experiment": experiment, "surges": surges}
        for policy in STRATEGIES:
            yield {**common, "policy": policy, "tolerance": 0.0}
        for tolerance in TOLERANCES if name.startswith("6.3") else (0.0,):
            yield {**common, "policy": "optimized", "tolerance": tolerance}
    yield {"name": "6.4", "experiment": "6.1", "surges": False, "policy": "errors", "tolerance": 0.0}


def weight(point: Point) -> float:
    """A guess at how long a run takes: an optimized one makes two others first, to know what to promise."""
    return {"optimized": 3.0, "errors": 0.1}.get(point["policy"], 1.0) * float(point["tuples"])


def run(point: Point) -> dict[str, Any]:
    """Simulate one point and measure it."""
    if point["policy"] == "errors":
        return windows_of_errors(point["seed"])
    if point["policy"] != "optimized":
        return _measured(point, application(point), None)
    promises = _promises(point)
    return _measured(point, application(point, promises), promises)


def _promises(point: Point) -> dict[str, Any]:
    """Between what pcs and segment achieve: for latency and, for memory, of their peaks."""
    found = {}
    for policy in ("pcs", "segment"):
        app = application({**point, "policy": policy})
        found[policy] = simulate(app, RunLimits(until_idle=True)).report
    _, latency, memory, _ = EXPERIMENTS[point["name"]]
    middle = _between(*(one["classes"]["default"]["latency"]["mean"] for one in found.values()))
    seconds, lax = run_seconds(point), LAX_UNTIL.get(point["experiment"] if point["name"] != "6.2.2" else "6.2", 0.0)
    lax_latency = lax if point["name"] == "6.3b" else 0.0
    promises: dict[str, Any] = {"latency": {"priority": latency, "points": _points(middle, seconds, lax_latency)}}
    if memory is not None:
        bytes_ = _between(*(one["memory"]["mean"] for one in found.values()))
        lax_memory = 0.0 if point["name"].startswith("6.3") else 0.5
        promises["memory"] = {"priority": memory, "points": _points(bytes_, seconds, lax_memory)}
    return promises


def _between(first: float, second: float) -> float:
    return math.sqrt(max(first, 1e-9) * max(second, 1e-9))


def _points(value: float, seconds: float, lax: float) -> list[list[float]]:
    """Constant, or ten times as much up to a share of the run."""
    if not lax:
        return [[0.0, value], [seconds, value]]
    change = lax * seconds
    return [[0.0, LAX * value], [change, LAX * value], [change, value], [seconds, value]]


def _measured(point: Point, app: CheckedApplication, promises: dict[str, Any] | None) -> dict[str, Any]:
    monitor = SecondsMonitor(app.plan)
    began = time.process_time()
    result = simulate(app, RunLimits(until_idle=True), monitor, fast_paths=False)
    spent = time.process_time() - began
    seconds = math.ceil(result.report["seconds"])
    outputs, latencies = monitor.series(seconds)
    memory = monitor.memory_series(seconds)
    report = result.report
    decisions = report["decisions"]
    return {
        "latency_s": report["classes"]["default"]["latency"]["mean"],
        "memory_bytes": report["memory"]["mean"],
        "outputs": report["classes"]["default"]["outputs"],
        "shed": report["queries"][QUERY]["shed"],
        "cpu_s": spent,
        "run_s": report["seconds"],
        **_switches(decisions, run_seconds(point)),
        **_after(latencies, outputs, memory, run_seconds(point)),
        "promised_latency_s": None if promises is None else promises["latency"]["points"][-1][1],
        "series_latency_s": _parts(latencies, outputs),
        "series_memory_bytes": [float(part.mean()) if len(part) else None for part in np.array_split(memory, PARTS)],
    }


def _switches(decisions: list[dict[str, Any]], seconds: float) -> dict[str, Any]:
    """How often the policy was switched, to which at last, and when it was first shed."""
    switches = [one for one in decisions if one["kind"] == "switch"]
    sheds = [one["at"] for one in decisions if one["kind"] == "shed more"]
    first_pcs = next((one["at"] for one in switches if one["to"] == "pcs"), None)
    half = [one for one in switches if one["at"] >= seconds / 2]
    return {
        "switches": len(switches),
        "last_policy": switches[-1]["to"] if switches else None,
        "policy_after_half": half[0]["to"] if half else None,
        "switch_after_half_s": half[0]["at"] - seconds / 2 if half else None,
        "first_switch_s": switches[0]["at"] if switches else None,
        "shed_before_pcs": bool(sheds) and (first_pcs is None or min(sheds) < first_pcs),
        "first_shed_s": min(sheds) if sheds else None,
    }


def _after(latencies: Any, outputs: Any, memory: Any, seconds: float) -> dict[str, float | None]:
    """Latency and memory in the first tenth, once things have settled, and in both halves."""
    found: dict[str, float | None] = {}
    spans = {"first": (0.0, 0.1), "settled": (0.2, 1.0), "half_1": (0.2, 0.5), "half_2": (0.6, 1.0)}
    for name, (begin, end) in spans.items():
        part = slice(int(begin * seconds), max(int(begin * seconds) + 1, int(end * seconds)))
        weights = outputs[part]
        known = weights > 0
        found[f"latency_{name}_s"] = (
            float(np.average(latencies[part][known], weights=weights[known])) if known.any() else None
        )
        found[f"memory_{name}_bytes"] = float(memory[part].mean()) if len(memory[part]) else None
    return found


def _parts(latencies: Any, outputs: Any) -> list[float | None]:
    parts = []
    for values, weights in zip(np.array_split(latencies, PARTS), np.array_split(outputs, PARTS), strict=True):
        known = weights > 0
        parts.append(float(np.average(values[known], weights=weights[known])) if known.any() else None)
    return parts
