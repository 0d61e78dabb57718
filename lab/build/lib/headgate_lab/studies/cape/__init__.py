"""The CAPE study: one of several policies at a time, chosen by weighted goals.

Sutherland, Pielech and Rundensteiner, WPI-CS-TR-04-16, sections 4.2 and 6.
"""

from __future__ import annotations

from headgate_lab.studies.cape.charts import charts
from headgate_lab.studies.cape.claims import CLAIMS, PAPER
from headgate_lab.studies.cape.runs import points, run, weight
from headgate_lab.studies.study import Profile, Study

STUDY = Study(
    name="cape",
    title="Adaptive selection of policies by weighted goals",
    source=f"{PAPER}, sections 4.2 and 6",
    full=Profile("full", tuples=28_000, seeds=20),
    quick=Profile("quick", tuples=9_500, seeds=3, coarse=True),
    points=points,
    run=run,
    weight=weight,
    claims=CLAIMS,
    charts=charts,
    notes=(
        "The report gives neither the costs and selectivities of its operators nor rates, lengths, the evaluation "
        "period or the decay. Plan 'chain' has four operators of 1, 0.5, 2 and 1 ms that pass 0.9, 0.2, 0.8 and 0.5 "
        "of their input. Plan 'join' has a selection of 1 ms on each of two streams, a join of tuples within 200 ms "
        "of each other (2 ms per tuple; a pair matches with probability 0.1), and a selection of 1 ms behind it.",
        "Arrivals are Poisson. Every 5 s a new mean rate is drawn, such that the offered load is 0.4, 0.8, 1 or 1.5. "
        "A run lasts 60 s (quick: 20 s); seeds pair runs under all policies.",
        "Candidates are rr (turns of 1 ms), fifo, chain (one tuple a call) and mtiq (up to 100 tuples a call), in this "
        "order. The period is 1 s, whose first 200 ms do not count; the decay is 0.95; samples of the whole run count.",
        "Scores are the report's with its signs and ranges mended: as printed, minimized goals get negative scores, "
        "and a wheel made of them favors the worse policy (see docs/policies.md).",
        "'Near the best', 'about average': within 10 %. 'At many instants': in a tenth of the seconds. By the goals, "
        "values are weighted as shares of the mean of the four single policies. What is still queued when a run ends "
        "has no delay, as in the report.",
        "Variants: a greedy selection instead of the roulette wheel, and periods of 0.25 and 4 s.",
    ),
)
