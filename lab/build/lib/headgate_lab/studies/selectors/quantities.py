"""What is computed from the runs of the selectors study."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from headgate_lab.studies.claims import BySeed, SweepResults, estimate
from headgate_lab.studies.selectors.workload import CANDIDATES


def plans_of(results: SweepResults) -> list[str]:
    """The plans that were run."""
    plans: list[str] = results.values("plan")
    return plans


def scores(results: SweepResults, plan: str, policy: str) -> dict[int, float]:
    """The weighted QoS score of a plan under a fixed policy or a selection, by seed."""
    return results.by_seed("score", plan=plan, policy=policy)


def best_fixed(results: SweepResults, plan: str) -> str:
    """The fixed policy with the best score on average over the seeds, which nobody knows beforehand."""
    means = {policy: fmean(scores(results, plan, policy).values()) for policy in CANDIDATES}
    return max(means, key=lambda policy: means[policy])


def over_plans(found: Sequence[BySeed]) -> dict[int, float]:
    """The mean over plans, by seed."""
    return {seed: fmean(one[seed] for one in found) for seed in found[0]}


def shown(samples: Sequence[float]) -> str:
    """The mean over seeds with its interval, for the text of a finding."""
    found = estimate(samples)
    return f"{found.mean:.3f} ({found.low:.3f} to {found.high:.3f})"
