"""The MavStream study: a runtime optimizer that switches policies and sheds load, and what shedding does to results.

Kendai, MS thesis, UT Arlington 2006, chapter 6.
"""

from __future__ import annotations

from headgate_lab.studies.mavstream.charts import charts
from headgate_lab.studies.mavstream.claims import CLAIMS, PAPER
from headgate_lab.studies.mavstream.runs import points, run, weight
from headgate_lab.studies.study import Profile, Study

STUDY = Study(
    name="mavstream",
    title="A runtime optimizer with load shedding",
    source=f"{PAPER}, chapter 6",
    full=Profile("full", tuples=50_000, seeds=10),
    quick=Profile("quick", tuples=6_000, seeds=3, coarse=True),
    points=points,
    run=run,
    weight=weight,
    claims=CLAIMS,
    charts=charts,
    notes=(
        "One query with 8 operators over 3 streams: a selection on each stream, a join of the first two, a selection, "
        "a join with the third, a selection and a projection. Joins are over windows of 500 or 1000 tuples; a pair "
        "matches with probability 1/500, so the larger window gives twice as many results.",
        "Streams have 50,000 tuples (the thesis: 2 million) at rates of about 100/s in its proportions; promises are "
        "checked every 3 s, as there. Costs are such that the load is 0.8 at the mean "
        "rates; where the thesis doubles rates, they are doubled for a tenth of the run, at 0.3 and at 0.7 of it.",
        "What is promised follows from runs with a fixed policy, seed by seed, because machine and costs are not those "
        "of the thesis: a latency between those of pcs and segment (their geometric mean), and a memory between those "
        "of segment and pcs. Where the thesis promises ten times as much for a while, so does the study.",
        "A query starts with segment. The optimizer has the table of the thesis without rr, which it did not enable.",
        "Errors of shedding (C6 to C8) are computed on values alone: 40,000 speeds a window, normal with outliers (one "
        "in a thousand, at five times the range). 'As in the thesis': what is dropped is missing, and semantic "
        "shedders go by the minimum and maximum seen. 'Scaled': what Headgate does, with estimates and a sketch.",
        "'Near': within 10 %. 'Visibly': by a fifth at least. 'Far below': less than a tenth. 'Negligible': below 2 %.",
    ),
)
