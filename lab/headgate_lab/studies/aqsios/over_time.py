"""Quantities over time (`series_k` of a run: a mean per 0.1 s), and inversion under the priorities of the moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import fmean, pstdev

from headgate.metrics.class_measures import by_priority, priority_inversion
from headgate_lab.studies.aqsios.quantities import Quantity, Runs, largest, number, over, priorities
from headgate_lab.studies.aqsios.runs import BUCKET_S
from headgate_lab.studies.aqsios.workload import input_seconds, profiles
from headgate_lab.studies.claims import Row

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


def growth(runs: Runs, k: int) -> Quantity:
    """How many times slower a class is in the last fifth of the input than in the second fifth."""

    def grown(row: Row) -> float:
        fifth, series = input_seconds(row) / 5, row[f"series_{k}"]
        return over(*(mean_between(series, at * fifth, (at + 1) * fifth, nearest) for at in (4, 1)))

    return runs.of(f"growth of class {k}", grown)


def peak(runs: Runs, k: int) -> Quantity:
    """The largest mean of a class over 0.1 s while input arrives."""

    def of_row(row: Row) -> float:
        return 1e3 * max(between(row[f"series_{k}"], 0.0, input_seconds(row)), default=math.nan)

    return runs.of(f"peak of class {k}", of_row)


def least_rise(runs: Runs, k: int, parts: int = 4) -> Quantity:
    """The smallest step from one part of the input to the next: above 0 if a class keeps getting slower."""

    def of_row(row: Row) -> float:
        width = input_seconds(row) / parts
        means = [mean_between(row[f"series_{k}"], at * width, (at + 1) * width) for at in range(parts)]
        return 1e3 * min(after - before for before, after in pairwise(means))

    return runs.of(f"least rise of class {k} from quarter to quarter", of_row)


def fluctuation(runs: Runs) -> Quantity:
    """The coefficient of variation over time, averaged over classes."""

    def of_class(row: Row, k: int) -> float:
        series = between(row[f"series_{k}"], 0.0, input_seconds(row))
        return over(pstdev(series), fmean(series)) if series else math.nan

    return runs.of("coefficient of variation over time", lambda row: fmean(of_class(row, k) for k in runs.classes))


def first_over_least(runs: Runs, step: float, burst: float, inside: bool) -> Quantity:
    """Class 1's mean over the lowest of the others in the step of a burst, or in the worst of the other steps. The
    first step is warm-up and does not count."""

    def at(row: Row, start: float) -> float:
        first, *others = (mean_between(row[f"series_{k}"], start, start + step) for k in runs.classes)
        return largest(over(first, other) for other in others)

    def of_row(row: Row) -> float:
        steps = [step * number for number in range(1, int(input_seconds(row) / step))]
        return largest(at(row, one) for one in steps if (one == burst) == inside)

    return runs.of(f"class 1 over the lowest {'in' if inside else 'outside'} the burst", of_row)


# Stages: the times between changes of priorities


def stages(profile: str) -> list[tuple[float, float, list[int]]]:
    """Each stage as (start, end, priorities)."""
    steps = profiles()["priorities"][profile]
    ends = [*(at for at, _ in steps[1:]), profiles()["seconds"][profile]]
    return [(float(at), float(end), valid) for (at, valid), end in zip(steps, ends, strict=True)]


def _in_stage(row: Row, profile: str, at: int, k: int) -> float:
    start, end, _ = stages(profile)[at]
    return mean_between(row[f"series_{k}"], start + SETTLED_S, end)


def in_stage(runs: Runs, at: int, k: int) -> Quantity:
    """A class's mean in a stage, without the time in which its priorities settle."""
    return runs.of(f"class {k} in stage {at + 1}", lambda row: 1e3 * _in_stage(row, runs.profile, at, k))


