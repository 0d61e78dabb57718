"""Quantities that the claims of the multi-core experiments compare, and how the dissertation's words are read.

What a profile leaves out is not judged: its quantities are nan, which leaves their parts open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from headgate.studies.aqsios.readings import FACTOR, NOTHING
from headgate.studies.aqsios.workload import workloads
from headgate.studies.claims import BySeed, Part, Results, Row, estimate, paired

TUPLES = 10_000  # of a stream, in the dissertation
MS = 1e-3
FLAT = 1.5  # "flat": the slowest class is at most so many times slower than the fastest
MUCH = 1.5  # "much slower": more than so many times
FAR = 10.0  # "far above": more than so many times
ALIKE = 1.25  # "similar", "the same", "at the level of": within this factor
TIGHT = 2.5  # "tight": of no class is the 90th percentile more than so many times its mean


class Runs:
    """The runs of one scheduler with one workload, by seed; none where the profile leaves them out."""

    def __init__(
        self,
        results: Results,
        workload: str,
        scheduler: str,
        *,
        low: int = 0,
        profile: str = "",
        in_step: bool = True,
    ) -> None:
        wanted = {"workload": workload, "scheduler": scheduler, "low": low, "profile": profile, "in_step": in_step}
        self.name = scheduler
        self.workload = workload
        self.profile = profile
        self.classes = range(1, len(workloads()[workload]["classes"]) + 1)
        self.rows: dict[int, Row] = {
            row["seed"]: row
            for row in results.rows
            if all(row.get(parameter) == value for parameter, value in wanted.items())
        }

    def take(self, quantity: Callable[[Row], float]) -> dict[int, float]:
        """A quantity of a run, by seed."""
        return {seed: quantity(row) for seed, row in sorted(self.rows.items())}

    def of(self, measure: str) -> dict[int, float]:
        """A measure by seed, nan where it could not be taken."""
        return self.take(lambda row: number(row[measure]))

    def each(self, measure: str = "mean") -> dict[int, dict[int, float]]:
        """A measure of every class, by seed."""
        return {k: self.of(f"{measure}_{k}") for k in self.classes}

    def at_length(self, measure: str) -> dict[int, float]:
        """What grows as long as an overload lasts: known only from runs of the dissertation's length."""
        return self.take(lambda row: number(row[measure]) if row["tuples"] >= TUPLES else math.nan)

    def starvation(self) -> dict[int, float]:
        """The mean of the least important class over that of the most important."""
        return self.of("starvation")

    def weighted(self) -> dict[int, float]:
        """The mean of all classes, weighted by priority."""
        return self.of("weighted_mean")

    def inverted(self, levels: Sequence[str] = ("mean",)) -> dict[int, float]:
        """The cumulative inversion, summed over levels."""
        return self.take(lambda row: sum(number(row[f"inversion_{level}"]) for level in levels))

    def spread(self, k: int) -> dict[int, float]:
        """The range from the 10th to the 90th percentile of a class."""
        return self.take(lambda row: number(row[f"p90_{k}"]) - number(row[f"p10_{k}"]))

    def widest(self) -> dict[int, float]:
        """The widest of these ranges."""
        return over_all(max, [self.spread(k) for k in self.classes])

    def unevenness(self) -> dict[int, float]:
        """The slowest class over the fastest."""
        slowest, fastest = (over_all(of, self.each().values()) for of in (max, min))
        return by_seed(over, slowest, fastest)


def number(value: Any) -> float:
    """nan for what could not be measured."""
    return math.nan if value is None else float(value)


def over(value: float, base: float) -> float:
    """A quotient; nan, hence no verdict, where the base is 0."""
    return value / base if base else math.nan


def by_seed(quantity: Callable[..., float], *measures: BySeed) -> dict[int, float]:
    """A quantity of several measures for the seeds that have all."""
    common = sorted(set.intersection(*(set(measure) for measure in measures)))
    return dict(zip(common, paired(quantity, *measures), strict=True))


def over_all(of: Callable[[Iterable[float]], float], measures: Iterable[BySeed]) -> dict[int, float]:
    """The largest or smallest of several measures by seed; nan where one is."""
    return by_seed(lambda *values: math.nan if any(map(math.isnan, values)) else of(values), *measures)


def known(measure: BySeed) -> list[float]:
    """The values of all seeds; a single nan where nothing was run."""
    return list(measure.values()) or [math.nan]


def ratio(first: BySeed, second: BySeed) -> list[float]:
    """`first` over `second`, seed by seed."""
    return known(by_seed(over, first, second))


