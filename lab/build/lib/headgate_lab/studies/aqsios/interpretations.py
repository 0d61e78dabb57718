"""Interpretations of what the dissertation leaves open, and claims judged under several of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headgate_lab.studies.aqsios.quantities import Runs
from headgate_lab.studies.claims import Finding, SweepResults, judge


@dataclass(frozen=True)
class Interpretation:
    """One reading of what the dissertation leaves open: variants of some schedulers, and inputs in step or not."""

    label: str
    schedulers: Mapping[str, str] = field(default_factory=dict)
    in_step: bool = True

    def named(self, scheduler: str) -> str:
        """The variant that stands in for this scheduler, or the scheduler itself."""
        return self.schedulers.get(scheduler, scheduler)

    def ran(self, results: SweepResults, workload: str, profile: str) -> bool:
        """Was this workload run under this interpretation?"""
        found = results.values("scheduler", workload=workload, profile=profile, in_step=self.in_step)
        return bool(found) and all(name in found for name in self.schedulers.values())

    def runs(self, results: SweepResults, workload: str, scheduler: str, profile: str = "") -> Runs:
        """The runs of a scheduler, given by its name in the dissertation."""
        named = self.named(scheduler)
        return Runs(results, workload, named, profile=profile, in_step=self.in_step, name=scheduler)


Check = Callable[[SweepResults, Interpretation], Finding]


def in_interpretations(
    check: Check, interpretations: Sequence[Interpretation], workload: str, profile: str = ""
) -> Callable[[SweepResults], Finding]:
    """Judge a claim under the first interpretation; the text also gives the results under the others that were run."""

    def judged(results: SweepResults) -> Finding:
        if not interpretations[0].ran(results, workload, profile):
            return left_out()
        found = check(results, interpretations[0])
        texts = [found.measured]
        for interpretation in interpretations[1:]:
            if interpretation.ran(results, workload, profile):
                other = check(results, interpretation)
                texts.append(f"{interpretation.label}: {other.value:.3g}, {other.verdict}")
        return replace(found, measured="; ".join(texts))

    return judged


def left_out() -> Finding:
    """The finding for a claim whose runs the profile leaves out."""
    return judge([], [math.nan], "not run at this size")
