"""Lists every run of the PRB study, and simulates one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headgate.application.checked import RunLimits
from headgate.runtime.simulated import SimulationResult, simulate
from headgate_lab.studies.prb.workloads import CLASS, DEPTH, FAN_OUT, application, path_costs, roots_of
from headgate_lab.studies.study import Profile
from headgate_lab.studies.sweep import Point

RHO = 0.9  # Table 2
ALL_POLICIES = ("rr", "fifo", "rb", "prb")
RATE_BASED = ("rb", "prb")
EXPENSIVE = 100.0  # the cost of the expensive operators in sections 5.3 and 5.4
HIGHEST_COST = 300.0  # the highest cost in section 5.5, and the cost in section 5.6
PEAK_DEPTH = 4  # the peak in section 5.3, and the depth in section 5.5
_TRACED = 300  # tuples per stream: tracing is slow, and the mean that is counted settles soon
_BESIDE = 4  # at loads that the paper does not use, tuples are divided by this, because there are many such runs


def points(profile: Profile) -> list[dict[str, Any]]:
    """All runs without duplicates: figures share some."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for seed in range(profile.seeds):
        for point in (*_flat(profile.coarse), *_trees(profile.coarse), *_traced(profile.coarse)):
            whole = {**point, "tuples": _tuples(point, profile.tuples), "seed": seed}
            found.setdefault(tuple(sorted(whole.items())), whole)
    return list(found.values())


def _tuples(point: Point, wanted: int) -> int:
    if point["traced"]:
        return min(wanted, _TRACED)
    return wanted if point["rho"] == RHO else max(1, wanted // _BESIDE)


def _flat(coarse: bool) -> Iterator[dict[str, Any]]:
    """Sections 5.1 and 5.2. The load is varied at the ends of the skew, because the paper's numbers depend on it."""
    for theta in thetas(coarse):
        yield from _each(ALL_POLICIES, workload="cost", theta=theta, rho=RHO)
        yield from _each(RATE_BASED, workload="selectivity", theta=theta, rho=RHO)
    for rho in rhos(coarse):
        for theta in (0.0, 0.9):
            yield from _each(RATE_BASED, workload="cost", theta=theta, rho=rho)


def _trees(coarse: bool) -> Iterator[dict[str, Any]]:
    """Sections 5.3 to 5.6."""
    for depth in range(DEPTH + 1):
        for rho in (RHO,) if coarse else (RHO, 0.8):
            yield from _each(RATE_BASED, **tree_parameters(depth=depth, rho=rho))
    for count in counts(coarse):
        yield from _each(RATE_BASED, **tree_parameters(depth=DEPTH, count=count))
    for cost in costs(coarse):
        yield from _each(("rr", *RATE_BASED), **tree_parameters(cost=cost))
    for rho in rhos(coarse):
        yield from _each(("rr", *RATE_BASED), **tree_parameters(cost=HIGHEST_COST, rho=rho))


def _traced(coarse: bool) -> Iterator[dict[str, Any]]:
    """Section 5.6: runs whose preemptions are counted."""
    for rho in rhos(coarse):
        yield from _each(("prb",), traced=True, **tree_parameters(cost=HIGHEST_COST, rho=rho))


def _each(policies: tuple[str, ...], traced: bool = False, **parameters: Any) -> Iterator[dict[str, Any]]:
    for policy in policies:
        yield {**parameters, "policy": policy, "traced": traced}


def tree_parameters(
    depth: int = PEAK_DEPTH, count: int = 1, cost: float = EXPENSIVE, rho: float = RHO
) -> dict[str, Any]:
    """A tree with `count` expensive operators of `cost` at `depth`."""
    return {"workload": "tree", "depth": depth, "count": count, "cost": cost, "rho": rho}


def thetas(coarse: bool) -> tuple[float, ...]:
    """Zipf parameters, figures 3 to 6."""
    return (0.0, 0.45, 0.9) if coarse else (0.0, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9)


def rhos(coarse: bool) -> tuple[float, ...]:
    """The loads, including the paper's 0.9, for claims that depend on the load."""
    return (0.5, 0.9) if coarse else (0.5, 0.6, 0.7, 0.8, 0.9)


def counts(coarse: bool) -> tuple[int, ...]:
    """Expensive leaves, figures 9 and 10."""
    return (1, 8, 32) if coarse else (1, 2, 4, 8, 16, 32)


def costs(coarse: bool) -> tuple[float, ...]:
    """Costs of the expensive operator, figure 11."""
    return (25.0, 300.0) if coarse else (25.0, 50.0, 100.0, 200.0, 300.0)


def run(point: Point) -> dict[str, Any]:
    """Simulate one point until its queues are empty. Called by the sweep, on a worker."""
    result = simulate(application(point), RunLimits(until_idle=True), trace=point["traced"])
    group = result.report["classes"][CLASS]
    leaves = [cost for root in roots_of(point) for cost in path_costs(root)]
    return {
        "mean": group["latency"]["mean"],
        "p95": group["latency"]["p95"],
        "results": group["outputs"],
        "work": sum(leaves) / len(leaves),  # expected work per input tuple
        **(_counted(result) if point["traced"] else {}),
    }


def _counted(result: SimulationResult) -> dict[str, float]:
    """Preemptions per result."""
    assert result.trace is not None
    stopped = sum(call.preempted for call in result.trace.calls)
    return {"preemptions": stopped / result.report["classes"][CLASS]["outputs"]}


def weight(point: Point) -> float:
    """Roughly the microseconds that a run takes: a fixed time per execution of an operator."""
    executions = point["tuples"] * (2**DEPTH * (DEPTH + 1) if point["workload"] == "tree" else FAN_OUT)
    each = 10.0 if point["traced"] else {"fifo": 2.0, "rb": 1.0, "prb": 1.5, "rr": 6.0}[point["policy"]]
    return each * float(executions)
