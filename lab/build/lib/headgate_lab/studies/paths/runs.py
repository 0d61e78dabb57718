"""The runs of the path and segment study: a list of all, and how one is simulated."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.studies.paths.measures import backlog, bursts, in_parts, offered_work, pattern
from headgate_lab.studies.paths.plans import work_by_stream
from headgate_lab.studies.paths.workload import HIGHEST, TUPLE_BYTES, application, trees_of
from headgate_lab.studies.seconds_monitor import SecondsMonitor
from headgate_lab.studies.sweep import Point

LOADS = (0.5, 0.7, 0.85, HIGHEST)  # of the four phases
COMPARED = ("pcs", "simplified-segment", "chain")  # the policies that the paper plots
CONTEXT = ("segment", "fifo")  # policies that it does not run
MEMORIES_S = (0.1, 1.0, 10.0)  # threshold's memory, in seconds of input at the highest load
SERIES = 100  # points of a measure over time
BASE, CHEAP, SURGING, CHEAP_SURGING = "base", "cheap leaves", "a surge", "cheap leaves and a surge"


@dataclass(frozen=True)
class OpenParameters:
    """What the paper leaves open, with the replica's choices as defaults."""

    burst_s: float = 1.0  # the shortest ON and OFF periods
    flows: int = 64  # the paper: 64 or 128
    uneven: bool = True  # rates 1 : 2 : 3 : 4 : 5; the paper: "different"
    growing_joins: float = 0.0  # the paper: a few above 1
    cheapest_s: float = 5e-6
    dearest_s: float = 200e-6
    least_times: float = 1.0  # an operator above a leaf costs a leaf's draw times a factor from here
    most_times: float = 5.0  # to here
    pace: float = 1.0  # multiplies the rates and divides the time
    surge: float = 1.0  # multiplies the rates for a tenth of the phase, at the same mean


SETTINGS = {
    BASE: OpenParameters(),
    "short bursts": OpenParameters(burst_s=0.3),
    "long bursts": OpenParameters(burst_s=3.0),
    "128 flows": OpenParameters(flows=128),
    "even rates": OpenParameters(uneven=False),
    "growing joins": OpenParameters(growing_joins=0.2),
    "like costs": OpenParameters(cheapest_s=40e-6, dearest_s=160e-6),
    "unlike costs": OpenParameters(cheapest_s=1e-6, dearest_s=1000e-6),
    "4 x rate": OpenParameters(pace=4.0),
    "16 x rate": OpenParameters(pace=16.0),
    CHEAP: OpenParameters(least_times=10.0, most_times=50.0),
    SURGING: OpenParameters(surge=2.0),
    CHEAP_SURGING: OpenParameters(least_times=10.0, most_times=50.0, surge=2.0),
}


@dataclass(frozen=True)
class StudySize:
    """The size of the study."""

    seconds: float  # of a phase
    tuples: int  # per stream, on average, in the phase with the highest load
    seeds: int
    settings: tuple[str, ...] = tuple(SETTINGS)


def study_points(size: StudySize) -> list[dict[str, Any]]:
    """Every run. Each phase is a run of its own, so that it has exactly its load and phases can run side by side.
    Policies for context, thresholds and, with half the seeds, other settings run only at the highest load."""
    last = LOADS[-1]
    found = [_point(size, seed, load, policy) for seed in range(size.seeds) for load in LOADS for policy in COMPARED]
    for seed in range(size.seeds):
        found += [_point(size, seed, last, policy) for policy in CONTEXT]
        found += [_point(size, seed, last, "threshold", memory_s=memory) for memory in MEMORIES_S]
    others = [setting for setting in size.settings if setting != BASE]
    for seed in range(math.ceil(size.seeds / 2)):
        found += [_point(size, seed, last, policy, setting) for setting in others for policy in COMPARED]
    return found


def _point(
    size: StudySize, seed: int, load: float, policy: str, setting: str = BASE, memory_s: float = 0.0
) -> dict[str, Any]:
    open_parameters = SETTINGS[setting]
    return {
        "seed": seed,
        "load": load,
        "policy": policy,
        "setting": setting,
        "memory_s": memory_s,
        "seconds": size.seconds / open_parameters.pace,
        "tuples": size.tuples,
        **asdict(open_parameters),
    }


def weight(point: Point) -> float:
    """A guess at how long a run takes. Choosing among operators is quicker than among paths, which overlap."""
    return float(point["tuples"] * point["load"]) * (0.6 if point["policy"] in ("chain", "segment") else 1.0)


def run_point(point: Point) -> dict[str, Any]:
    """Simulate one phase under one policy until its queues are empty, and measure it."""
    app = application(point)
    monitor = SecondsMonitor(app.plan)
    result = simulate(app, RunLimits(until_idle=True), monitor)
    seconds = math.ceil(result.report["seconds"])  # includes the work that is left when the last tuple has arrived
    levels = backlog(offered_work(app, work_by_stream(trees_of(point)), seconds))
    outputs, latencies = monitor.series(seconds)
    latency = result.report["classes"]["normal"]["latency"]
    spent = sum(
        result.operators[name]["processed"] * (operator.declared.cost_s or 0.0)
        for name, operator in app.plan.operators.items()
    )
    return {
        "latency_s": latency["mean"],
        "latency_p95_s": latency["p95"],
        "outputs": result.report["classes"]["normal"]["outputs"],
        "memory_mean_tuples": result.report["memory"]["mean"] / TUPLE_BYTES,
        "memory_peak_tuples": result.report["memory"]["max"] / TUPLE_BYTES,
        "realised_load": spent / point["seconds"],
        "backlog_peak_s": float(levels.max()),
        **pattern(outputs, latencies, *bursts(levels)),
        "series_latency_s": in_parts(latencies, SERIES),
        "series_outputs": in_parts(outputs, SERIES),
        "series_memory_tuples": in_parts(monitor.memory_series(seconds) / TUPLE_BYTES, SERIES),
    }
