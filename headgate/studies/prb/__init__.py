"""The study of the PRB paper: preemptive rate-based scheduling of the operators of one query."""

from headgate.studies.prb import claims, overhead
from headgate.studies.prb.charts import charts
from headgate.studies.prb.points import points, run, weight
from headgate.studies.study import Profile, Study

STUDY = Study(
    name="prb",
    title="Preemptive rate-based operator scheduling",
    source=claims.PAPER,
    full=Profile("full", tuples=10_000, seeds=5),  # as in the paper's Table 2; it does not say how many runs
    quick=Profile("quick", tuples=100, seeds=3, coarse=True),
    points=points,
    run=run,
    weight=weight,
    claims=(*claims.CLAIMS, *overhead.CLAIMS),
    charts=charts,
    notes=(
        "Utilisation: the mean time between two tuples of a stream is the work that one tuple of every stream brings, "
        "over the utilisation; the same for all streams.",
        "Flat queries have 50 leaves under a merge that costs nothing. Ranks 1 to 100 are drawn once a seed with "
        "probability ~ 1 / rank^theta; a cost is the rank, a selectivity a hundredth of it.",
        "Trees have depth 6 and fan-out 2, root at depth 0: 64 streams, 127 operators, costs uniform from 1 to 10 "
        "except for the expensive ones.",
        "RR rotates over operators with a quantum of 1 time unit. No warm-up is left out, and the queues drain at the "
        "end.",
        "Overheads are added: response(v) = response(0) + v * transitions for each result. Charged as processor time, "
        "v = 1 would overload the system already.",
        "Policies with the same seed see the same tuples and costs, so their differences are paired.",
    ),
)
