"""All kinds of changes at a time (PIAT, workload 5L): claims PIAT-1 to PIAT-7 (section 6.3.7, Figures 120 to 135).

Rates, selectivities and priorities change over 10 s. Classes are compared by their means over the run or between two
changes of priorities; inversion uses the priorities of the time, whether or not a scheduler knows them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from headgate.studies.aqsios.courses import (
    between,
    fluctuation,
    growth,
    in_stage,
    inversion_over_time,
    mean_between,
    stage_inversion,
    stages,
    steady,
)
from headgate.studies.aqsios.quantities import (
    MS,
    Runs,
    above,
    all_in_ms,
    by_seed,
    counted,
    greater,
    in_ms,
    known,
    listed,
    more,
    near,
    nothing,
    over,
    over_all,
    shown,
    something,
)
from headgate.studies.aqsios.readings import PAPER, point
from headgate.studies.aqsios.workload import profiles
from headgate.studies.claims import BySeed, Claim, Finding, Part, Results, Row, judge
from headgate.studies.study import Profile

WORKLOAD, CHANGES = "5L", "piat"
ADAPTIVE = ("MBD_DVP_SA_UP", "MBD_DSP_SA_UP")
FAMILY = ("MBD", *ADAPTIVE)
SCHEDULERS = ("PCT", "PCT_S", "MRR", "MORR", "ML", "MOL", "MPRR", *FAMILY)
PARTS = 4  # into which the run is cut where something rises continuously
EPISODE_S = (7.1, 7.7)  # "about 7.2 to 7.6 s"
FITTED = frozenset({"PIAT-1"})  # the mix of 5L was chosen so that class 3 exceeds one core


def points(profile: Profile) -> list[dict[str, Any]]:
    """All schedulers; none in a coarse profile, since these runs are long."""
    return [
        point(WORKLOAD, name, profile.tuples, seed, profile=CHANGES)
        for name in SCHEDULERS
        for seed in range(0 if profile.coarse else profile.seeds)
    ]


def _runs(results: Results, *names: str) -> list[Runs]:
    return [Runs(results, WORKLOAD, name, profile=CHANGES) for name in names]


def _largest(runs: Runs, k: int) -> BySeed:
    """The largest mean of 0.1 s while input comes."""
    seconds = profiles()["seconds"][CHANGES]
    return runs.take(lambda row: max(between(row, k, 0.0, seconds), default=0.0))


def _least_rise(runs: Runs, k: int) -> BySeed:
    """The smallest step between quarters of the run: above 0 where a class becomes slower all the time."""
    width = profiles()["seconds"][CHANGES] / PARTS

    def of_row(row: Row) -> float:
        means = [mean_between(row, k, at * width, (at + 1) * width) for at in range(PARTS)]
        return min(after - before for before, after in pairwise(means))

    return runs.take(of_row)


def _in_stages(runs: Runs) -> BySeed:
    """The inversion of class means, summed over the times between changes of priorities."""
    return by_seed(lambda *of: sum(of), *(stage_inversion(runs, at) for at in range(len(stages(CHANGES)))))


def _by_stage(several: Iterable[Runs]) -> str:
    """`MBD 0 0.3 0.2`, the inversion between changes of priorities."""
    return ", ".join(
        f"{runs.name} {' '.join(shown(stage_inversion(runs, at)) for at in range(len(stages(CHANGES))))}"
        for runs in several
    )


def _ranked(runs: Runs) -> list[Part]:
    """Classes 4 and 5 are the fastest, 3 is the slowest."""
    means = runs.each()
    parts = [
        greater(f"{runs.name} class {k} faster than {other}", means[other], means[k])
        for k in (4, 5)
        for other in (1, 2, 3)
    ]
    return parts + [greater(f"{runs.name} class 3 slower than {other}", means[3], means[other]) for other in (1, 2)]


def _p1(results: Results) -> Finding:
    pct, split = _runs(results, "PCT", "PCT_S")
    parts = [
        above("PCT class 3 at most, s,", _largest(pct, 3), 2.0),
        near("PCT_S class 3 at most, s,", _largest(split, 3), 2.0),
        *(
            Part(f"{r.name} class 3 rises from quarter to quarter", known(_least_rise(r, 3)), low=0.0)
            for r in (pct, split)
        ),
    ]
    largest = listed({r.name: _largest(r, 3) for r in (pct, split)})
    return judge(
        parts, known(_largest(pct, 3)), f"largest mean of 0.1 s in class 3, s: {largest}; {all_in_ms((pct, split))}"
    )


def _p2(results: Results) -> Finding:
    mrr, morr = _runs(results, "MRR", "MORR")
    parts = [steady(runs, k) for runs in (mrr, morr) for k in runs.classes]
    parts += [*_ranked(mrr), *_ranked(morr)]
    parts.append(greater("MORR slower than MRR (weighted)", morr.weighted(), mrr.weighted()))
    parts += [something(f"{runs.name} inverted", _in_stages(runs)) for runs in (mrr, morr)]
    grown = {runs.name: over_all(max, [growth(runs, k) for k in runs.classes]) for runs in (mrr, morr)}
    text = f"{all_in_ms((mrr, morr))}; largest growth {listed(grown)}; inversion by stage {_by_stage((mrr, morr))}"
    return judge(parts, known(_in_stages(mrr)), text)


def _p3(results: Results) -> Finding:
    ml, mol = _runs(results, "ML", "MOL")
    varies = {runs.name: fluctuation(runs) for runs in (ml, mol)}
    parts = [more("ML fluctuates more than MOL", varies["ML"], varies["MOL"]), *_ranked(mol)]
    parts += [something(f"{runs.name} inverted", _in_stages(runs)) for runs in (ml, mol)]
    text = f"coefficient of variation over time {listed(varies)}; {all_in_ms((ml, mol))}"
    text += f"; inversion by stage {_by_stage((ml, mol))}"
    return judge(parts, known(varies["ML"]), text)


def _p4(results: Results) -> Finding:
    mprr, *family = _runs(results, "MPRR", *FAMILY)
    means = mprr.each()
    faster = {r.name: over_all(min, [by_seed(over, means[k], r.of(f"mean_{k}")) for k in mprr.classes]) for r in family}
    after = by_seed(lambda a, b: a + b, *(stage_inversion(mprr, at) for at in (1, 2)))
    parts = [
        *(greater(f"MPRR class 1 faster than {k}", means[k], means[1]) for k in range(2, 6)),
        *(near(f"MPRR class {k}", means[k], 120 * MS) for k in (4, 5)),
        nothing("MPRR without inversion before 4.5 s", stage_inversion(mprr, 0)),
        something("MPRR inverted after 4.5 s", after),
        *(above(f"least ratio of a class to {name}'s", least, 1.0) for name, least in faster.items()),
    ]
    text = f"{all_in_ms((mprr, *family))}; inversion by stage {_by_stage([mprr])}; least ratio to {listed(faster)}"
    return judge(parts, known(means[5]), text)


def _four_over_five(runs: Runs, at: int) -> BySeed:
    return by_seed(over, in_stage(runs, at, 4), in_stage(runs, at, 5))


def _four_and_five(several: Iterable[Runs]) -> str:
    return ", ".join(f"{r.name} {' '.join(shown(_four_over_five(r, at)) for at in range(3))}" for r in several)


def _p5(results: Results) -> Finding:
    (mbd,) = _runs(results, "MBD")
    after = by_seed(lambda a, b: a + b, *(stage_inversion(mbd, at) for at in (1, 2)))
    parts = [
        *(above(f"MBD class 4 over 5 in stage {at + 1}", _four_over_five(mbd, at), 1.0) for at in range(3)),
        something("MBD inverted after 4.5 s", after),
    ]
    text = f"{in_ms(mbd)}; class 4 over 5 by stage {_four_and_five([mbd])}; inversion by stage {_by_stage([mbd])}"
    return judge(parts, known(after), text)


def _p6(results: Results) -> Finding:
    runs = _runs(results, *ADAPTIVE)
    parts = [
        Part(f"{r.name} class 4 faster than 5 in stage {at + 1}", known(_four_over_five(r, at)), high=1.0)
        for r in runs
        for at in (1, 2)
    ]
    return judge(parts, parts[-1].samples, f"class 4 over 5 by stage {_four_and_five(runs)}; {all_in_ms(runs)}")


def _p7(results: Results) -> Finding:
    inverted = {runs.name: inversion_over_time(runs) for runs in _runs(results, *SCHEDULERS)}
    parts = [
        more(f"inversion over time of {name} below {other}'s", inverted[other], inverted[name])
        for name in ADAPTIVE
        for other in SCHEDULERS
        if other not in ADAPTIVE
    ]
    start, end = EPISODE_S
    (dsp,) = _runs(results, ADAPTIVE[1])
    seconds = profiles()["seconds"][CHANGES]
    inside = {seed: value * (end - start) / seconds for seed, value in inversion_over_time(dsp, start, end).items()}
    share = by_seed(over, inside, inverted[dsp.name])
    parts.append(Part(f"more than half of DSP's inversion from {start} to {end} s", known(share), low=0.5))
    text = (
        f"mean inversion of 0.1 s {counted(inverted)}; share of DSP's from {start} to {end} s {shown(share)}; "
        f"inversion by stage {_by_stage(_runs(results, *FAMILY))}"
    )
    return judge(parts, known(inverted[dsp.name]), text)


_TOLD = (
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
CLAIMS: tuple[Claim, ...] = tuple(
    Claim(f"PIAT-{number}", f"{PAPER}, section 6.3.7", figure, text, check, fitted=f"PIAT-{number}" in FITTED)
    for number, (figure, text, check) in enumerate(_TOLD, start=1)
)
