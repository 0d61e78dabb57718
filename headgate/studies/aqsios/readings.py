"""Runs and quantities that the claims of the AQSIOS study are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headgate.studies.aqsios.runs import BUCKET_S
from headgate.studies.aqsios.workload import workloads
from headgate.studies.claims import BySeed, Finding, Part, Results, estimate, judge, paired

PAPER = (
    "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (University of Pittsburgh, "
    "2013)"
)
FACTOR = 2.0  # a published number is met within it
NOTHING = 1e-12  # an inversion below is none


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


@dataclass(frozen=True)
class Setting:
    """A reading of what the dissertation leaves open: other schedulers in the place of some, inputs in step or not."""

    label: str
    schedulers: Mapping[str, str] = field(default_factory=dict)
    in_step: bool = True

    def ran(self, results: Results, workload: str, profile: str) -> bool:
        """Was a workload run so?"""
        known = results.values("scheduler", workload=workload, profile=profile, in_step=self.in_step)
        return bool(known) and all(name in known for name in self.schedulers.values())

    def of(self, results: Results, measure: str, workload: str, scheduler: str, profile: str = "") -> dict[int, float]:
        """A measure by seed."""
        name = self.schedulers.get(scheduler, scheduler)
        parameters = {"workload": workload, "scheduler": name, "profile": profile, "in_step": self.in_step, "low": 0}
        return results.by_seed(measure, **parameters)

    def means_ms(self, results: Results, workload: str, scheduler: str, profile: str = "") -> str:
        """The mean of each class, for a text: `1.41, 2.24, 3.95 ms`."""
        means = [self.of(results, f"mean_{k}", workload, scheduler, profile) for k in classes(workload)]
        return f"{', '.join(ms(mean) for mean in means)} ms"


Check = Callable[[Results, Setting], Finding]


def in_settings(
    check: Check, settings: Sequence[Setting], workload: str, profile: str = ""
) -> Callable[[Results], Finding]:
    """Judge a claim in the first setting; the text tells what comes of it in the others, if they were run."""

    def judged(results: Results) -> Finding:
        if not settings[0].ran(results, workload, profile):
            return left_out()
        found = check(results, settings[0])
        told = [found.measured]
        for setting in settings[1:]:
            if setting.ran(results, workload, profile):
                other = check(results, setting)
                told.append(f"{setting.label}: {other.value:.3g}, {other.verdict}")
        return replace(found, measured="; ".join(told))

    return judged


def left_out() -> Finding:
    """Of a claim whose runs a profile does not have."""
    return judge([], [math.nan], "not run at this size")


def classes(workload: str) -> range:
    """The numbers of its classes, from the most important."""
    return range(1, len(workloads()[workload]["classes"]) + 1)


def priorities(workload: str) -> list[int]:
    """Of its classes, in the same order."""
    return [section["priority"] for section in workloads()[workload]["classes"]]


def ratio(first: BySeed, second: BySeed) -> list[float]:
    """`first` over `second`, seed by seed; nan, hence no verdict, where that is 0."""
    return paired(lambda a, b: a / b if b else math.nan, first, second)


def largest(values: Iterable[float]) -> float:
    """Like max; nan where a value is."""
    return float(np.max(list(values)))


def spread(values: Iterable[float]) -> float:
    """The largest over the smallest; nan where a value is."""
    known = list(values)
    return largest(known) / float(np.min(known))


def near(what: str, samples: Sequence[float], published: float, unit: str = "") -> Part:
    """A published number, met within a factor of 2."""
    return Part(f"{what} {published:g}{unit} within a factor of 2", samples, published / FACTOR, published * FACTOR)


def none(what: str, inversion: BySeed) -> Part:
    """There is no inversion, in any seed."""
    return Part(f"{what} has no inversion", list(inversion.values()), high=NOTHING)


def some(what: str, inversion: BySeed) -> Part:
    """There is inversion."""
    return Part(f"{what} has inversion", list(inversion.values()), low=NOTHING)


def shown(samples: Iterable[float], percent: bool = False) -> str:
    """A mean for the text of a finding."""
    mean = estimate(samples).mean
    return f"{mean:.1%}" if percent else f"{mean:.3g}"


def ms(by_seed: BySeed) -> str:
    """A mean in milliseconds."""
    return shown(1e3 * value for value in by_seed.values())


def courses(results: Results, measure: str, **parameters: Any) -> dict[int, list[float | None]]:
    """A course over time (`series_1`, ...) by seed."""
    return {
        row["seed"]: row[measure]
        for row in results.rows
        if all(row.get(name) == value for name, value in parameters.items())
    }


def between(course: Sequence[float | None], start_s: float, end_s: float) -> float:
    """The mean of a course over a time; nan where it has no value."""
    first, last = round(start_s / BUCKET_S), round(end_s / BUCKET_S)
    known = [value for value in course[first:last] if value is not None]
    return sum(known) / len(known) if known else math.nan
