"""The AQSIOS study: class-based scheduling of continuous queries (Al Moakar, Pittsburgh, 2013).

`claims.yaml` is the table of its claims, to be read; `grammar` has its language, `table` makes claims of it, `parts`
has what they are made of, `quantities` and `over_time` what is measured. The runs are those that claims ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headgate_lab.studies.aqsios.charts import charts
from headgate_lab.studies.aqsios.notes import HEADLINES, NOTES
from headgate_lab.studies.aqsios.parts import Asked
from headgate_lab.studies.aqsios.quantities import PARAMETERS, Runs
from headgate_lab.studies.aqsios.readings import AS_JUDGED, PAPER, TUPLES, Reading
from headgate_lab.studies.aqsios.runs import run_point
from headgate_lab.studies.aqsios.table import table as claims_asked
from headgate_lab.studies.aqsios.workload import has_its_time, input_tuples
from headgate_lab.studies.before import read_before
from headgate_lab.studies.study import Profile, Study

# These overload a class, whose waits grow as long as input continues: their runs are never shorter than the paper's.
STARVING = {"WeHR", "PCT", "PCT_S", "CQC single"}
# What takes longest has fewer seeds, so that the study ends in half an hour on two processors: runs of a fixed length,
# and those with a slow input, which are many.
LONG_SEEDS = 3
OTHER_SEEDS = 2  # of runs that are only made for other readings, which are shown and not judged
# Of the schedulers and workloads that are compared, a coarse profile has these.
QUICK_SCHEDULERS = ("MBD", "MRR", "ML", "MPRR", "PCT_S", "MBD_DVP", "MBD_DSP", "AMBD")
NOT_QUICK = ("5S_3", "5S_8_7+2", "5S_16", "5G_8", "5G_16")
TABLE = claims_asked()


def points(profile: Profile, table: Sequence[Asked] = TABLE) -> list[dict[str, Any]]:
    """The runs that the claims ask for, under each of their readings. A coarse profile has one reading, few cores and
    schedulers, and nothing whose length does not depend on the number of tuples; what they would show is not judged."""
    found = {}
    for asked in table:
        for reading in (AS_JUDGED,) if profile.coarse else (AS_JUDGED, *asked.readings):
            for run in asked.runs:
                for seed in range(_seeds(run, reading, profile.seeds)):
                    point = run.read_as(reading).point(profile.tuples, seed)
                    if has_its_time(point) or (point["scheduler"] in STARVING and not profile.coarse):
                        point["tuples"] = max(TUPLES, profile.tuples)
                    if not profile.coarse or _is_quick(point):
                        found[tuple(point[name] for name in (*PARAMETERS, "seed"))] = point
    return list(found.values())


def _seeds(run: Runs, reading: Reading, most: int) -> int:
    if reading != AS_JUDGED:
        return min(OTHER_SEEDS, most)
    return min(LONG_SEEDS, most) if run.low or has_its_time(run.point(TUPLES, 0)) else most


def _is_quick(point: dict[str, Any]) -> bool:
    compared = point["workload"][0] in "35" and point["workload"] != "5G"
    return (
        not has_its_time(point)
        and point["workload"] not in NOT_QUICK
        and (not compared or point["scheduler"] in QUICK_SCHEDULERS)
    )


STUDY = Study(
    name="aqsios",
    title="Class-based scheduling of continuous queries",
    source=PAPER,
    full=Profile("full", tuples=2_000, seeds=5),  # the dissertation: 10,000; it does not say how many runs
    quick=Profile("quick", tuples=150, seeds=2, coarse=True),
    points=points,
    run=run_point,
    weight=input_tuples,
    claims=tuple(asked.claim() for asked in TABLE),
    charts=charts,
    notes=NOTES,
    headlines=HEADLINES,
    before=read_before("aqsios"),
)
