"""Lists every run of the selectors study, and simulates one."""

from __future__ import annotations

import time
from statistics import fmean
from typing import Any

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.studies.selectors.plans import DEVELOPMENT, HELD_OUT
from headgate_lab.studies.selectors.workload import CANDIDATES, SELECTIONS, application, run_seconds
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import Point

COARSE = 2  # plans of a coarse profile


def points(profile: Profile) -> list[dict[str, Any]]:
    """Every held-out plan under every candidate alone and every selection; a coarse profile has development plans."""
    plans = DEVELOPMENT[:COARSE] if profile.coarse else HELD_OUT
    return [
        {"plan": plan, "policy": policy, "tuples": profile.tuples, "seed": seed}
        for plan in plans
        for policy in (*CANDIDATES, *SELECTIONS)
        for seed in range(profile.seeds)
    ]


def weight(point: Point) -> float:
    """A guess at how long a run takes: forecasts are simulations as well."""
    return {"learned": 8.0}.get(point["policy"], 1.0) * float(point["tuples"])


def run(point: Point) -> dict[str, Any]:
    """Simulate one point and measure how well the promises were kept."""
    app = application(point)
    began = time.process_time()
    report = simulate(app, RunLimits(seconds=run_seconds(point))).report
    spent = time.process_time() - began
    kept = list(report["qos"].values())
    return {
        "score": fmean(one["score"] for one in kept),
        "must_kept": fmean(one["must_kept"] for one in kept),
        "switches": sum(one["kind"] == "switch" for one in report["decisions"]),
        "cpu_s": spent,
    }
