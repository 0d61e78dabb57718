"""Figures of the selectors study."""

from __future__ import annotations

from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import Chart
from headgate_lab.studies.selectors.quantities import best_fixed, plans_of, scores
from headgate_lab.studies.selectors.workload import CANDIDATES, SELECTIONS


def charts(results: SweepResults) -> list[Chart]:
    """The score of every selection beside the best fixed policy, plan by plan; and of every fixed policy."""
    plans = list(enumerate(plans_of(results)))
    best = {"best fixed": [(float(at), list(scores(results, p, best_fixed(results, p)).values())) for at, p in plans]}
    return [
        _chart("selections", "weighted QoS score by plan", best | _lines(results, SELECTIONS)),
        _chart("fixed", "weighted QoS score of fixed policies, by plan", _lines(results, CANDIDATES)),
    ]


def _lines(results: SweepResults, policies: tuple[str, ...]) -> dict[str, list[tuple[float, list[float]]]]:
    plans = list(enumerate(plans_of(results)))
    return {one: [(float(at), list(scores(results, p, one).values())) for at, p in plans] for one in policies}


def _chart(name: str, title: str, lines: dict[str, list[tuple[float, list[float]]]]) -> Chart:
    return Chart(name, title, "plan", "score", lines)
