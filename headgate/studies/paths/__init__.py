"""The path and segment study: PCS, Simplified Segment, Chain and Threshold under self-similar load.

Jiang and Chakravarthy, UTA TR CSE-2003-30, section 5, at the size of a desktop: 16 random trees of 116 operators over
five self-similar streams, in four phases of rising load.
"""

from __future__ import annotations

from typing import Any

from headgate.studies.paths.charts import charts
from headgate.studies.paths.claims import CLAIMS, PAPER
from headgate.studies.paths.runs import BASE, SETTINGS, Size, run_point, study_points, weight
from headgate.studies.study import Profile, Study

PHASE_S = {"full": 4000.0, "quick": 100.0}


def points(profile: Profile) -> list[dict[str, Any]]:
    """The runs of a profile; a coarse one leaves the open parameters as the replica has them."""
    settings = (BASE,) if profile.coarse else tuple(SETTINGS)
    return study_points(Size(PHASE_S[profile.name], profile.tuples, profile.seeds, settings))


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
        "5 streams of 64 ON/OFF flows, Pareto 1.4 and 1.2 with b = 1 s, rates 1 : 2 : 3 : 4 : 5, stretched to the "
        "wanted load; phases of load 0.5, 0.7, 0.85 and 0.95 are runs of their own and end when the queues are empty.",
        "Costs are log-uniform over 1 : 40 for leaves and 1 to 5 times that above, scaled to the load; the tuples of a "
        "stream are its mean number in the last phase. With 430,000 in 4,000 s leaves cost 5 to 200 us on average.",
        "A join passes tuples of each side by its selectivity, as two semi-joins; its windows are no queue memory. All "
        "tuples are equally large.",
        "A burst is a stretch of at least 10 s in which offered work, in any order, leaves a backlog at the end of "
        "every second; it lasts until the backlog is largest, what follows is 'just after'.",
        "Policies decide anew after every tuple; in the paper after every time unit.",
        "Open parameters, at load 0.95 and with half the seeds: bursts of 0.3 and 3 s; 128 flows; even rates; a fifth "
        "of the joins growing (1 to 2 for each); costs over 1 : 4 and 1 : 1000; 4 and 16 times the rate for as much "
        "less time; leaves 10 to 50 times cheaper than the rest, which the report supposes where it explains Chain; a "
        "surge of twice the rate for a tenth of the phase at the same mean, like the bursts of 400 to 600 s that it "
        "shows.",
    ),
)
