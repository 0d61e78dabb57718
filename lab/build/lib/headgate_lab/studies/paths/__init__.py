"""The path and segment study: PCS, Simplified Segment, Chain and Threshold under self-similar load.

Jiang and Chakravarthy, UTA TR CSE-2003-30, section 5, scaled to a desktop: 16 random trees of 116 operators over
five self-similar streams, in four phases of rising load.
"""

from __future__ import annotations

from typing import Any

from headgate_lab.studies.paths.charts import charts
from headgate_lab.studies.paths.claims import CLAIMS, PAPER
from headgate_lab.studies.paths.runs import BASE, SETTINGS, StudySize, run_point, study_points, weight
from headgate_lab.studies.study import Profile, Study

PHASE_S = {"full": 4000.0, "quick": 100.0}


def points(profile: Profile) -> list[dict[str, Any]]:
    """The runs of a profile; a coarse one does not vary what the paper leaves open."""
    settings = (BASE,) if profile.coarse else tuple(SETTINGS)
    return study_points(StudySize(PHASE_S[profile.name], profile.tuples, profile.seeds, settings))


STUDY = Study(
    name="paths",
    title="Path capacity, segments, Chain and Threshold",
    source=f"{PAPER}, section 5",
    full=Profile("full", tuples=20_000, seeds=10),
    quick=Profile("quick", tuples=100, seeds=3, coarse=True),
    points=points,
    run=run_point,
    weight=weight,
    claims=CLAIMS,
    charts=charts,
    notes=(
        "The plans are 16 random trees with 116 operators over 5 streams: a query has 0 to 4 joins and reads one "
        "stream more than it has joins; the rest of the 116 operators go to random places. Selectivities are uniform "
        "from 0.05 to 1.",
        "Each of the 5 streams has 64 ON/OFF flows, Pareto 1.4 and 1.2 with b = 1 s; rates are 1 : 2 : 3 : 4 : 5. "
        "Means of such flows converge slowly, so each stream is stretched to its mean rate; realised_load in the raw "
        "rows is the load that resulted.",
        "The phases have loads of 0.5, 0.7, 0.85 and 0.95 and last 4,000 s each (quick: 100 s). Each is a run of its "
        "own, which ends when its queues are empty.",
        "Costs are log-uniform over 1 : 40 for leaves and 1 to 5 times such a draw above them, scaled to the load. "
        "The number of tuples is the mean per stream in the last phase, 20,000 by default. With 430,000 in 4,000 s, "
        "leaves cost 5 to 200 us on average.",
        "A join is two semi-joins: it passes the tuples of each side by its selectivity. Its windows do not count as "
        "queue memory. Joins do not grow; the paper has a few with a selectivity above 1, which is one of the "
        "variants below. All tuples have the same size.",
        "A burst is a stretch of at least 10 s in which the offered work leaves a backlog at the end of every second, "
        "in whatever order it is done. The burst lasts until the backlog is largest; the rest is 'just after'.",
        "Policies decide after every tuple, in the paper after every time unit. Threshold gets memory for 0.1, 1 and "
        "10 s of input.",
        "Words are read as numbers. 'Acceptable' latency: below 1 s. 'Sharply': at least twice. 'Alike': within 10 %. "
        "'Close', 'slightly', 'clearly': nearer to the one than to the other. 'Almost 5 times': the same order of "
        "magnitude. 'Similar' memory: peaks differ by less than 5 % of the largest peak. Threshold (C10): latency "
        "within 10 % of PCS's, peak memory at most 25 % above Chain's, output at most 10 % more varied than PCS's.",
        "Variants of what the paper leaves open, at load 0.95 and with half the seeds: bursts of 0.3 and 3 s; 128 "
        "flows; even rates; a fifth of the joins growing (1 to 2 results per tuple); costs over 1 : 4 and 1 : 1000; 4 "
        "and 16 times the rate for a correspondingly shorter time; leaves 10 to 50 times cheaper than the rest, which "
        "the report assumes where it explains Chain; a surge of twice the rate for a tenth of the phase at the same "
        "mean, like the bursts of 400 to 600 s that it shows. Verdicts are those of the replica.",
    ),
)
