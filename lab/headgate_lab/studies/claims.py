"""Claims of a paper, and what measured results say about them.

A claim is judged by its criteria. A criterion is a quantity with one sample per seed, and the open range in which the
claim puts it. The confidence interval of the quantity (Student t) decides: the criterion holds if the interval is
inside the range, fails if it is outside, and is open if it crosses a border or if a sample is not a finite number. A
criterion about "none" or "some" is counted instead, seed by seed. A claim is reproduced when all criteria hold, refuted
when one fails, and inconclusive otherwise. How published numbers and words become ranges is in `judging`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy import special

Verdict = Literal["reproduced", "refuted", "inconclusive"]
Reason = Literal["paper", "replica", "judging", "sample"]  # why a claim is not reproduced
REASONS: Mapping[Reason, str] = {
    "paper": "what it needs is lost or unpublished, or the paper contradicts itself or its own rule",
    "replica": "a choice of ours where the paper is silent decides it, or no cause was found in the paper",
    "judging": "it depends on how a word is turned into a number, or on what cannot be told apart",
    "sample": "more seeds or longer runs may decide it",
}
Row = Mapping[str, Any]  # one run: its parameters, its `seed` and what was measured
BySeed = Mapping[int, float]  # seed -> value
CONFIDENCE = 0.95
MOST_SEEDS = 0.8  # "in most seeds": at least this share of them, four of five


class SweepResults:
    """The rows of a sweep, looked up by parameters."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)

    def by_seed(self, measure: str, **parameters: Any) -> dict[int, float]:
        """One value per seed, from the runs with these parameters; nan if a run could not measure it. Raises
        LookupError if no run fits or two runs of one seed do, which is a mistake in the study."""
        found: dict[int, float] = {}
        for row in self.rows:
            if all(row.get(name) == value for name, value in parameters.items()):
                if row["seed"] in found:
                    raise LookupError(f"more than one run with {parameters} and seed {row['seed']}")
                found[row["seed"]] = math.nan if row[measure] is None else float(row[measure])
        if not found:
            raise LookupError(f"no run with {parameters}")
        return found

    def values(self, parameter: str, **parameters: Any) -> list[Any]:
        """The values that a parameter takes in the runs with these other parameters, sorted."""
        return sorted(
            {
                row[parameter]
                for row in self.rows
                if parameter in row and all(row.get(name) == value for name, value in parameters.items())
            }
        )


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its confidence interval. The interval is infinite with fewer than two seeds or if a sample
    is not finite; in the latter case the mean is nan."""

    mean: float
    low: float
    high: float
    seeds: int


def estimate(samples: Iterable[float], confidence: float = CONFIDENCE) -> Estimate:
    """Student's t interval. Raises ValueError without samples."""
    values = list(samples)
    if not values:
        raise ValueError("nothing was measured")
    count = len(values)
    if not all(map(math.isfinite, values)):  # such as a ratio to 0: no number can stand for all, hence no verdict
        return Estimate(math.nan, -math.inf, math.inf, count)
    mean = statistics.fmean(values)
    if count == 1:
        return Estimate(mean, -math.inf, math.inf, 1)
    half = student_t(confidence, count - 1) * statistics.stdev(values) / math.sqrt(count)
    return Estimate(mean, mean - half, mean + half, count)


def student_t(confidence: float, freedom: int) -> float:
    """The t with P(-t < T < t) = confidence, for Student's distribution with this many degrees of freedom."""
    if not 0 < confidence < 1 or freedom < 1:
        raise ValueError(f"no t for confidence {confidence} and {freedom} degrees of freedom")
    return float(special.stdtrit(freedom, (1 + confidence) / 2))


def paired(of: Callable[..., float], *measures: BySeed) -> list[float]:
    """A quantity computed from several runs, seed by seed: runs that share a seed share all random numbers.

    `paired(lambda rb, prb: 1 - prb / rb, rb_means, prb_means)`. Only seeds that all measures have count.
    """
    common = set.intersection(*(set(measure) for measure in measures))
    return [of(*(measure[seed] for measure in measures)) for seed in sorted(common)]


def reduction(base: BySeed, other: BySeed) -> list[float]:
    """The relative reduction from `base` to `other`, seed by seed."""
    return paired(lambda b, o: (b - o) / b, base, other)


def difference(first: BySeed, second: BySeed) -> list[float]:
    """`first` minus `second`, seed by seed."""
    return paired(lambda a, b: a - b, first, second)