def stage_inversion(runs: Runs, *at: int) -> Quantity:
    """The inversion of class means in a stage, or summed over several stages; over all if none is named."""
    chosen = at or tuple(range(len(stages(runs.profile))))

    def of_row(row: Row) -> float:
        means = [[_in_stage(row, runs.profile, one, k) for k in runs.classes] for one in chosen]
        return sum(inversion(m, stages(runs.profile)[one][2]) for one, m in zip(chosen, means, strict=True))

    return runs.of(f"inversion in stage {', '.join(str(one + 1) for one in chosen)}", of_row)


# Inversion


def inversion(means: Sequence[float], given: Sequence[int]) -> float:
    """The cumulative inversion of class means, class 1 first, under given priorities. A pair counts 0 if one of its
    classes has no results (nan)."""
    names = [str(k) for k in range(len(means))]
    valid = dict(zip(names, given, strict=True))
    measured = {name: None if math.isnan(mean) else mean for name, mean in zip(names, means, strict=True)}
    return number(priority_inversion(by_priority(valid), measured, valid))


def late_inversion(runs: Runs) -> Quantity:
    """The inversion of class means in the second half of the input, when schedules have been corrected."""

    def late(row: Row) -> float:
        end = input_seconds(row)
        means = [mean_between(row[f"series_{k}"], end / 2, end) for k in runs.classes]
        return inversion(means, priorities(runs.workload))

    return runs.of("inversion in the second half", late)


def inversion_over_time(runs: Runs, start: float = 0.0, end: float = math.inf) -> Quantity:
    """The inversion in each 0.1 s between two times of the input, under the priorities valid then, summed over time; 0
    while there are no results."""

    def in_bucket(row: Row, bucket: int, valid: Sequence[int]) -> float:
        all_series = [row[f"series_{k}"] for k in runs.classes]
        means = [number(series[bucket] if bucket < len(series) else None) for series in all_series]
        now = inversion(means, valid)
        return 0.0 if math.isnan(now) else now

    def over_buckets(row: Row) -> float:
        if not any(value is not None for k in runs.classes for value in row[f"series_{k}"]):
            return math.nan
        return BUCKET_S * sum(
            in_bucket(row, bucket, valid)
            for begins, ends, valid in stages(runs.profile)
            for bucket in range(round(begins / BUCKET_S), round(ends / BUCKET_S))
            if start <= (bucket + 0.5) * BUCKET_S < end
        )

    return runs.of("inversion over time", over_buckets)


# The ramp of input rates


def calm(series: Series) -> float:
    """The response between 1 and 2 s, at 870 to 1140 tuples/s."""
    return mean_between(series, 1.0, 2.0)


def knee(series: Series, times: float = 3.0) -> float:
    """The time from which a response stays above `times` the calm response until the end of the ramp; that end if it
    never does, nan if the calm response is not known."""
    ends = float(profiles()["ramp"]["seconds"])
    border = times * calm(series)
    if math.isnan(border):
        return math.nan
    within = series[: int(ends / BUCKET_S)]
    under = [at for at, value in enumerate(within) if value is not None and not value > border]
    since = max(under, default=-1) + 1
    return since * BUCKET_S if since < len(within) else ends


def runaway(series: Series) -> float:
    """The response in the last half second of the ramp over the calm one."""
    ends = float(profiles()["ramp"]["seconds"])
    return over(mean_between(series, ends - 0.5, ends, nearest), calm(series))


def on_ramp(runs: Runs, name: str, of: Callable[[Series], float], times: float = 1.0) -> Quantity:
    """A quantity of the weighted mean over time, while input rates rise."""
    return runs.of(name, lambda row: times * of(weighted_series(row)))


def weighted_series(row: Row) -> list[float | None]:
    """The weighted mean of the classes in each tenth of a second; None where a class has no result."""
    weights = priorities(row["workload"])
    tenths = zip(*(row[f"series_{k}"] for k in range(1, len(weights) + 1)), strict=True)
    return [
        None if None in values else sum(w * (v or 0.0) for w, v in zip(weights, values, strict=True)) / sum(weights)
        for values in tenths
    ]
