"""All kinds of changes at a time (PIAT, workload 5L): claims PIAT-1 to PIAT-7 (section 6.3.7, Figures 120 to 135).

Rates, selectivities and priorities change over 10 s. Classes are compared by their means over the run or between two
changes of priorities; inversion uses the priorities of the time, whether or not a scheduler knows them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from headgate_lab.studies.aqsios.criteria import (
    above,
    all_in_ms,
    counted,
    greater,
    greater_by_difference,
    in_ms,
    is_positive,
    is_zero,
    listed,
    near,
    shown,
)
from headgate_lab.studies.aqsios.over_time import (
    between,
    fluctuation,
    growth,
    inversion_by_stage,
    inversion_over_time,
    mean_between,
    over_by_stage,
    over_in_stage,
    stage_inversion,
    steady,
)
from headgate_lab.studies.aqsios.quantities import MS, Runs, by_seed, known, largest, over, over_all, smallest
from headgate_lab.studies.aqsios.readings import ClaimEntry, numbered, point
from headgate_lab.studies.aqsios.workload import profiles
from headgate_lab.studies.claims import BySeed, Criterion, Finding, Row, SweepResults, judge
from headgate_lab.studies.study import Profile

WORKLOAD, CHANGES = "5L", "piat"
ADAPTING = ("MBD_DVP_SA_UP", "MBD_DSP_SA_UP")
FAMILY = ("MBD", *ADAPTING)
SCHEDULERS = ("PCT", "PCT_S", "MRR", "MORR", "ML", "MOL", "MPRR", *FAMILY)
PARTS = 4  # of the input, compared where something "rises continuously"
EPISODE_S = (7.1, 7.7)  # "about 7.2 to 7.6 s"
FITTED = frozenset({"PIAT-1"})  # the mix of 5L was chosen so that class 3 exceeds one core


def points(profile: Profile) -> list[dict[str, Any]]:
    """The runs of all schedulers; none in a coarse profile, because these runs are long."""
    return [
        point(WORKLOAD, name, profile.tuples, seed, profile=CHANGES)
        for name in SCHEDULERS
        for seed in range(0 if profile.coarse else profile.seeds)
    ]


def _runs(results: SweepResults, *names: str) -> list[Runs]:
    return [Runs(results, WORKLOAD, name, profile=CHANGES) for name in names]


def _peak(runs: Runs, k: int) -> BySeed:
    """The largest mean over 0.1 s while input arrives, by seed."""
    seconds = profiles()["seconds"][CHANGES]
    return runs.take(lambda row: max(between(row[f"series_{k}"], 0.0, seconds), default=0.0))


def _least_rise(runs: Runs, k: int) -> BySeed:
    """The smallest step from one quarter of the input to the next: above 0 if a class keeps getting slower."""
    width = profiles()["seconds"][CHANGES] / PARTS

    def of_row(row: Row) -> float:
        means = [mean_between(row[f"series_{k}"], at * width, (at + 1) * width) for at in range(PARTS)]
        return min(after - before for before, after in pairwise(means))

    return runs.take(of_row)


def _ranked(runs: Runs) -> list[Criterion]:
    """Classes 4 and 5 are the fastest, 3 is the slowest."""
    means = runs.each()
    criteria = [
        greater(f"{runs.name} class {k} faster than {other}", means[other], means[k])
        for k in (4, 5)
        for other in (1, 2, 3)
    ]
    return criteria + [greater(f"{runs.name} class 3 slower than {other}", means[3], means[other]) for other in (1, 2)]


def _p1(results: SweepResults) -> Finding:
    pct, split = _runs(results, "PCT", "PCT_S")
    criteria = [
        above("PCT class 3 peak, s,", _peak(pct, 3), 2.0),
        near("PCT_S class 3 peak, s,", _peak(split, 3), 2.0),
        *(
            Criterion(f"{r.name} class 3 rises from quarter to quarter", known(_least_rise(r, 3)), low=0.0)
            for r in (pct, split)
        ),
    ]
    peaks = listed({r.name: _peak(r, 3) for r in (pct, split)})
    text = f"largest 0.1 s mean of class 3, s: {peaks}; {all_in_ms((pct, split))}"
    return judge(criteria, known(_peak(pct, 3)), text)


def _p2(results: SweepResults) -> Finding:
    mrr, morr = _runs(results, "MRR", "MORR")
    criteria = [steady(runs, k) for runs in (mrr, morr) for k in runs.classes]
    criteria += [*_ranked(mrr), *_ranked(morr)]
    criteria.append(greater("MORR slower than MRR (weighted)", morr.weighted(), mrr.weighted()))
    criteria += [is_positive(f"{runs.name} inverted", stage_inversion(runs)) for runs in (mrr, morr)]
    grown = {runs.name: over_all(largest, [growth(runs, k) for k in runs.classes]) for runs in (mrr, morr)}
    text = f"{all_in_ms((mrr, morr))}; largest growth {listed(grown)}; {inversion_by_stage((mrr, morr))}"
    return judge(criteria, known(stage_inversion(mrr)), text)


def _p3(results: SweepResults) -> Finding:
    ml, mol = _runs(results, "ML", "MOL")
    varies = {runs.name: fluctuation(runs) for runs in (ml, mol)}
    criteria = [greater_by_difference("ML fluctuates more than MOL", varies["ML"], varies["MOL"]), *_ranked(mol)]
    criteria += [is_positive(f"{runs.name} inverted", stage_inversion(runs)) for runs in (ml, mol)]
    text = f"coefficient of variation over time {listed(varies)}; {all_in_ms((ml, mol))}"
    text += f"; {inversion_by_stage((ml, mol))}"
    return judge(criteria, known(varies["ML"]), text)


def _p4(results: SweepResults) -> Finding:
    mprr, *family = _runs(results, "MPRR", *FAMILY)
    means = mprr.each()
    faster = {
        r.name: over_all(smallest, [by_seed(over, means[k], r.of(f"mean_{k}")) for k in mprr.classes]) for r in family
    }
    after = stage_inversion(mprr, 1, 2)
    criteria = [
        *(greater(f"MPRR class 1 faster than {k}", means[k], means[1]) for k in range(2, 6)),
        *(near(f"MPRR class {k}", means[k], 120 * MS) for k in (4, 5)),
        is_zero("MPRR without inversion before 4.5 s", stage_inversion(mprr, 0)),
        is_positive("MPRR inverted after 4.5 s", after),
        *(above(f"smallest ratio of a class to {name}'s", least, 1.0) for name, least in faster.items()),
    ]
    text = f"{all_in_ms((mprr, *family))}; {inversion_by_stage([mprr])}; smallest ratio to {listed(faster)}"
    return judge(criteria, known(means[5]), text)


def _p5(results: SweepResults) -> Finding:
    (mbd,) = _runs(results, "MBD")
    after = stage_inversion(mbd, 1, 2)
    criteria = [
        *(above(f"MBD class 4 over 5 in stage {at + 1}", over_in_stage(mbd, at, 4, 5), 1.0) for at in range(3)),
        is_positive("MBD inverted after 4.5 s", after),
    ]
    text = f"{in_ms(mbd)}; class 4 over 5 by stage {over_by_stage([mbd], 4, 5)}; {inversion_by_stage([mbd])}"
    return judge(criteria, known(after), text)


def _p6(results: SweepResults) -> Finding:
    runs = _runs(results, *ADAPTING)
    criteria = [
        Criterion(f"{r.name} class 4 faster than 5 in stage {at + 1}", known(over_in_stage(r, at, 4, 5)), high=1.0)
        for r in runs
        for at in (1, 2)
    ]
    return judge(
        criteria, criteria[-1].samples, f"class 4 over 5 by stage {over_by_stage(runs, 4, 5)}; {all_in_ms(runs)}"
    )


def _p7(results: SweepResults) -> Finding:
    inverted = {runs.name: inversion_over_time(runs) for runs in _runs(results, *SCHEDULERS)}
    criteria = [
        greater_by_difference(f"inversion over time of {name} below {other}'s", inverted[other], inverted[name])
        for name in ADAPTING
        for other in SCHEDULERS
        if other not in ADAPTING
    ]
    start, end = EPISODE_S
    (dsp,) = _runs(results, ADAPTING[1])
    seconds = profiles()["seconds"][CHANGES]
    inside = {seed: value * (end - start) / seconds for seed, value in inversion_over_time(dsp, start, end).items()}
    share = by_seed(over, inside, inverted[dsp.name])
    criteria.append(Criterion(f"more than half of DSP's inversion from {start} to {end} s", known(share), low=0.5))
    text = (
        f"inversion averaged over 0.1 s {counted(inverted)}; share of DSP's from {start} to {end} s {shown(share)}; "
        f"{inversion_by_stage(_runs(results, *FAMILY))}"
    )
    return judge(criteria, known(inverted[dsp.name]), text)


_ENTRIES: tuple[ClaimEntry, ...] = (
    ("Figures 124 and 125", "PCT and PCT_S: class 3 rises continuously to about 2 s, above 2 s with PCT", _p1),
    (
        "Figures 126 and 127",
        "MRR and MORR: no overload; classes 4 and 5 fastest, 3 slowest; MORR slower than MRR; inversion",
        _p2,
    ),
    (
        "Figures 128 and 129",
        "ML fluctuates strongly; MOL is steadier, classes 4 and 5 fastest, 3 slowest; both inverted",
        _p3,
    ),
    (
        "Figure 130",
        "MPRR: class 1 fastest, 4 and 5 near 120 ms; inversion appears after 4.5 s; all classes slower than with the "
        "MBD family",
        _p4,
    ),
    ("Figure 131", "MBD without modules: class 4 slower than 5 throughout, hence inversion after 4.5 s", _p5),
    ("Figures 132 and 133", "MBD_DVP_SA_UP and MBD_DSP_SA_UP: from 4.5 s on class 4 is faster than class 5", _p6),
    (
        "Figures 134 and 135",
        "MBD_DVP_SA_UP and MBD_DSP_SA_UP have the lowest inversion; DSP's only episode is about 7.2 to 7.6 s",
        _p7,
    ),
)
CLAIMS = numbered("PIAT", "section 6.3.7", _ENTRIES, fitted=FITTED)
