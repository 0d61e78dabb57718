"""Quantities that the claims compare: measures of runs by seed, and arithmetic on them.

Runs that a profile leaves out are not judged: their quantities are nan, so their criteria stay open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headgate_lab.studies.aqsios.readings import TUPLES, classes
from headgate_lab.studies.claims import BySeed, Row, SweepResults, paired

MS = 1e-3
Samples = BySeed | Sequence[float]  # a quantity, one value per seed


class Runs:
    """The runs of one scheduler on one workload, by seed; empty if the profile leaves them out. `name` is the
    scheduler's name in texts."""

    def __init__(
        self,
        results: SweepResults,
        workload: str,
        scheduler: str,
        *,
        low: int = 0,
        profile: str = "",
        in_step: bool = True,
        name: str = "",
    ) -> None:
        wanted = {"workload": workload, "scheduler": scheduler, "low": low, "profile": profile, "in_step": in_step}
        self.name = name or scheduler
        self.workload = workload
        self.profile = profile
        self.classes = classes(workload)
        self.rows: dict[int, Row] = {}
        for row in results.rows:
            if all(row.get(parameter) == value for parameter, value in wanted.items()):
                if row["seed"] in self.rows:
                    raise LookupError(f"more than one run with {wanted} and seed {row['seed']}")
                self.rows[row["seed"]] = row

    def take(self, quantity: Callable[[Row], float]) -> dict[int, float]:
        """A quantity computed from each run, by seed."""
        return {seed: quantity(row) for seed, row in sorted(self.rows.items())}

    def of(self, measure: str) -> dict[int, float]:
        """A measure by seed; nan where a run has none."""
        return self.take(lambda row: number(row[measure]))

    def each(self, measure: str = "mean") -> dict[int, dict[int, float]]:
        """A measure of every class, by seed."""
        return {k: self.of(f"{measure}_{k}") for k in self.classes}

    def at_length(self, measure: str) -> dict[int, float]:
        """A measure that grows as long as an overload lasts: nan for runs shorter than the dissertation's."""
        return self.take(lambda row: number(row[measure]) if row["tuples"] >= TUPLES else math.nan)

    def starvation(self) -> dict[int, float]:
        """The mean of the least important class over that of the most important."""
        return self.of("starvation")

    def weighted(self) -> dict[int, float]:
        """The mean over all classes, weighted by priority."""
        return self.of("weighted_mean")

    def inverted(self, levels: Sequence[str] = ("mean",)) -> dict[int, float]:
        """The cumulative inversion, summed over levels."""
        return self.take(lambda row: sum(number(row[f"inversion_{level}"]) for level in levels))

    def width(self, k: int) -> dict[int, float]:
        """The range from the 10th to the 90th percentile of a class."""
        return self.take(lambda row: number(row[f"p90_{k}"]) - number(row[f"p10_{k}"]))

    def widest(self) -> dict[int, float]:
        """The widest of these ranges."""
        return over_all(largest, [self.width(k) for k in self.classes])

    def unevenness(self) -> dict[int, float]:
        """The slowest class over the fastest."""
        return over_all(unevenness, self.each().values())


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


# Functions of measures, seed by seed


def by_seed(quantity: Callable[..., float], *measures: BySeed) -> dict[int, float]:
    """A quantity computed from several measures, for the seeds that have all of them."""
    common = sorted(set.intersection(*(set(measure) for measure in measures)))
    return dict(zip(common, paired(quantity, *measures), strict=True))


def over_all(of: Callable[[Iterable[float]], float], measures: Iterable[BySeed]) -> dict[int, float]:
    """A function such as `largest`, applied to several measures."""
    return by_seed(lambda *values: of(values), *measures)


def total(measures: Iterable[BySeed]) -> dict[int, float]:
    """The sum of several measures."""
    return over_all(sum, measures)


def to_ms(measure: BySeed) -> dict[int, float]:
    """A measure in seconds, in milliseconds."""
    return {seed: 1e3 * value for seed, value in measure.items()}


def known(measure: Samples) -> list[float]:
    """The values of all seeds; a single nan if nothing was run."""
    return list(measure.values() if isinstance(measure, Mapping) else measure) or [math.nan]


def ratio(first: BySeed, second: BySeed) -> list[float]:
    """`first` over `second`."""
    return known(by_seed(over, first, second))


def gap(first: BySeed, second: BySeed) -> list[float]:
    """`first` minus `second`."""
    return known(by_seed(lambda a, b: a - b, first, second))
