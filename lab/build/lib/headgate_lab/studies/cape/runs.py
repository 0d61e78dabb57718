"""Lists every run of the CAPE study, and simulates one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import fmean
from typing import Any

import numpy as np

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.studies.cape.workload import GOALS, LOADS, PLANS, SINGLES, STEP_S, application, chain_rate
from headgate_lab.studies.seconds_monitor import SecondsMonitor
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import Point

PERIOD_S = 1.0
PERIODS_S = (0.25, 4.0)  # variants of what the report leaves open
FOUR = "four times fifo"
FEWEST_STEPS = 2  # of the load


def points(profile: Profile) -> list[dict[str, Any]]:
    """All runs; a coarse profile does not vary the period, nor how the next policy is chosen.

    A run is as long as it takes for that many tuples to arrive at the chain of operators, in whole steps of the load.
    """
    steps = round(profile.tuples / chain_rate(fmean(LOADS)) / STEP_S)
    seconds = max(FEWEST_STEPS, steps) * STEP_S
    return [{"seconds": seconds, "seed": seed, **point} for seed in range(profile.seeds) for point in _of_seed(profile)]


def _of_seed(profile: Profile) -> Iterator[dict[str, Any]]:
    for plan in PLANS:
        for name in SINGLES:
            yield _point(plan, name)
        for goals in GOALS:
            yield _point(plan, "adaptive", goals)
            if not profile.coarse:
                yield _point(plan, "adaptive", goals, selection="greedy")
                for period in PERIODS_S:
                    yield _point(plan, "adaptive", goals, period=period)
    yield _point(PLANS[0], FOUR, "delay")


def _point(
    plan: str, policy: str, goals: str = "", period: float = PERIOD_S, selection: str = "roulette"
) -> dict[str, Any]:
    return {"plan": plan, "policy": policy, "goals": goals, "period": period, "selection": selection}


def weight(point: Point) -> float:
    """All runs take about as long."""
    return float(point["seconds"])


def run(point: Point) -> dict[str, Any]:
    """Simulate one plan under one policy, and measure it. What is still queued at the end has no delay."""
    app = application(point)
    monitor = SecondsMonitor(app.plan)
    began = time.process_time()
    result = simulate(app, RunLimits(seconds=point["seconds"]), monitor, fast_paths=False)
    spent = time.process_time() - began
    seconds = int(point["seconds"])
    outputs, delays = monitor.series(seconds)
    memory = monitor.memory_series(seconds)
    latency = result.report["classes"]["all"]["latency"]
    return {
        "delay_s": latency["mean"],
        "rate": result.report["throughput"]["outputs"],
        "memory_bytes": result.report["memory"]["mean"],
        "cpu_s": spent,
        "switches": result.report["schedule"]["updates"],
        "series_delay_s": [None if np.isnan(value) else float(value) for value in delays],
        "series_rate": outputs.tolist(),
        "series_memory_bytes": memory.tolist(),
    }