def gap(first: BySeed, second: BySeed) -> list[float]:
    """`first` minus `second`, seed by seed."""
    return known(by_seed(lambda a, b: a - b, first, second))


# Parts


def near(what: str, measure: BySeed, published: float) -> Part:
    """A published number, met within a factor of 2."""
    return Part(f"{what} near {published:g}", known(measure), published / FACTOR, published * FACTOR)


def above(what: str, measure: BySeed, bound: float) -> Part:
    """A published lower bound."""
    return Part(f"{what} above {bound:g}", known(measure), low=bound)


def below(what: str, measure: BySeed, bound: float) -> Part:
    """A published upper bound."""
    return Part(f"{what} below {bound:g}", known(measure), high=bound)


def greater(what: str, first: BySeed, second: BySeed, times: float = 1.0) -> Part:
    """Of two measures of a seed the first is greater, or more than so many times as great."""
    return Part(what, ratio(first, second), low=times)


def alike(what: str, first: BySeed, second: BySeed, factor: float = ALIKE) -> Part:
    """Two measures of a seed are the same within a factor."""
    return Part(what, ratio(first, second), 1 / factor, factor)


def more(what: str, first: BySeed, second: BySeed) -> Part:
    """As `greater`, for what may be 0."""
    return Part(what, gap(first, second), low=0.0)


def nothing(what: str, measure: BySeed) -> Part:
    """An inversion that there is not, in any seed."""
    return Part(what, known(measure), -NOTHING, NOTHING)


def something(what: str, measure: BySeed) -> Part:
    """An inversion that there is."""
    return Part(what, known(measure), low=NOTHING)


def free(runs: Runs, levels: Sequence[str] = ("mean",)) -> Part:
    """Without inversion at all of these levels."""
    return nothing(f"{runs.name} without inversion", runs.inverted(levels))


def inverts(runs: Runs, levels: Sequence[str] = ("mean",)) -> Part:
    """With inversion at one of these levels."""
    return something(f"{runs.name} inverted", runs.inverted(levels))


def highest(what: str, of: Mapping[str, BySeed], name: str) -> list[Part]:
    """One scheduler has the highest of all, seed by seed."""
    return [more(f"{what} of {name} above {other}'s", of[name], of[other]) for other in of if other != name]


def lowest(what: str, of: Mapping[str, BySeed], name: str) -> list[Part]:
    """One scheduler has the lowest of all, seed by seed."""
    return [more(f"{what} of {name} below {other}'s", of[other], of[name]) for other in of if other != name]


def tight(runs: Runs) -> list[Part]:
    """No class reaches far above its mean."""
    return [
        Part(f"{runs.name} tight in class {k}", ratio(runs.of(f"p90_{k}"), runs.of(f"mean_{k}")), high=TIGHT)
        for k in runs.classes
    ]


def flat(runs: Runs) -> Part:
    """All classes are served about alike."""
    return Part(f"{runs.name} flat", known(runs.unevenness()), high=FLAT)


# Texts


def shown(measure: BySeed | Sequence[float]) -> str:
    """A mean for the text of a finding."""
    samples = known(measure) if isinstance(measure, Mapping) else measure
    mean = estimate(samples).mean
    return "not known" if math.isnan(mean) else f"{mean:.3g}"


def in_ms(runs: Runs, measure: str = "mean") -> str:
    """`MBD 1.2 2.1 6.3 ms`, class by class."""
    if not runs.rows:
        return f"{runs.name} not run"
    return f"{runs.name} {' '.join(shown(to_ms(of)) for of in runs.each(measure).values())} ms"


def all_in_ms(several: Iterable[Runs], measure: str = "mean") -> str:
    """The same of several schedulers."""
    return ", ".join(in_ms(runs, measure) for runs in several)


def to_ms(measure: BySeed) -> dict[int, float]:
    """From seconds."""
    return {seed: value / MS for seed, value in measure.items()}


def listed(of: Mapping[str, BySeed]) -> str:
    """`MBD 3.6, MPRR 10`."""
    return ", ".join(f"{name} {shown(measure)}" for name, measure in of.items())


def counted(of: Mapping[str, BySeed]) -> str:
    """`MBD 0 (0 of 5 seeds)`: an inversion and where there is any."""
    texts = []
    for name, measure in of.items():
        seeds = sum(value > NOTHING for value in measure.values())
        texts.append(f"{name} {shown(measure)} ({seeds} of {len(measure)} seeds)" if measure else f"{name} not run")
    return ", ".join(texts)


def inversions(several: Iterable[Runs], levels: Sequence[str] = ("mean",)) -> str:
    """The same of several schedulers over the whole run."""
    return counted({runs.name: runs.inverted(levels) for runs in several})
