"""One rule for all studies: how what a paper says becomes criteria.

| the paper gives | it holds if the measured quantity is |
|---|---|
| a number | within a factor of 2 of it: no paper publishes the costs behind its numbers |
| a bound that is itself a measured number | on its side of the bound, which is moved by the same factor of 2 |
| "none", "some", "inverted" | so in four of five seeds |
| an order ("below", "faster") | so, by the interval of the difference or ratio of the runs with the same seed |
| a trend ("rises", "grows", "falls") | so from end to end; a step against it may undo a tenth of the whole change |
| "starves" | at a level: more than 3 times what the same class takes where it does not starve |
| an exact number, a spread, a flatness | as published |

What is alike by construction, such as two classes that a scheduler cannot tell apart, is left open: whichever comes
first is chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from headgate_lab.studies.claims import BySeed, Criterion, paired

FACTOR = 2.0  # a published number is met within this factor
NOTHING = 1e-12  # a quantity below this counts as none: rounding
STARVES = 3.0  # a class starves if it takes more than this many times what it takes where it does not
UNDONE = 0.1  # a step against a trend may undo at most this share of the whole change


def near(what: str, samples: Iterable[float], published: float) -> Criterion:
    """A published number is met. It may be negative, but not 0."""
    low, high = sorted((published / FACTOR, published * FACTOR))
    return Criterion(f"{what} {published:g} within a factor of 2", list(samples), low, high)


def above(what: str, samples: Iterable[float], published: float) -> Criterion:
    """A published lower bound, above 0, is met."""
    return Criterion(f"{what} above {published:g} within a factor of 2", list(samples), low=published / FACTOR)


def below(what: str, samples: Iterable[float], published: float) -> Criterion:
    """A published upper bound, above 0, is met."""
    return Criterion(f"{what} below {published:g} within a factor of 2", list(samples), high=published * FACTOR)


def none(what: str, samples: Iterable[float]) -> Criterion:
    """There is none of it in four of five seeds. `samples` are at least 0: an inversion, a difference, a share."""
    return Criterion(what, list(samples), high=NOTHING, counted=True)


def some(what: str, samples: Iterable[float]) -> Criterion:
    """There is some of it in four of five seeds. `samples` are at least 0."""
    return Criterion(what, list(samples), low=NOTHING, counted=True)


def starves(what: str, response: BySeed, elsewhere: BySeed) -> Criterion:
    """A class starves, compared with the same class where the paper says that it does not."""
    return Criterion(what, paired(lambda here, there: here / there, response, elsewhere), low=STARVES)


def does_not_starve(what: str, response: BySeed, elsewhere: BySeed) -> Criterion:
    """The opposite of `starves`."""
    return Criterion(what, paired(lambda here, there: here / there, response, elsewhere), high=STARVES)


def left_open(what: str, why: str) -> Criterion:
    """A part of a claim that is not judged, with the reason; the claim is then at best inconclusive."""
    return Criterion(what, [], left_open=why)


def trend(what: str, values: Sequence[float], curve: Sequence[Sequence[float]], up: bool = True) -> list[Criterion]:
    """A curve rises (or falls) with `values`: its least-squares slope has that sign, its last value is beyond its
    first, and no step goes back by more than a tenth of the whole change. `curve` has the samples at each value, in the
    order of seeds."""
    sign, direction = (1.0, "rises") if up else (-1.0, "falls")
    whole = [sign * (last - first) for first, last in zip(curve[0], curve[-1], strict=True)]
    criteria = [
        Criterion(f"{what} {direction} (slope)", [sign * each for each in slope(values, curve)], low=0.0),
        Criterion(f"{what} {direction} from {values[0]:g} to {values[-1]:g}", whole, low=0.0),
    ]
    for (a, at_a), (b, at_b) in pairwise(zip(values, curve, strict=True)):
        spare = [UNDONE * all_of_it + sign * (y - x) for all_of_it, x, y in zip(whole, at_a, at_b, strict=True)]
        criteria.append(Criterion(f"{what} {direction}, or goes back little, from {a:g} to {b:g}", spare, low=0.0))
    return criteria


def slope(values: Sequence[float], curve: Sequence[Sequence[float]]) -> list[float]:
    """The least-squares slope of a curve, by seed."""
    middle = sum(values) / len(values)
    weights = [value - middle for value in values]
    norm = sum(weight * weight for weight in weights)
    return [sum(w * y for w, y in zip(weights, ys, strict=True)) / norm for ys in zip(*curve, strict=True)]
