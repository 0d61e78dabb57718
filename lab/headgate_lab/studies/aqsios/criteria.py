"""Criteria of claims, and texts about the measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from headgate_lab.studies.aqsios.quantities import Runs, Samples, gap, known, ratio, to_ms
from headgate_lab.studies.aqsios.readings import ALIKE, FACTOR, FLAT, NOTHING, TIGHT
from headgate_lab.studies.claims import BySeed, Criterion, estimate

PERCENT = ".1%"
WITHIN, WITHIN_MS = "{:g} within a factor of 2", "{:g} ms within a factor of 2"


def near(what: str, measure: Samples, published: float, words: str = "near {:g}") -> Criterion:
    """A published number, met within a factor of 2."""
    return Criterion(f"{what} {words.format(published)}", known(measure), published / FACTOR, published * FACTOR)


def above(what: str, measure: Samples, bound: float) -> Criterion:
    """A published lower bound."""
    return Criterion(f"{what} above {bound:g}", known(measure), low=bound)


def below(what: str, measure: Samples, bound: float) -> Criterion:
    """A published upper bound."""
    return Criterion(f"{what} below {bound:g}", known(measure), high=bound)


def greater(what: str, first: BySeed, second: BySeed, times: float = 1.0) -> Criterion:
    """Of two measures of a seed the first is greater, or more than so many times as great."""
    return Criterion(what, ratio(first, second), low=times)


def smaller(what: str, first: BySeed, second: BySeed, times: float = 1.0) -> Criterion:
    """Of two measures of a seed the first is smaller, or less than so many times as great."""
    return Criterion(what, ratio(first, second), high=times)


def alike(what: str, first: BySeed, second: BySeed, factor: float = ALIKE) -> Criterion:
    """Two measures of a seed are the same within a factor."""
    return Criterion(what, ratio(first, second), 1 / factor, factor)


def more(what: str, first: BySeed, second: BySeed) -> Criterion:
    """As `greater`, for what may be 0."""
    return Criterion(what, gap(first, second), low=0.0)


def nothing(what: str, measure: Samples) -> Criterion:
    """An inversion, or a difference, that there is not, in any seed."""
    return Criterion(what, known(measure), -NOTHING, NOTHING)


def something(what: str, measure: Samples) -> Criterion:
    """An inversion that there is."""
    return Criterion(what, known(measure), low=NOTHING)


def unmeasured(what: str) -> Criterion:
    """What no run can tell: it stays open, and so does the claim, unless another part fails."""
    return Criterion(f"{what} (not measured)", [math.nan])


def free(runs: Runs, levels: Sequence[str] = ("mean",)) -> Criterion:
    """Without inversion at all of these levels."""
    return nothing(f"{runs.name} without inversion", runs.inverted(levels))


def inverts(runs: Runs, levels: Sequence[str] = ("mean",)) -> Criterion:
    """With inversion at one of these levels."""
    return something(f"{runs.name} inverted", runs.inverted(levels))


def highest(what: str, of: Mapping[str, BySeed], name: str) -> list[Criterion]:
    """One scheduler has the highest of all, seed by seed."""
    return [more(f"{what} of {name} above {other}'s", of[name], of[other]) for other in of if other != name]


def lowest(what: str, of: Mapping[str, BySeed], name: str) -> list[Criterion]:
    """One scheduler has the lowest of all, seed by seed."""
    return [more(f"{what} of {name} below {other}'s", of[other], of[name]) for other in of if other != name]


def tight(runs: Runs) -> list[Criterion]:
    """No class reaches far above its mean."""
    return [
        smaller(f"{runs.name} tight in class {k}", runs.of(f"p90_{k}"), runs.of(f"mean_{k}"), TIGHT)
        for k in runs.classes
    ]


def flat(runs: Runs) -> Criterion:
    """All classes are served about alike."""
    return Criterion(f"{runs.name} flat", known(runs.unevenness()), high=FLAT)


# Texts


def shown(measure: Samples, form: str = ".3g") -> str:
    """A mean."""
    mean = estimate(known(measure)).mean
    return "not known" if math.isnan(mean) else f"{mean:{form}}"


def shown_ms(measure: BySeed) -> str:
    """The same of seconds, in milliseconds."""
    return shown(to_ms(measure))


def each_in_ms(runs: Runs, measure: str = "mean", comma: str = " ") -> str:
    """`1.2 2.1 6.3 ms`, class by class."""
    return f"{comma.join(map(shown_ms, runs.each(measure).values()))} ms" if runs.rows else "not run"


def in_ms(runs: Runs, measure: str = "mean", comma: str = " ") -> str:
    """`MBD 1.2 2.1 6.3 ms`."""
    return f"{runs.name} {each_in_ms(runs, measure, comma)}"


def all_in_ms(several: Iterable[Runs], measure: str = "mean", comma: str = " ") -> str:
    """The same of several schedulers."""
    return ", ".join(in_ms(runs, measure, comma) for runs in several)


def listed(of: Mapping[str, BySeed]) -> str:
    """`MBD 3.6, MPRR 10`."""
    return ", ".join(f"{name} {shown(measure)}" for name, measure in of.items())


def seeds_of(inverted: BySeed) -> str:
    """`2 of 5 seeds`: where there is an inversion."""
    return f"{sum(value > NOTHING for value in inverted.values())} of {len(inverted)} seeds"


def counted(of: Mapping[str, BySeed]) -> str:
    """`MBD 0 (0 of 5 seeds)`: an inversion and where there is any."""
    return ", ".join(
        f"{name} {shown(measure)} ({seeds_of(measure)})" if measure else f"{name} not run"
        for name, measure in of.items()
    )


def inversions(several: Iterable[Runs], levels: Sequence[str] = ("mean",)) -> str:
    """The same of several schedulers over the whole run."""
    return counted({runs.name: runs.inverted(levels) for runs in several})
