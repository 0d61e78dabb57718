"""The parts of a claim: quantities, and where the claim puts them. `judging` has the rule for published numbers; what
the dissertation says in words is read as in `readings`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from headgate_lab.studies import judging
from headgate_lab.studies.aqsios.quantities import Found, Quantity, Runs, largest, over_all, smallest
from headgate_lab.studies.aqsios.readings import ALIKE, AS_JUDGED, PAPER, Reading
from headgate_lab.studies.claims import Cause, Criterion, Finding, PaperClaim, SweepResults, estimate, judge

MOST_SHOWN = 9  # a text has the values of so many parts; of more, it names those that do not hold


@dataclass(frozen=True)
class Part:
    """A quantity and what the claim says of it. `what` is its name in texts."""

    what: str
    quantity: Quantity
    rule: Callable[[str, list[float]], Criterion]

    def samples(self, found: Found) -> list[float]:
        """The values by seed; a single nan if nothing was run."""
        return list(self.quantity.by_seed(found).values()) or [math.nan]

    def criterion(self, found: Found) -> Criterion:
        """What is judged."""
        return self.rule(self.what, self.samples(found))

    def measured(self, found: Found) -> bool:
        """Is there anything to be shown?"""
        return bool(self.quantity.runs or self.quantity.by_seed(found))


def _part(rule: Callable[[str, list[float], float], Criterion], quantity: Quantity, published: float) -> Part:
    return Part(quantity.name, quantity, lambda what, samples: rule(what, samples, published))


near = partial(_part, judging.near)  # a published number
above = partial(_part, judging.above)  # a published bound that is a measured number
below = partial(_part, judging.below)


def inside(quantity: Quantity, low: float = -math.inf, high: float = math.inf, what: str = "") -> Part:
    """The quantity is in a range that is our reading of a word, or in one that is exact."""
    border = f" above {low:g}" if low > -math.inf else ""
    border += f" below {high:g}" if high < math.inf else ""
    return Part(what or quantity.name + border, quantity, lambda name, samples: Criterion(name, samples, low, high))


def faster(fast: Quantity, slow: Quantity, times: float = 1.0) -> Part:
    """Seed by seed, one quantity is less than another divided by `times`."""
    far = f" {times:g} times" if times != 1.0 else ""
    return inside(slow / fast, low=times, what=f"{fast.name}{far} below {slow.name}")


def less(small: Quantity, great: Quantity) -> Part:
    """The same for quantities that may be 0: their difference is judged instead of their ratio."""
    return inside(great - small, low=0.0, what=f"{small.name} below {great.name}")


def alike(first: Quantity, second: Quantity, factor: float = ALIKE) -> Part:
    """Seed by seed, two quantities are the same within a factor."""
    return inside(first / second, 1 / factor, factor, f"{first.name} like {second.name}")


def none(quantity: Quantity) -> Part:
    """There is none of it in four of five seeds."""
    return Part(f"no {quantity.name}", quantity, judging.none)


def some(quantity: Quantity) -> Part:
    """There is some of it in four of five seeds."""
    return Part(f"some {quantity.name}", quantity, judging.some)


def starves(class_of: Quantity, elsewhere: Quantity) -> Part:
    """A class starves, compared with the same class where it does not."""
    return inside(class_of / elsewhere, low=judging.STARVES, what=f"{class_of.name} starves ({elsewhere.name})")


def does_not_starve(class_of: Quantity, elsewhere: Quantity) -> Part:
    """The opposite of `starves`."""
    high = judging.STARVES
    return inside(class_of / elsewhere, high=high, what=f"{class_of.name} does not starve ({elsewhere.name})")


def left_open(what: str, why: str, quantity: Quantity | None = None) -> Part:
    """A part that is not judged; the text has its value, if there is one."""
    nothing = Quantity(what, (), lambda found: {})
    return Part(what, quantity or nothing, lambda name, samples: replace(judging.left_open(name, why), samples=samples))


def highest(one: Quantity, several: Sequence[Quantity]) -> list[Part]:
    """A quantity is above all others of a list."""
    return [less(other, one) for other in several if other is not one]


def lowest(one: Quantity, several: Sequence[Quantity]) -> list[Part]:
    """A quantity is below all others of a list."""
    return [less(one, other) for other in several if other is not one]


def lowest_of(ones: Sequence[Quantity], others: Sequence[Quantity]) -> list[Part]:
    """The least of some quantities is below all others."""
    least = over_all(smallest, ones, f"least of {', '.join(one.name for one in ones)}")
    return [less(least, other) for other in others]


def widest(runs: Runs) -> Quantity:
    """The widest range of a class."""
    return over_all(largest, [runs.width(k) for k in runs.classes], f"{runs.label} widest range")


# Claims


@dataclass(frozen=True)
class Asked:
    """A claim as a row of the table: what it says, the parts by which it is judged, under which other readings, and
    what its text shows beside them."""

    id: str
    figure: str
    text: str
    parts: Sequence[Part]
    section: str
    readings: Sequence[Reading] = ()
    headline: Quantity | None = None  # by default that of the first part
    shown: Sequence[Runs] = ()
    fitted: bool = False
    tried: int = 1
    cause: Cause | None = None
    note: str = ""

    @property
    def runs(self) -> list[Runs]:
        """The runs that the claim needs."""
        needed = [run for part in self.parts for run in part.quantity.runs]
        return list(dict.fromkeys([*needed, *(self.headline.runs if self.headline else ()), *self.shown]))

    def claim(self) -> PaperClaim:
        """The claim as the study judges it."""
        source = f"{PAPER}, {self.section}"
        return PaperClaim(
            self.id, source, self.figure, self.text, self.check, fitted=self.fitted, tried=self.tried, cause=self.cause
        )

    def check(self, results: SweepResults) -> Finding:
        """Judge the claim as it is read, and add what is found under the other readings that were run."""
        finding = self._finding(Found(results, AS_JUDGED))
        others = []
        for reading in self.readings:
            found = Found(results, reading)
            if all(found.rows(run) for run in self.runs):
                other = self._finding(found)
                others.append(f"{reading.label}: {other.value:.3g}, {other.verdict}")
        return replace(finding, measured="; ".join([finding.measured, *others]))

    def _finding(self, found: Found) -> Finding:
        criteria = [part.criterion(found) for part in self.parts]
        texts = [means_of(run, found) for run in self.runs]
        if len(self.parts) <= MOST_SHOWN:
            texts += [f"{part.what}: {shown(part.samples(found))}" for part in self.parts if part.measured(found)]
        head = Part("", self.headline, Criterion).samples(found) if self.headline else criteria[0].samples
        return judge(criteria, head or [math.nan], "; ".join([*texts, *([self.note] if self.note else [])]))


def shown(samples: Sequence[float]) -> str:
    """The mean over seeds, as text."""
    mean = estimate(samples).mean
    return "not known" if math.isnan(mean) else f"{mean:.3g}"


def means_of(runs: Runs, found: Found) -> str:
    """`5I MBD 1.2 2.1 6.3 ms`: the mean of each class."""
    label = (runs.label if " on " in runs.label else f"{runs.workload} {runs.label}") + (
        f", class {runs.low} low," if runs.low else ""
    )
    if not found.rows(runs):
        return f"{label} not run"
    means = (shown(list(mean.by_seed(found).values())) for mean in runs.each())
    return f"{label} {' '.join(means)} ms"
