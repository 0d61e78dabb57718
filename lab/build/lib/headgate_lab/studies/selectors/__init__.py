"""The selectors study: ways to choose policies for promises, beside every fixed policy, on plans drawn at random."""

from __future__ import annotations

from headgate_lab.studies.selectors.charts import charts
from headgate_lab.studies.selectors.claims import CLAIMS
from headgate_lab.studies.selectors.runs import points, run, weight
from headgate_lab.studies.study import Profile, Study

STUDY = Study(
    name="selectors",
    title="Table, roulette wheel and learned table beside fixed policies",
    source="Headgate's own: what the learned selector should achieve",
    full=Profile("full", tuples=9_000, seeds=10),
    quick=Profile("quick", tuples=3_000, seeds=2, coarse=True),
    points=points,
    run=run,
    weight=weight,
    claims=CLAIMS,
    charts=charts,
    notes=(
        "The score is that of the report: for each look at a query, how well its promises are kept, weighted by their "
        "priorities (must 1, best-effort 0.5, dont-care 0.01; a latency twice as long as promised counts as half "
        "kept); the mean over all looks, and over the queries of the plan, each counting the same.",
        "Plans are drawn at random by the seeds 'development 0' to 'development 5' and 'held-out 0' to 'held-out 5', "
        "fixed in plans.py. The learned selector was developed on the former; a full run uses only the latter, a quick "
        "one two of the former.",
        "A plan has one to three streams, one to four queries of two to six operators (rows of selections and "
        "projections, or a join), costs over 1 : 20, selectivities from 0.1 to 1, tuples of 16 to 400 bytes, and one "
        "slot with a load of 0.75 to 0.95 on average. A query has one to three promises of random priorities; three "
        "in ten become three times as strict in the middle of the run.",
        "A promised latency or memory is the median of what the eight fixed policies give on average in a run of their "
        "own (with another seed); a promised throughput is half of the mean.",
        "Input comes in bursts: Poisson with surges of 2.5 times the rate for 3 to 5 s, ON/OFF with pauses of 1 to "
        "5 s, self-similar (16 flows), or a new rate of 0.3 to 1.7 times the mean every 8 s. When they come is drawn "
        "for each seed, and no selector knows it.",
        "Promises are looked at every 3 s; a full run has 30 looks. The wheel and the learned table have all eight "
        "policies as candidates, the table its four. With a selection every query starts with rr.",
    ),
)
