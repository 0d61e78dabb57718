"""How the dissertation is read: its words as numbers, its claims by number, and the runs behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from headgate_lab.studies.aqsios.workload import workloads
from headgate_lab.studies.claims import Finding, PaperClaim, SweepResults

PAPER = (
    "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (University of Pittsburgh, "
    "2013)"
)
TUPLES = 10_000  # per stream, in the dissertation
FACTOR = 2.0  # a published number is met within this factor
NOTHING = 1e-12  # an inversion below this counts as none
FLAT = 1.5  # "flat", "close together": the slowest class over the fastest is below this
MUCH = 1.5  # "much slower": by more than this factor
FAR = 10.0  # "far above": by more than this factor
ALIKE = 1.25  # "similar", "the same", "at the level of", "stays": within this factor
TIGHT = 2.5  # "tight": no class has a 90th percentile above this many times its mean
LOW_MS = 10.0  # "low": the mean of every class is below this; also the bound of "narrow" ranges (CMP-21, CMP-25)
HUGE = 3.0  # "huge": the range of class 5 is more than this many times that of class 1 (CMP-25)
BETTER = 0.9  # "improves only class 1": no other class falls below this share of what it was (CMP-24)
GROWN = 2.0  # "starving", "overloaded": the last fifth of the input is more than this many times slower than the second

ClaimEntry = tuple[str, str, Callable[[SweepResults], Finding]]  # figure, text and check of a claim


def numbered(
    kind: str, section: str, entries: Sequence[ClaimEntry], *, first: int = 1, fitted: Set[str] = frozenset()
) -> tuple[PaperClaim, ...]:
    """The claims of one kind, numbered from `first`: `PI-1`, `PI-2`, ..."""
    return tuple(
        PaperClaim(f"{kind}-{number}", f"{PAPER}, {section}", figure, text, check, fitted=f"{kind}-{number}" in fitted)
        for number, (figure, text, check) in enumerate(entries, start=first)
    )


def point(
    workload: str,
    scheduler: str,
    tuples: int,
    seed: int,
    *,
    low: int = 0,
    profile: str = "",
    in_step: bool = True,
    variant: str = "",
) -> dict[str, Any]:
    """The parameters of one run."""
    return {
        "workload": workload,
        "scheduler": scheduler,
        "tuples": tuples,
        "seed": seed,
        "low": low,
        "profile": profile,
        "in_step": in_step,
        "variant": variant,
    }


def distinct(points: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs without duplicates, in their order."""
    found = {tuple(sorted(one.items())): one for one in points}
    return list(found.values())


def classes(workload: str) -> range:
    """The numbers of a workload's classes, the most important first."""
    return range(1, len(workloads()[workload]["classes"]) + 1)


def priorities(workload: str) -> list[int]:
    """The priorities of a workload's classes, in the same order."""
    return [section["priority"] for section in workloads()[workload]["classes"]]


def series_by_seed(results: SweepResults, measure: str, **parameters: Any) -> dict[int, list[float | None]]:
    """A measure over time (`series_1`, ...) by seed, for the figures."""
    return {
        row["seed"]: row[measure]
        for row in results.rows
        if all(row.get(name) == value for name, value in parameters.items())
    }