@dataclass(frozen=True)
class Criterion:
    """A quantity, and the open range in which the claim puts it."""

    what: str
    samples: Sequence[float]
    low: float = -math.inf
    high: float = math.inf
    counted: bool = False  # holds if four of five seeds are in the range, fails if four of five are not
    left_open: str = ""  # why this is not judged, whatever was measured: the claim is then at best inconclusive


@dataclass(frozen=True)
class Cause:
    """Why a claim is not reproduced: a word, and a sentence about what is the matter."""

    reason: Reason
    why: str


@dataclass(frozen=True)
class Finding:
    """What was measured about a claim. `value` and `interval` are its headline quantity at 95 % confidence."""

    value: float
    interval: tuple[float, float]
    seeds: int
    measured: str  # for people: what holds and where
    verdict: Verdict


def judge(criteria: Sequence[Criterion], headline: Sequence[float], measured: str) -> Finding:
    """Judge a claim by its criteria. Those that do not hold are named at the end of the text.

    The verdict that all criteria hold needs no correction for their number, because each has to pass its own test at
    5 %. The verdict that some criterion fails does need one, because each may fail by chance: the 5 % are shared among
    them (Bonferroni).
    """
    shared = 1 - (1 - CONFIDENCE) / max(1, len(criteria))
    failed = [criterion for criterion in criteria if _fails(criterion, shared)]
    undecided = [criterion for criterion in criteria if criterion not in failed and not _holds(criterion)]
    verdict: Verdict = "refuted" if failed else "inconclusive" if undecided or not criteria else "reproduced"
    for label, several in (("fails", failed), ("open", undecided)):
        if several:
            measured += f"; {label}: {', '.join(map(_named, several))}"
    head = estimate(headline)
    return Finding(head.mean, (head.low, head.high), head.seeds, measured, verdict)


def _named(criterion: Criterion) -> str:
    return criterion.what + (f" ({criterion.left_open})" if criterion.left_open else "")


def _holds(criterion: Criterion) -> bool:
    if criterion.left_open:
        return False
    if criterion.counted:
        return _share_inside(criterion) >= MOST_SEEDS
    got = estimate(criterion.samples)
    return got.low > criterion.low and got.high < criterion.high


def _fails(criterion: Criterion, confidence: float) -> bool:
    if criterion.left_open:
        return False
    if criterion.counted:
        return _share_inside(criterion) <= round(1 - MOST_SEEDS, 9)
    got = estimate(criterion.samples, confidence)
    return got.high <= criterion.low or got.low >= criterion.high


def _share_inside(criterion: Criterion) -> float:
    """The share of the seeds in the range; nan, hence no verdict, with fewer than two seeds or with a sample that is
    not finite."""
    samples = criterion.samples
    if len(samples) < 2 or not all(map(math.isfinite, samples)):
        return math.nan
    inside = sum(criterion.low < sample < criterion.high for sample in samples)
    return round(inside / len(samples), 9)  # so that 4 of 5 and 1 of 5 meet their limits exactly


# What is said of a claim whose study names no cause.
_BY_DEFAULT: Mapping[Verdict, Cause] = {
    "refuted": Cause("replica", "not explained: no cause was found in the paper, so the replica is suspected"),
    "inconclusive": Cause("sample", "seeds disagree, or too few runs measure it; more or longer ones may decide it"),
}


@dataclass(frozen=True)
class PaperClaim:
    """A claim made in a paper. `check` is called once, with the results of the study's whole sweep."""

    id: str  # "PRB-C1"
    source: str  # paper and section
    figure: str
    text: str  # the paper's words in numbers
    check: Callable[[SweepResults], Finding]
    fitted: bool = False  # a choice was made after looking at what it says, so that reproducing it proves little
    tried: int = 1  # settings of what the paper leaves open that were looked at before the one that is judged was kept
    cause: Cause | None = None  # why it is not reproduced at full size; None: it is, or nobody knows

    def judged(self, results: SweepResults) -> dict[str, Any]:
        """Judge the claim and return its entry in the JSON report. `reason` is None if it is reproduced."""
        found = self.check(results)
        cause = None if found.verdict == "reproduced" else self.cause or _BY_DEFAULT[found.verdict]
        return {
            "id": self.id,
            "source": self.source,
            "figure": self.figure,
            "claim": self.text,
            "measured": found.measured,
            "value": found.value,
            "interval": list(found.interval),
            "seeds": found.seeds,
            "verdict": found.verdict,
            "reason": cause.reason if cause else None,
            "why": cause.why if cause else "",
            "fitted": self.fitted,
            "tried": self.tried,
        }
