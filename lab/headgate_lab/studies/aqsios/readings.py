"""How the dissertation is read: its words as numbers, its claims by number, and the runs that they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

from headgate_lab.studies.aqsios.workload import workloads
from headgate_lab.studies.claims import Finding, PaperClaim, SweepResults

PAPER = (
    "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (University of Pittsburgh, "
    "2013)"
)
TUPLES = 10_000  # of a stream, in the dissertation
FACTOR = 2.0  # a published number is met within it
NOTHING = 1e-12  # an inversion below is none
FLAT = 1.5  # "flat", "close together": the slowest class is at most so many times slower than the fastest
MUCH = 1.5  # "much slower": more than so many times
FAR = 10.0  # "far above": more than so many times
ALIKE = 1.25  # "similar", "the same", "at the level of", "stays": within this factor
TIGHT = 2.5  # "tight": of no class is the 90th percentile more than so many times its mean
LOW_MS = 10.0  # "low": every class is below; "narrow" and "above 10 ms" of a range (CMP-21, CMP-25)
HUGE = 3.0  # "huge": the range of class 5 is more than so many times that of class 1 (CMP-25)
BETTER = 0.9  # "improves only": no other class is below so many times what it was (CMP-24)
GROWN = 2.0  # "starving", "overloaded": the last fifth of the input is so many times slower than the second

ClaimEntry = tuple[str, str, Callable[[SweepResults], Finding]]  # figure, text and check of a claim


def numbered(
    kind: str, section: str, told: Sequence[ClaimEntry], *, first: int = 1, fitted: Set[str] = frozenset()
) -> tuple[PaperClaim, ...]:
    """The claims of a kind from a number on: `PI-1`, `PI-2`, ..."""
    return tuple(
        PaperClaim(f"{kind}-{number}", f"{PAPER}, {section}", figure, text, check, fitted=f"{kind}-{number}" in fitted)
        for number, (figure, text, check) in enumerate(told, start=first)
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
) -> dict[str, Any]:
    """A run with all its parameters."""
    return {
        "workload": workload,
        "scheduler": scheduler,
        "tuples": tuples,
        "seed": seed,
        "low": low,
        "profile": profile,
        "in_step": in_step,
    }


def distinct(points: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs without repetition, in their order."""
    found = {tuple(sorted(one.items())): one for one in points}
    return list(found.values())


def classes(workload: str) -> range:
    """The numbers of its classes, from the most important."""
    return range(1, len(workloads()[workload]["classes"]) + 1)


def priorities(workload: str) -> list[int]:
    """Of its classes, in the same order."""
    return [section["priority"] for section in workloads()[workload]["classes"]]


def series_by_seed(results: SweepResults, measure: str, **parameters: Any) -> dict[int, list[float | None]]:
    """A course over time (`series_1`, ...) by seed, for the figures."""
    return {
        row["seed"]: row[measure]
        for row in results.rows
        if all(row.get(name) == value for name, value in parameters.items())
    }
