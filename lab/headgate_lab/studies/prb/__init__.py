"""The study of the PRB paper: preemptive rate-based scheduling of the operators of one query."""

from headgate_lab.studies.prb import claims, overhead
from headgate_lab.studies.prb.charts import charts
from headgate_lab.studies.prb.points import points, run, weight
from headgate_lab.studies.study import Profile, Study

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
        "over the utilisation of 0.9; the same for all streams. Other loads are tried where a number depends on it, "
        "with a quarter of the tuples.",
        "Flat queries have 50 leaves. The merge above them costs nothing and is left out: each leaf is a root, which "
        "changes no response. Ranks 1 to 100 are drawn once a seed with probability ~ 1 / rank^theta, from the same "
        "uniform numbers for every theta; a cost is the rank, a selectivity a hundredth of it.",
        "Trees have depth 6 and fan-out 2, root at depth 0: 64 streams, 127 operators, costs uniform from 1 to 10 "
        "except for the expensive ones, which stand on the left.",
        "RR rotates over operators with a quantum of 1 time unit. No warm-up is left out, and the queues drain at the "
        "end.",
        "Overheads are added: response(v) = response(0) + v * transitions for each result. RB has 2 transitions for "
        "each execution of an operator; PRB has also 1 for each arrival and 2 for each preemption; RR has 3 a quantum, "
        "at least 3 * work. The paper says only that v and the number of transitions make the overhead. Charged as "
        "processor time, v = 1 would overload the system already. Preemptions are counted in runs of at most 300 "
        "tuples a stream.",
        "C4 counts as reproduced with 3 to 7 % at theta 0.0 and 13 to 23 % at 0.9, rising: queueing theory gives 3.8 "
        "and 15.2 % for the set-up as stated.",
        "'Rises', 'grows' and 'falls' mean at every step; 'generally falls' (C6) is the least-squares slope. A maximum "
        "in between (C9): the mean over all counts in between is above that at either end. 'Far worse' (C13) is at "
        "least twice.",
        "Policies with the same seed see the same tuples and costs, so their differences are paired.",
    ),
)
