"""Latencies over time (`series_k` of a run: a mean per 0.1 s), and inversion under the priorities of the moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean, pstdev

from headgate.metrics.class_measures import by_priority, priority_inversion
from headgate_lab.studies.aqsios.criteria import shown
from headgate_lab.studies.aqsios.quantities import Runs, by_seed, known, number, over, total
from headgate_lab.studies.aqsios.readings import GROWN, priorities
from headgate_lab.studies.aqsios.runs import BUCKET_S
from headgate_lab.studies.aqsios.workload import input_seconds, profiles
from headgate_lab.studies.claims import Criterion, Row

SETTLED_S = 0.2  # for this long after a change of priorities, nothing is compared

Series = Sequence[float | None]
Tenths = Callable[[float, float], slice]  # (start, end) -> the part of a series between them


def whole(start: float, end: float) -> slice:
    """The tenths of a second that lie entirely between two times."""
    return slice(math.ceil(start / BUCKET_S - 1e-6), math.floor(end / BUCKET_S + 1e-6))


def nearest(start: float, end: float) -> slice:
    """The tenths of a second between two times, each rounded to the nearest tenth."""
    return slice(round(start / BUCKET_S), round(end / BUCKET_S))


def between(series: Series, start: float, end: float, tenths: Tenths = whole) -> list[float]:
    """The values of a series between two times, without those that are None."""
    return [value for value in series[tenths(start, end)] if value is not None]


def mean_between(series: Series, start: float, end: float, tenths: Tenths = whole) -> float:
    """The mean of a series between two times; nan if it has no values there."""
    return fmean(between(series, start, end, tenths) or [math.nan])


def growth(runs: Runs, k: int, tenths: Tenths = whole) -> dict[int, float]:
    """How many times slower a class is in the last fifth of the input than in the second fifth."""

    def grown(row: Row) -> float:
        fifth, series = input_seconds(row) / 5, row[f"series_{k}"]
        last, second = (mean_between(series, at * fifth, (at + 1) * fifth, tenths) for at in (4, 1))
        return over(last, second)

    return runs.take(grown)


def steady(runs: Runs, k: int) -> Criterion:
    """A class neither starves nor is overloaded."""
    return Criterion(f"{runs.name} class {k} does not grow", known(growth(runs, k)), high=GROWN)


def fluctuation(runs: Runs) -> dict[int, float]:
    """The coefficient of variation over time, averaged over classes."""

    def of_class(row: Row, k: int) -> float:
        series = between(row[f"series_{k}"], 0.0, input_seconds(row))
        return over(pstdev(series), fmean(series)) if series else math.nan

    return runs.take(lambda row: fmean(of_class(row, k) for k in runs.classes))


# Stages: the times between changes of priorities


def stages(profile: str) -> list[tuple[float, float, list[int]]]:
    """Each stage as (start, end, priorities)."""
    steps = profiles()["priorities"][profile]
    ends = [*(at for at, _ in steps[1:]), profiles()["seconds"][profile]]
    return [(float(at), float(end), valid) for (at, valid), end in zip(steps, ends, strict=True)]


def in_stage(runs: Runs, at: int, k: int) -> dict[int, float]:
    """A class's mean in a stage, without the time in which its priorities settle."""
    start, end, _ = stages(runs.profile)[at]
    return runs.take(lambda row: mean_between(row[f"series_{k}"], start + SETTLED_S, end))


def over_in_stage(runs: Runs, at: int, first: int, second: int) -> dict[int, float]:
    """The ratio of two classes' means in a stage."""
    return by_seed(over, in_stage(runs, at, first), in_stage(runs, at, second))


def over_by_stage(several: Iterable[Runs], first: int, second: int) -> str:
    """`MBD 0.9 0.7 0.7, MBD_UP 0.9 0.8 0.8`: the ratio of two classes' means in each stage."""
    return ", ".join(
        f"{r.name} {' '.join(shown(over_in_stage(r, at, first, second)) for at in _all_of(r))}" for r in several
    )


def _all_of(runs: Runs) -> range:
    return range(len(stages(runs.profile)))


# Inversion


def inversion(means: Sequence[float], given: Sequence[int]) -> float:
    """The cumulative inversion of class means, class 1 first, under given priorities. A pair counts 0 if one of its
    classes has no results (nan)."""
    names = [str(k) for k in range(len(means))]
    valid = dict(zip(names, given, strict=True))
    measured = {name: None if math.isnan(mean) else mean for name, mean in zip(names, means, strict=True)}
    return number(priority_inversion(by_priority(valid), measured, valid))


def stage_inversion(runs: Runs, *at: int) -> dict[int, float]:
    """The inversion of class means in a stage, or summed over several stages; over all if none is named."""
    return total(_in_stage(runs, one) for one in at or _all_of(runs))


def _in_stage(runs: Runs, at: int) -> dict[int, float]:
    _, _, valid = stages(runs.profile)[at]
    return by_seed(lambda *means: inversion(means, valid), *(in_stage(runs, at, k) for k in runs.classes))


def inversion_by_stage(several: Iterable[Runs]) -> str:
    """`inversion by stage MBD 0 0.3 0.2`."""
    texts = (f"{r.name} {' '.join(shown(stage_inversion(r, at)) for at in _all_of(r))}" for r in several)
    return f"inversion by stage {', '.join(texts)}"


def late_inversion(runs: Runs) -> dict[int, float]:
    """The inversion of class means in the second half of the input, when schedules have been corrected."""

    def late(row: Row) -> float:
        end = input_seconds(row)
        means = [mean_between(row[f"series_{k}"], end / 2, end) for k in runs.classes]
        return inversion(means, priorities(runs.workload))

    return runs.take(late)


def inversion_over_time(runs: Runs, start: float = 0.0, end: float = math.inf) -> dict[int, float]:
    """The inversion in each 0.1 s between two times of the input, under the priorities valid then, averaged; 0 while
    there are no results."""

    def in_bucket(row: Row, bucket: int, valid: Sequence[int]) -> float:
        all_series = [row[f"series_{k}"] for k in runs.classes]
        means = [number(series[bucket] if bucket < len(series) else None) for series in all_series]
        now = inversion(means, valid)
        return 0.0 if math.isnan(now) else now

    def over_buckets(row: Row) -> float:
        found = [
            in_bucket(row, bucket, valid)
            for begins, ends, valid in stages(runs.profile)
            for bucket in range(round(begins / BUCKET_S), round(ends / BUCKET_S))
            if start <= (bucket + 0.5) * BUCKET_S < end
        ]
        return fmean(found or [math.nan])

    return runs.take(over_buckets)
