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
MEMORIES_S = (0.1, 10.0, 4000.0)  # threshold's memory, in seconds of input at the highest load; the last is a phase's
SERIES = 100  # points of a measure over time
BUSY = LOADS[2:]  # the phases with surges: the report sees its bursts in "the high load periods"
BASE, FIRST, ALIKE, STEADY = "base", "as first published", "leaves like the rest", "no surge"
# Settings of what the paper leaves open that were looked at before BASE was kept: eight in an audit of the first
# published run, of which the last is "leaves pass 5 to 25 %" with surges of six times the rate; BASE with joins that
# grow, which took too long; and BASE itself.
TRIED = 10


@dataclass(frozen=True)
class OpenParameters:
    """What the paper leaves open, with the replica's choices as defaults. They were made from the report's words, but
    after results of other settings were known; see `TRIED`."""

    burst_s: float = 1.0  # the shortest ON and OFF periods
    flows: int = 64  # the paper: 64 or 128
    uneven: bool = True  # rates 1 : 2 : 3 : 4 : 5; the paper: "different"
    lowest_cost_s: float = 5e-6
    highest_cost_s: float = 200e-6
    least_times: float = 1.0  # an operator above a leaf costs its draw times a factor from here
    most_times: float = 1.0  # to here
    leaves_first: bool = True  # leaves get the lowest costs and selectivities: "faster" and "less selectivity"
    leaves_pass: float = 1.0  # the most that a leaf passes
    growing_joins: float = 0.0  # the share of joins that grow; the paper: "few", but runs take seven times as long
    surge: float = 1.0  # of the processor, taken by leaves alone in the surge of a busy phase; 0: no surge


_ALIKE: dict[str, Any] = {"leaves_first": False, "most_times": 5.0}
SETTINGS = {
    BASE: OpenParameters(),
    FIRST: OpenParameters(**_ALIKE, surge=0.0),
    ALIKE: OpenParameters(**_ALIKE),
    STEADY: OpenParameters(surge=0.0),
    "half the surge": OpenParameters(surge=0.5),
    "leaves pass 5 to 25 %": OpenParameters(leaves_first=False, least_times=4.0, most_times=8.0, leaves_pass=0.25),
    "growing joins": OpenParameters(growing_joins=0.1),
    "long bursts": OpenParameters(burst_s=3.0),
    "128 flows": OpenParameters(flows=128),
    "even rates": OpenParameters(uneven=False),
    "like costs": OpenParameters(lowest_cost_s=40e-6, highest_cost_s=160e-6),
    "unlike costs": OpenParameters(lowest_cost_s=1e-6, highest_cost_s=1000e-6),
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
    Policies for context run only at the highest load, and so do, with half the seeds, thresholds, whose runs take ten
    times as long, and other settings."""
    last = LOADS[-1]
    found = [_point(size, seed, load, policy) for seed in range(size.seeds) for load in LOADS for policy in COMPARED]
    for seed in range(size.seeds):
        found += [_point(size, seed, last, policy) for policy in CONTEXT]
    others = [setting for setting in size.settings if setting != BASE]
    for seed in range(math.ceil(size.seeds / 2)):
        found += [_point(size, seed, last, "threshold", memory_s=memory) for memory in MEMORIES_S]
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
        "seconds": size.seconds,
        "tuples": size.tuples,
        **asdict(open_parameters),
        "surge": open_parameters.surge if load in BUSY else 0.0,
    }


def weight(point: Point) -> float:
    """A guess at how long a run takes. Choosing among operators is quicker than among paths, which overlap, and
    threshold looks at the whole memory each time."""
    times = {"chain": 0.6, "segment": 0.6, "threshold": 8.0}.get(point["policy"], 1.0)
    return float(point["tuples"] * point["load"]) * times


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
