"""MBD on a growing number of cores: claims SC-1 to SC-4 (chapter 6, figures 70 to 83)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from headgate_lab.studies.aqsios.criteria import greater, greater_by_difference, shown, shown_ms
from headgate_lab.studies.aqsios.interpretations import Interpretation, in_interpretations, left_out
from headgate_lab.studies.aqsios.over_time import Series, mean_between, nearest
from headgate_lab.studies.aqsios.quantities import Runs, known, largest, over_all, ratio, to_ms, unevenness
from headgate_lab.studies.aqsios.readings import ALIKE, FACTOR, PAPER, classes, distinct, point, priorities
from headgate_lab.studies.aqsios.runs import BUCKET_S
from headgate_lab.studies.aqsios.workload import profiles
from headgate_lab.studies.claims import BySeed, Criterion, Finding, PaperClaim, SweepResults, judge
from headgate_lab.studies.study import Profile

QUERIES = "5S"  # the number of queries grows with the number of cores
RATES = "5G"  # input rates grow with the number of cores
OVERLOAD = "5O"  # input rates grow over time
CORES = {QUERIES: (2, 3, 4, 8, 16), RATES: (2, 4, 8, 16), OVERLOAD: (2, 4, 8, 16)}
FEW_CORES = {QUERIES: (2, 4), RATES: (2, 4), OVERLOAD: (2, 4)}
SCHEDULER = "MBD"
INTERPRETATIONS = (Interpretation(""), Interpretation("without inputs in step", in_step=False))
RAMP_TUPLES = 10_000  # the ramp has its full length, however few tuples other runs have
LEVELS_MS = {1: (1.28, 1.56), 2: (1.72, 1.85), 3: (2.54, 2.67), 4: (3.00, 3.13), 5: (3.85, 4.13)}  # published
WEIGHTED_MS = (2.11, 2.18)
LIMITS_MS = {1: 2.5, 2: 3.5, 3: 5.0, 4: 6.0, 5: 9.0}  # upper ends of the axes of figures 70 to 74
WEIGHTED_LIMIT_MS = 4.0  # the same of figure 75
CALM_S = (1.0, 2.0)  # of the ramp: 870 to 1140 tuples/s
SHARP = 3.0  # the rise begins where a response stays above this many times the calm response
RUNAWAY = 10.0  # at the end of the ramp it is above this many times the calm response
KNEE_S = (2.22, 5.19)  # 1600 tuples/s, a quarter less or more; published: 3.6 s
LAST_S = 0.5  # the end of the ramp


def points(profile: Profile) -> list[dict[str, Any]]:
    """The runs of all three experiments."""
    cores = FEW_CORES if profile.coarse else CORES
    interpretations = INTERPRETATIONS[: 1 if profile.coarse else None]
    found = []
    for seed in range(profile.seeds):
        for family in (QUERIES, RATES):
            for n in cores[family]:
                for interpretation in interpretations:
                    found.append(
                        point(f"{family}_{n}", SCHEDULER, profile.tuples, seed, in_step=interpretation.in_step)
                    )
        found += [point(f"{OVERLOAD}_{n}", SCHEDULER, RAMP_TUPLES, seed) for n in cores[OVERLOAD]]
    return distinct(found)


def cores_of(results: SweepResults, family: str) -> list[int]:
    """The numbers of cores with which a family of workloads was run."""
    known = set(results.values("workload", scheduler=SCHEDULER))
    return [n for n in CORES[family] if f"{family}_{n}" in known]


def _flat(results: SweepResults, interpretation: Interpretation) -> Finding:
    by_n = _by_cores(results, interpretation, QUERIES)
    measures = {**{f"class {k}": f"mean_{k}" for k in LEVELS_MS}, "weighted mean": "weighted_mean"}
    published = {**{f"class {k}": level for k, level in LEVELS_MS.items()}, "weighted mean": WEIGHTED_MS}
    criteria, texts = [], []
    for what, measure in measures.items():
        found = {n: runs.of(measure) for n, runs in by_n.items()}
        criteria.append(_the_same(f"{what} flat", found))
        low, high = published[what]
        levels = ", ".join(f"{n}: {shown_ms(level)}" for n, level in found.items())
        texts.append(f"{what} {levels} ({low:g} to {high:g})")
    weighted = criteria[-1].samples
    worst = max(criteria, key=lambda criterion: sum(criterion.samples))
    text = (
        f"largest over smallest weighted mean {shown(weighted)}, at most {shown(worst.samples)} ({worst.what}); in ms "
        f"by cores (published; these levels are fitted): {'; '.join(texts)}"
    )
    return judge(criteria, weighted, text)


def _by_cores(results: SweepResults, interpretation: Interpretation, family: str) -> dict[int, Runs]:
    return {n: interpretation.runs(results, f"{family}_{n}", SCHEDULER) for n in cores_of(results, family)}


def _the_same(what: str, by_cores: Mapping[int, BySeed]) -> Criterion:
    """A measure stays the same over all numbers of cores."""
    return Criterion(what, known(over_all(unevenness, by_cores.values())), high=ALIKE)


def _limits(results: SweepResults) -> Finding:
    by_n = _by_cores(results, INTERPRETATIONS[0], QUERIES)
    criteria, texts = [], []
    limits = {f"p90_{k}": (f"class {k}'s p90", limit) for k, limit in LIMITS_MS.items()}
    limits["weighted_p90"] = ("weighted p90", WEIGHTED_LIMIT_MS)
    for measure, (what, limit) in limits.items():
        most = over_all(largest, [runs.of(measure) for runs in by_n.values()])
        criteria.append(
            Criterion(f"{what} below {limit:g} ms within a factor of 2", known(to_ms(most)), high=limit * FACTOR)
        )
        texts.append(f"{shown_ms(most)} of {limit:g}")
    text = f"largest 90th percentile over all core counts, ms, by class and weighted: {', '.join(texts)}"
    return judge(criteria, criteria[-1].samples, text)


def _faster(results: SweepResults, interpretation: Interpretation) -> Finding:
    by_n = _by_cores(results, interpretation, RATES)
    criteria, texts = [], []
    for k in classes(f"{RATES}_4"):
        found = {n: runs.of(f"mean_{k}") for n, runs in by_n.items()}
        for (a, at_a), (b, at_b) in pairwise(found.items()):
            criteria.append(greater_by_difference(f"class {k} falls from {a} to {b} cores", at_a, at_b))
        texts.append(f"class {k} {', '.join(f'{n}: {shown_ms(mean)}' for n, mean in found.items())}")
    first, *_, last = (runs.weighted() for runs in by_n.values())
    headline = ratio(last, first)
    text = f"weighted mean with the most cores is {shown(headline)} of that with 2; by cores, ms: {'; '.join(texts)}"
    return judge(criteria, headline, text)


def weighted_series(results: SweepResults, workload: str) -> dict[int, list[float | None]]:
    """The weighted mean of the classes in each tenth of a second, by seed; None where a class has no result."""
    runs, weights = Runs(results, workload, SCHEDULER), priorities(workload)
    found: dict[int, list[float | None]] = {}
    for seed, row in runs.rows.items():
        tenths = zip(*(row[f"series_{k}"] for k in runs.classes), strict=True)
        found[seed] = [_weighted(values, weights) for values in tenths]
    return found


def _weighted(values: Sequence[float | None], weights: Sequence[int]) -> float | None:
    present = [value for value in values if value is not None]
    if len(present) < len(values):
        return None
    return sum(w * value for w, value in zip(weights, present, strict=True)) / sum(weights)


def knee(series: Series) -> float:
    """The time from which a response stays above three times the calm response until the end of the ramp; that end if
    it never does, nan if the calm response is not known."""
    ends = float(profiles()["ramp"]["seconds"])
    border = SHARP * mean_between(series, *CALM_S)
    if math.isnan(border):
        return math.nan
    within = series[: int(ends / BUCKET_S)]
    below = [at for at, value in enumerate(within) if value is not None and not value > border]
    since = max(below, default=-1) + 1
    return since * BUCKET_S if since < len(within) else ends


def _overload(results: SweepResults) -> Finding:
    cores = cores_of(results, OVERLOAD)
    if not cores:
        return left_out()
    ends = float(profiles()["ramp"]["seconds"])
    calm, knees, criteria, texts = {}, {}, [], []
    for n in cores:
        found = weighted_series(results, f"{OVERLOAD}_{n}")
        calm[n] = {seed: mean_between(series, *CALM_S) for seed, series in found.items()}
        knees[n] = {seed: knee(series) for seed, series in found.items()}
        last = {seed: mean_between(series, ends - LAST_S, ends, nearest) for seed, series in found.items()}
        runaway = greater(f"{n} cores: at the end above ten times the calm response", last, calm[n], RUNAWAY)
        criteria += [Criterion(f"{n} cores: rise between 1200 and 2000 tuples/s", known(knees[n]), *KNEE_S), runaway]
        texts.append(
            f"{n}: {shown_ms(calm[n])} ms from 1 to 2 s, rise at {shown(knees[n])} s, "
            f"ratio at the end {shown(runaway.samples)}"
        )
    if len(cores) > 1:
        criteria.append(_the_same("the same before the rise for all core counts", calm))
        criteria.append(_the_same("the rise at the same time for all core counts", knees))
    text = f"weighted mean by cores: {'; '.join(texts)} (published: a sharp rise at 3.6 s)"
    return judge(criteria, known(knees[cores[0]]), text)


CLAIMS = (
    PaperClaim(
        "SC-1",
        f"{PAPER}, chapter 6",
        "Figures 70 to 75",
        "5S_2 to 5S_16: class means stay in 1.28 to 1.56, 1.72 to 1.85, 2.54 to 2.67, 3.00 to 3.13 and 3.85 to 4.13 "
        "ms, the weighted mean in 2.11 to 2.18 ms",
        in_interpretations(_flat, INTERPRETATIONS, f"{QUERIES}_2"),
    ),
    PaperClaim(
        "SC-2",
        f"{PAPER}, chapter 6",
        "Figures 70 to 75",
        "5S_2 to 5S_16: plots of classes 1 to 5 go up to 2.5, 3.5, 5, 6 and 9 ms, that of the weighted one to 4 ms",
        _limits,
        fitted=True,
    ),
    PaperClaim(
        "SC-3",
        f"{PAPER}, chapter 6",
        "Figures 76 to 81",
        "5G_2 to 5G_16, 600 to 4800 tuples/s: every class gets faster as rates and cores grow together",
        in_interpretations(_faster, INTERPRETATIONS, f"{RATES}_2"),
    ),
    PaperClaim(
        "SC-4",
        f"{PAPER}, chapter 6",
        "Figures 82, 83",
        "5O_2 to 5O_16: the same course for all core counts, a sharp rise at 3.6 s (1600 tuples/s), runaway afterwards",
        _overload,
        fitted=True,
    ),
)
