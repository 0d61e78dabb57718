"""Quantities that claims are about: measures of runs by seed, and arithmetic on them. Times are in milliseconds.

A quantity is not a number but a question to the results of a sweep, so that the same table of claims says what must be
run, what is judged, and what its text shows. Runs that a profile leaves out give no values: what needs them stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headgate_lab.studies.aqsios.readings import TUPLES, Reading
from headgate_lab.studies.aqsios.workload import workloads
from headgate_lab.studies.claims import BySeed, Row, SweepResults, paired

PARAMETERS = ("workload", "scheduler", "low", "profile", "in_step", "variant")


@dataclass(frozen=True)
class Runs:
    """The runs of one scheduler on one workload, one for each seed. `name` is the scheduler's in texts."""

    workload: str
    scheduler: str
    low: int = 0  # the class with a low input rate; 0: none
    profile: str = ""  # what changes over time
    in_step: bool = True
    variant: str = ""
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or self.scheduler

    @property
    def classes(self) -> range:
        """The numbers of the classes, the most important first."""
        return classes(self.workload)

    def read_as(self, reading: Reading) -> Runs:
        """The runs that stand in for these under a reading."""
        return replace(
            self,
            scheduler=reading.schedulers.get(self.scheduler, self.scheduler),
            in_step=self.in_step if reading.in_step is None else reading.in_step,
            variant=reading.variant or self.variant,
            name=self.label,
        )

    def point(self, tuples: int, seed: int) -> dict[str, Any]:
        """The parameters of one of the runs."""
        return {**{name: getattr(self, name) for name in PARAMETERS}, "tuples": tuples, "seed": seed}

    def of(self, name: str, value: Callable[[Row], float]) -> Quantity:
        """A quantity computed from each run."""
        return Quantity(f"{self.label} {name}", (self,), lambda found: found.values(self, value))

    def measure(self, key: str, name: str, times: float = 1e3) -> Quantity:
        """A measure of each run, by default a time in seconds."""
        return self.of(name, lambda row: times * number(row[key]))

    def mean(self, k: int, level: str = "mean") -> Quantity:
        """A class's mean, or a percentile such as `p90`."""
        return self.measure(f"{level}_{k}", f"{'' if level == 'mean' else level + ' of '}class {k}")

    def each(self) -> list[Quantity]:
        """The mean of every class."""
        return [self.mean(k) for k in self.classes]

    @property
    def weighted(self) -> Quantity:
        """The mean over all classes, weighted by priority."""
        return self.measure("weighted_mean", "weighted mean")

    @property
    def starvation(self) -> Quantity:
        """The mean of the least important class over that of the most important."""
        return self.measure("starvation", "starvation ratio", 1.0)

    def inversion(self, levels: Sequence[str] = ("mean",)) -> Quantity:
        """The cumulative inversion, summed over levels."""
        what = "inversion" if levels == ("mean",) else f"inversion at {', '.join(levels)}"
        return self.of(what, lambda row: sum(number(row[f"inversion_{level}"]) for level in levels))

    def width(self, k: int) -> Quantity:
        """The range from the 10th to the 90th percentile of a class."""
        return (self.mean(k, "p90") - self.mean(k, "p10")).named(f"{self.label} range of class {k}")

    @property
    def unevenness(self) -> Quantity:
        """The slowest class over the fastest."""
        return over_all(unevenness, self.each(), f"{self.label} slowest class over fastest")


@dataclass(frozen=True)
class Quantity:
    """A question to the results of a sweep: one number for each seed. `runs` are those that it needs."""

    name: str
    runs: tuple[Runs, ...]
    by_seed: Callable[[Found], dict[int, float]]

    def __truediv__(self, other: Quantity) -> Quantity:
        return combined(over, (self, other), f"{self.name} over {other.name}")

    def __sub__(self, other: Quantity) -> Quantity:
        return combined(lambda a, b: a - b, (self, other), f"{self.name} minus {other.name}")

    def named(self, name: str) -> Quantity:
        """The same with another name."""
        return replace(self, name=name)

    def long(self) -> Quantity:
        """The same where it grows as long as an overload lasts: not known from runs shorter than the dissertation's."""

        def at_length(found: Found) -> dict[int, float]:
            whole = all(row["tuples"] >= TUPLES for runs in self.runs for row in found.rows(runs).values())
            return {seed: value if whole else math.nan for seed, value in self.by_seed(found).items()}

        return replace(self, by_seed=at_length)


class Found:
    """The results of a sweep under one reading, looked up by runs."""

    def __init__(self, results: SweepResults, reading: Reading) -> None:
        self.reading = reading
        self._rows: dict[tuple[Any, ...], dict[int, Row]] = {}
        for row in results.rows:
            mine = self._rows.setdefault(tuple(row[name] for name in PARAMETERS), {})
            if row["seed"] in mine:
                raise LookupError(f"more than one run with {row}")
            mine[row["seed"]] = row

    def rows(self, runs: Runs) -> dict[int, Row]:
        """The runs by seed; none if the profile leaves them out. Until the input ends, `ended_` measures stand in."""
        read = runs.read_as(self.reading)
        found = self._rows.get(tuple(getattr(read, name) for name in PARAMETERS), {})
        if not self.reading.ended:
            return found
        return {
            seed: {**row, **{k[6:]: v for k, v in row.items() if k.startswith("ended_")}} for seed, row in found.items()
        }

    def values(self, runs: Runs, value: Callable[[Row], float]) -> dict[int, float]:
        """A value of each run, by seed."""
        return {seed: value(row) for seed, row in sorted(self.rows(runs).items())}


def combined(of: Callable[..., float], several: Sequence[Quantity], name: str) -> Quantity:
    """A quantity computed from others, for the seeds that have all of them."""

    def by_seed(found: Found) -> dict[int, float]:
        measures: list[BySeed] = [one.by_seed(found) for one in several]
        common = sorted(set.intersection(*(set(measure) for measure in measures)))
        return dict(zip(common, paired(of, *measures), strict=True))

    return Quantity(name, tuple(dict.fromkeys(run for one in several for run in one.runs)), by_seed)


def over_all(of: Callable[[Iterable[float]], float], several: Sequence[Quantity], name: str) -> Quantity:
    """A function such as `largest`, applied to several quantities."""
    return combined(lambda *values: of(values), several, name)


def classes(workload: str) -> range:
    """The numbers of a workload's classes, the most important first."""
    return range(1, len(workloads()[workload]["classes"]) + 1)


def priorities(workload: str) -> list[int]:
    """The priorities of a workload's classes, in the same order."""
    return [section["priority"] for section in workloads()[workload]["classes"]]


# Functions of numbers: nan if any of them is


def number(value: Any) -> float:
    """The value as a float; nan for None, which a run has for what it could not measure."""
    return math.nan if value is None else float(value)


def over(value: float, base: float) -> float:
    """A quotient; nan, hence no verdict, if the base is 0."""
    return value / base if base else math.nan


def largest(values: Iterable[float]) -> float:
    """The maximum; nan if any value is nan."""
    given = list(values)
    return math.nan if any(map(math.isnan, given)) else max(given)


def smallest(values: Iterable[float]) -> float:
    """The minimum; nan if any value is nan."""
    return -largest(-value for value in values)


def unevenness(values: Iterable[float]) -> float:
    """The largest over the smallest."""
    given = list(values)
    return over(largest(given), smallest(given))
