"""What a study consists of, and how it is reproduced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headgate_lab.studies.before import Before
from headgate_lab.studies.claims import Finding, PaperClaim, SweepResults
from headgate_lab.studies.sweep import Point, sweep

if TYPE_CHECKING:
    from pyspark import SparkContext

    from headgate_lab.studies.figures import Chart


@dataclass(frozen=True)
class Profile:
    """The size of a study; a coarse one has fewer values of each swept parameter."""

    name: str  # "full" or "quick"
    tuples: int  # per stream
    seeds: int
    coarse: bool = False


@dataclass(frozen=True)
class Headline:
    """A finding for someone who chooses a policy. It holds if its own `check` does or, without one, if all its claims
    are reproduced."""

    goal: str  # what one may want: "the least mean response"
    finding: str  # what to do about it, as a statement that can be false: "prb is below rb, rr and fifo"
    claims: tuple[str, ...]  # by id: those that say so or are about it
    check: Callable[[SweepResults], Finding] | None = None  # where the claims say more than the statement

    def entry(self, results: SweepResults, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The headline in the JSON report; `claims` are as `PaperClaim.judged` returns them. `holds` says whether."""
        mine = [claim for claim in claims if claim["id"] in self.claims]
        found = self.check(results) if self.check else None
        verdicts = {found.verdict} if found else {claim["verdict"] for claim in mine}
        holds = "holds" if verdicts == {"reproduced"} else "does not hold" if "refuted" in verdicts else "open"
        if holds == "holds" and any(claim["fitted"] for claim in mine):
            holds = "holds (fitted)"
        return {
            "goal": self.goal,
            "finding": self.finding,
            "measured": found.measured if found else "",
            "claims": {claim["id"]: claim["verdict"] for claim in mine},
            "holds": holds,
        }


@dataclass(frozen=True)
class Study:
    """The study of one paper. `run` and `weight` are module-level functions, because Spark sends them by name."""

    name: str  # as in `headgate reproduce NAME`
    title: str
    source: str  # the paper
    full: Profile
    quick: Profile
    points: Callable[[Profile], list[dict[str, Any]]]  # every run; `seed` goes from 0 to profile.seeds - 1
    run: Callable[[Point], dict[str, Any]]  # simulates one point and returns what was measured
    weight: Callable[[Point], float]  # a guess at how long that takes, in any unit
    claims: Sequence[PaperClaim]
    charts: Callable[[SweepResults], list[Chart]]
    notes: Sequence[str] = ()  # how the paper is read where it leaves something open
    headlines: Sequence[Headline] = ()  # first in the report
    before: Before | None = None  # the last published run, if there was one


@dataclass(frozen=True)
class StudyResult:
    """The results of a reproduced study."""

    study: Study
    profile: Profile
    results: SweepResults
    claims: list[dict[str, Any]]  # as `PaperClaim.judged` returns them, with the verdict before

    @property
    def headlines(self) -> list[dict[str, Any]]:
        """What holds, for someone who chooses a policy."""
        return [headline.entry(self.results, self.claims) for headline in self.study.headlines]

    def summary(self) -> dict[str, Any]:
        """What `headgate reproduce --json` prints."""
        return {
            "study": self.study.name,
            "title": self.study.title,
            "source": self.study.source,
            "profile": self.profile.name,
            "tuples_per_stream": self.profile.tuples,
            "seeds": self.profile.seeds,
            "runs": len(self.results.rows),
            "before": self.study.before.found if self.study.before else None,
            "headlines": self.headlines,
            "claims": self.claims,
        }


def reproduce(
    study: Study,
    profile: Profile,
    spark: SparkContext | None,
    on_progress: Callable[[int, int], None] = lambda done, of: None,
) -> StudyResult:
    """Run the whole sweep and judge every claim. `on_progress` is called with the number of runs done and the total."""
    points = study.points(profile)
    on_progress(0, len(points))
    rows = sweep(study.run, points, spark, weight=study.weight, on_progress=lambda done: on_progress(done, len(points)))
    results = SweepResults(rows)
    before = study.before or Before("")
    return StudyResult(study, profile, results, [before.beside(claim.judged(results)) for claim in study.claims])
