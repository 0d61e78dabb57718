"""The figures of the PRB paper, drawn from our runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import Chart
from headgate_lab.studies.prb.claims import means, saving
from headgate_lab.studies.prb.overhead import MOST_OVERHEAD, response
from headgate_lab.studies.prb.points import ALL_POLICIES, RATE_BASED, RHO, tree_parameters
from headgate_lab.studies.prb.workloads import DEPTH

ParametersAt = Callable[[Any], dict[str, Any]]  # x -> the parameters of the runs there
_RESPONSE = "mean response (time units)"
_REDUCTION = "reduction, PRB against RB (%)"


def charts(results: SweepResults) -> list[Chart]:
    """Figures 3 to 12."""
    return [*_flat(results), *_trees(results), _overhead(results)]


def _flat(results: SweepResults) -> list[Chart]:
    found = []
    for workload, policies, first in (("cost", ALL_POLICIES, 3), ("selectivity", RATE_BASED, 5)):
        thetas = results.values("theta", workload=workload, rho=RHO)

        def setting(theta: float, workload: str = workload) -> dict[str, Any]:
            return {"workload": workload, "theta": theta, "rho": RHO}

        x_label = f"Zipf parameter of the {'costs' if workload == 'cost' else 'selectivities'}"
        found += _pair(results, first, f"Skewed {x_label.split()[-1]}", x_label, policies, thetas, setting)
    return found


def _trees(results: SweepResults) -> list[Chart]:
    depths = list(range(DEPTH + 1))
    counts = results.values("count", workload="tree", depth=DEPTH, rho=RHO)
    costs = results.values("cost", workload="tree", policy="rr", rho=RHO)
    position: ParametersAt = lambda depth: tree_parameters(depth=depth)  # noqa: E731
    amount: ParametersAt = lambda count: tree_parameters(depth=DEPTH, count=count)  # noqa: E731
    magnitude: ParametersAt = lambda cost: tree_parameters(cost=cost)  # noqa: E731
    three = ("rr", *RATE_BASED)
    return [
        *_pair(results, 7, "Position of the skew", "depth of the expensive operator", RATE_BASED, depths, position),
        *_pair(results, 9, "Amount of skew", "expensive leaves", RATE_BASED, counts, amount, log_x=True),
        _responses(results, 11, "Magnitude of skew", "cost of the expensive operator", three, costs, magnitude),
    ]


def _pair(
    results: SweepResults,
    number: int,
    title: str,
    x_label: str,
    policies: Sequence[str],
    values: Sequence[float],
    setting: ParametersAt,
    log_x: bool = False,
) -> list[Chart]:
    """Two figures: the responses, and then the reduction."""
    line = [(value, [100 * share for share in saving(results, **setting(value))]) for value in values]
    name = f"figure-{number + 1:02}"
    return [
        _responses(results, number, title, x_label, policies, values, setting, log_x),
        Chart(name, f"{title} (Figure {number + 1})", x_label, _REDUCTION, {"reduction": line}, log_x),
    ]


def _responses(
    results: SweepResults,
    number: int,
    title: str,
    x_label: str,
    policies: Sequence[str],
    values: Sequence[float],
    setting: ParametersAt,
    log_x: bool = False,
) -> Chart:
    lines = {
        policy.upper(): [(value, list(means(results, policy, **setting(value)).values())) for value in values]
        for policy in policies
    }
    return Chart(f"figure-{number:02}", f"{title} (Figure {number})", x_label, _RESPONSE, lines, log_x)


def _overhead(results: SweepResults) -> Chart:
    steps = [MOST_OVERHEAD * at / 10 for at in range(11)]
    lines = {
        policy.upper(): [(v, list(response(results, policy, v).values())) for v in steps]
        for policy in ("rr", *RATE_BASED)
    }
    return Chart("figure-12", "Overhead (Figure 12)", "overhead cost", _RESPONSE, lines, log_y=True)
