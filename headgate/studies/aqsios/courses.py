"""Courses over time of the multi-core experiments: means of each 0.1 s, and inversion with the priorities of a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

from headgate.control.monitor import priority_inversion
from headgate.studies.aqsios.quantities import Runs, by_seed, known, number, over
from headgate.studies.aqsios.readings import priorities
from headgate.studies.aqsios.runs import BUCKET_S
from headgate.studies.aqsios.workload import input_seconds, profiles
from headgate.studies.claims import Part, Row

GROWN = 2.0  # "starving", "overloaded": the last fifth of the input is so many times slower than the second
SETTLED_S = 0.2  # this long after a change of priorities nothing is compared


def between(row: Row, k: int, start: float, end: float) -> list[float]:
    """A class's means of each 0.1 s that lies between two times, where there were results."""
    first, last = math.ceil(start / BUCKET_S - 1e-6), math.floor(end / BUCKET_S + 1e-6)
    buckets: Sequence[float | None] = row[f"series_{k}"]
    return [value for value in buckets[first:last] if value is not None]


def mean_between(row: Row, k: int, start: float, end: float) -> float:
    """The mean of those; nan where there is none."""
    return fmean(between(row, k, start, end) or [math.nan])


def growth(runs: Runs, k: int) -> dict[int, float]:
    """How many times slower a class is in the last fifth of the input than in the second."""

    def grown(row: Row) -> float:
        fifth = input_seconds(row) / 5
        return over(mean_between(row, k, 4 * fifth, 5 * fifth), mean_between(row, k, fifth, 2 * fifth))

    return runs.take(grown)


def steady(runs: Runs, k: int) -> Part:
    """A class neither starves nor is overloaded."""
    return Part(f"{runs.name} class {k} does not grow", known(growth(runs, k)), high=GROWN)


def fluctuation(runs: Runs) -> dict[int, float]:
    """The coefficient of variation of the course, mean over classes."""

    def of_class(row: Row, k: int) -> float:
        course = between(row, k, 0.0, input_seconds(row))
        return over(pstdev(course), fmean(course)) if course else math.nan

    return runs.take(lambda row: fmean(of_class(row, k) for k in runs.classes))


def stages(profile: str) -> list[tuple[float, float, list[int]]]:
    """From when to when which priorities are valid."""
    steps = profiles()["priorities"][profile]
    ends = [*(at for at, _ in steps[1:]), profiles()["seconds"][profile]]
    return [(float(at), float(end), valid) for (at, valid), end in zip(steps, ends, strict=True)]


def inversion(means: Sequence[float], given: Sequence[int]) -> float:
    """The cumulative inversion of class means, class 1 first, under given priorities; pairs with a class without
    results (nan) count 0."""
    names = [str(k) for k in range(len(means))]
    valid = dict(zip(names, given, strict=True))
    order = sorted(names, key=lambda name: -valid[name])
    measured = {name: None if math.isnan(mean) else mean for name, mean in zip(names, means, strict=True)}
    return number(priority_inversion(order, measured, valid))


def in_stage(runs: Runs, at: int, k: int) -> dict[int, float]:
    """A class's mean while the priorities of a stage are valid, after they have settled."""
    start, end, _ = stages(runs.profile)[at]
    return runs.take(lambda row: mean_between(row, k, start + SETTLED_S, end))


def stage_inversion(runs: Runs, at: int) -> dict[int, float]:
    """The inversion of those means."""
    _, _, valid = stages(runs.profile)[at]
    return by_seed(lambda *means: inversion(means, valid), *(in_stage(runs, at, k) for k in runs.classes))


def late_inversion(runs: Runs) -> dict[int, float]:
    """The inversion of class means in the second half of the input, when schedules have been put right."""

    def late(row: Row) -> float:
        end = input_seconds(row)
        means = [mean_between(row, k, end / 2, end) for k in runs.classes]
        return inversion(means, priorities(runs.workload))

    return runs.take(late)


def inversion_over_time(runs: Runs, start: float = 0.0, end: float = math.inf) -> dict[int, float]:
    """The mean inversion of each 0.1 s of the input from a time to another, with the priorities that were valid then;
    0 while there are no results."""

    def in_bucket(row: Row, bucket: int, valid: Sequence[int]) -> float:
        courses = [row[f"series_{k}"] for k in runs.classes]
        means = [number(course[bucket] if bucket < len(course) else None) for course in courses]
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
