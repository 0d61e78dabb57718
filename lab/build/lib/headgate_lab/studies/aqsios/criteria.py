"""Building blocks for the criteria of claims, and for texts about what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from headgate_lab.studies.aqsios.quantities import Runs, Samples, gap, known, ratio, to_ms
from headgate_lab.studies.aqsios.readings import ALIKE, FACTOR, FLAT, NOTHING, TIGHT
from headgate_lab.studies.claims import BySeed, Criterion, estimate

PERCENT = ".1%"
WITHIN, WITHIN_MS = "{:g} within a factor of 2", "{:g} ms within a factor of 2"


def near(what: str, measure: Samples, published: float, words: str = "near {:g}") -> Criterion:
    """The measure meets a published number within a factor of 2."""
    return Criterion(f"{what} {words.format(published)}", known(measure), published / FACTOR, published * FACTOR)


def above(what: str, measure: Samples, bound: float) -> Criterion:
    """The measure is above a published bound."""
    return Criterion(f"{what} above {bound:g}", known(measure), low=bound)


def below(what: str, measure: Samples, bound: float) -> Criterion:
    """The measure is below a published bound."""
    return Criterion(f"{what} below {bound:g}", known(measure), high=bound)


def greater(what: str, first: BySeed, second: BySeed, times: float = 1.0) -> Criterion:
    """Seed by seed, the first measure is more than `times` the second."""
    return Criterion(what, ratio(first, second), low=times)


def smaller(what: str, first: BySeed, second: BySeed, times: float = 1.0) -> Criterion:
    """Seed by seed, the first measure is less than `times` the second."""
    return Criterion(what, ratio(first, second), high=times)


def alike(what: str, first: BySeed, second: BySeed, factor: float = ALIKE) -> Criterion:
    """Seed by seed, two measures are the same within a factor."""
    return Criterion(what, ratio(first, second), 1 / factor, factor)


def greater_by_difference(what: str, first: BySeed, second: BySeed) -> Criterion:
    """Like `greater`, for measures that may be 0: it judges their difference instead of their ratio."""
    return Criterion(what, gap(first, second), low=0.0)


def is_zero(what: str, measure: Samples) -> Criterion:
    """There is no inversion, or no difference, in any seed."""
    return Criterion(what, known(measure), -NOTHING, NOTHING)


def is_positive(what: str, measure: Samples) -> Criterion:
    """There is an inversion."""
    return Criterion(what, known(measure), low=NOTHING)


def unmeasured(what: str) -> Criterion:
    """Something that no run can measure. It stays open, and so does the claim unless another part fails."""
    return Criterion(f"{what} (not measured)", [math.nan])


def without_inversion(runs: Runs, levels: Sequence[str] = ("mean",)) -> Criterion:
    """The runs have no inversion at any of these levels."""
    return is_zero(f"{runs.name} without inversion", runs.inverted(levels))


def with_inversion(runs: Runs, levels: Sequence[str] = ("mean",)) -> Criterion:
    """The runs have an inversion at one of these levels at least."""
    return is_positive(f"{runs.name} inverted", runs.inverted(levels))


def highest(what: str, of: Mapping[str, BySeed], name: str) -> list[Criterion]:
    """One scheduler has the highest value of all, seed by seed."""
    return [
        greater_by_difference(f"{what} of {name} above {other}'s", of[name], of[other]) for other in of if other != name
    ]


def lowest(what: str, of: Mapping[str, BySeed], name: str) -> list[Criterion]:
    """One scheduler has the lowest value of all, seed by seed."""
    return [
        greater_by_difference(f"{what} of {name} below {other}'s", of[other], of[name]) for other in of if other != name
    ]


def tight(runs: Runs) -> list[Criterion]:
    """No class has a 90th percentile far above its mean."""
    return [
        smaller(f"{runs.name} tight in class {k}", runs.of(f"p90_{k}"), runs.of(f"mean_{k}"), TIGHT)
        for k in runs.classes
    ]


def flat(runs: Runs) -> Criterion:
    """All classes have about the same mean."""
    return Criterion(f"{runs.name} flat", known(runs.unevenness()), high=FLAT)


# Texts


def shown(measure: Samples, form: str = ".3g") -> str:
    """The mean over seeds, as text."""
    mean = estimate(known(measure)).mean
    return "not known" if math.isnan(mean) else f"{mean:{form}}"


def shown_ms(measure: BySeed) -> str:
    """The mean over seeds of a measure in seconds, in milliseconds."""
    return shown(to_ms(measure))


def each_in_ms(runs: Runs, measure: str = "mean", comma: str = " ") -> str:
    """`1.2 2.1 6.3 ms`, one number per class."""
    return f"{comma.join(map(shown_ms, runs.each(measure).values()))} ms" if runs.rows else "not run"


def in_ms(runs: Runs, measure: str = "mean", comma: str = " ") -> str:
    """`MBD 1.2 2.1 6.3 ms`."""
    return f"{runs.name} {each_in_ms(runs, measure, comma)}"


def all_in_ms(several: Iterable[Runs], measure: str = "mean", comma: str = " ") -> str:
    """`MBD 1.2 2.1 6.3 ms, MPRR 2.4 4.2 9.1 ms`, for several schedulers."""
    return ", ".join(in_ms(runs, measure, comma) for runs in several)


def listed(of: Mapping[str, BySeed]) -> str:
    """`MBD 3.6, MPRR 10`."""
    return ", ".join(f"{name} {shown(measure)}" for name, measure in of.items())


def seeds_of(inverted: BySeed) -> str:
    """`2 of 5 seeds`: how many have an inversion."""
    return f"{sum(value > NOTHING for value in inverted.values())} of {len(inverted)} seeds"


def counted(of: Mapping[str, BySeed]) -> str:
    """`MBD 0 (0 of 5 seeds)`: inversions, and how many seeds have one."""
    return ", ".join(
        f"{name} {shown(measure)} ({seeds_of(measure)})" if measure else f"{name} not run"
        for name, measure in of.items()
    )


def inversions(several: Iterable[Runs], levels: Sequence[str] = ("mean",)) -> str:
    """The inversions of several schedulers over the whole run, as `counted` shows them."""
    return counted({runs.name: runs.inverted(levels) for runs in several})
