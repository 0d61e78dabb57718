"""Claims about modules against priority inversion (section 6.3.3) and about adaptation (6.3.4 to 6.3.7, and 7.3).

In 6.3.3 the workload is 5G_4 with one class at 500 tuples/s. A slow input makes a class slower only under a reading
that no text settles: the inputs of an operator wait for each other, or results are taken back. Inversion is that of the
whole run, including the time before a module has corrected it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headgate_lab.studies.aqsios.over_time import (
    fluctuation,
    growth,
    in_stage,
    inversion_over_time,
    late_inversion,
    least_rise,
    peak,
    stage_inversion,
)
from headgate_lab.studies.aqsios.parts import (
    Asked,
    Part,
    above,
    alike,
    faster,
    highest,
    inside,
    left_open,
    less,
    lowest,
    lowest_of,
    near,
    none,
    some,
)
from headgate_lab.studies.aqsios.quantities import Runs, combined
from headgate_lab.studies.aqsios.readings import ALIKE, CUMULATIVE, ENDED, FREE, GROWN, TAKEN_BACK, TAKEN_BACK_FREE
from headgate_lab.studies.claims import Cause

MODULES = ("DVP", "IVP", "DSP", "ISP")
_MIX = Cause(
    "paper",
    "why a slow input makes a class slower is not in the text; that inputs wait for each other and that results are "
    "taken back, as in AQSIOS's public code, give different patterns",
)
_PACE = Cause(
    "replica",
    "when a module acts depends on the window of responses it looks at, which the text leaves open; with ours it acts "
    "on chance differences",
)
_p75 = Cause("replica", "without a module nothing is inverted at p75 here, so there is nothing to correct")
_LOST = Cause("paper", "Figure 107, how the selectivity falls, is lost; with ours MBD is hardly inverted at all")
_pi = partial(
    Asked, section="section 6.3.3", readings=(FREE, TAKEN_BACK, TAKEN_BACK_FREE), fitted=True, tried=20, cause=_MIX
)

USUAL, *LOW = (Runs("5G_4", "MBD", low=low) for low in range(6))


def _modules(
    low: int,
    level: str,
    quickest: str,
    corrected: Sequence[str] = MODULES,
    least: Sequence[str] = (),
    most: str = "",
    closest: str = "",
) -> list[Part]:
    """What the dissertation reports of the four modules in one experiment: which of them end without inversion, whose
    weighted time is the least, the greatest and closest to that of MBD alone, and who has the fewest updates, the last
    of them soonest."""
    at = "" if level == "mean" else f"_{level}"
    runs = {name: Runs("5G_4", f"MBD_{name}{at}", low=low, name=name) for name in MODULES}
    inverted = {name: r.inversion((level,)) for name, r in runs.items()}
    weighted = {name: r.weighted for name, r in runs.items()}
    parts = [none(one) if name in corrected else some(one) for name, one in inverted.items()]
    if most:
        parts += highest(weighted[most], list(weighted.values()))
    if least:
        parts += lowest_of([weighted[n] for n in least], [weighted[n] for n in MODULES if n not in least])
    if closest:
        plain = LOW[low - 1].weighted
        away = {
            name: combined(lambda a, b: abs(a - b), (one, plain), f"{name} distance to MBD")
            for name, one in weighted.items()
        }
        parts += lowest(away[closest], list(away.values()))
    for key, name, times in (("updates", "updates", 1.0), ("updated_at", "last update, ms,", 1e3)):
        measures = {module: r.measure(key, name, times) for module, r in runs.items()}
        parts += lowest(measures[quickest], list(measures.values()))
    return parts


def _moved(low: int, level: str, id_: str, figure: str, text: str, cause: Cause, parts: Sequence[Part]) -> Asked:
    plain = LOW[low - 1]
    headline = parts[0].quantity if level == "mean" else plain.inversion((level,))
    readings = (CUMULATIVE, TAKEN_BACK_FREE)
    return Asked(id_, figure, text, parts, "section 6.3.3", readings, headline, (plain,), tried=5, cause=cause)


PI: tuple[Asked, ...] = (
    _pi(
        "PI-1",
        "Figure 84",
        "class 1 low, no module: class 1 is slower than class 2",
        [faster(LOW[0].mean(2), LOW[0].mean(1))],
    ),
    _pi(
        "PI-2",
        "Figure 85",
        "class 2 low, no module: no inversion at the average, but at p75 class 2 is slower than 3",
        [faster(LOW[1].mean(3, "p75"), LOW[1].mean(2, "p75")), none(LOW[1].inversion())],
    ),
    _pi(
        "PI-3",
        "Figure 86",
        "class 3 low, no module: class 3 is slower than class 4",
        [faster(LOW[2].mean(4), LOW[2].mean(3))],
    ),
    _pi(
        "PI-4",
        "Figure 87",
        "class 4 low, no module: classes 4 and 5 are similar, without inversion",
        [alike(LOW[3].mean(4), LOW[3].mean(5)), none(LOW[3].inversion())],
    ),
    _pi(
        "PI-5",
        "Figure 88",
        "class 5 low, no module: no inversion, class 5 is slower than at the usual rate",
        [faster(USUAL.mean(5).named("usual class 5"), LOW[4].mean(5)), none(LOW[4].inversion())],
        cause=Cause("paper", "with less to do in all, every class is faster here, 5 too; the text gives no mechanism"),
    ),
    _moved(
        1,
        "mean",
        "PI-6",
        "Figures 89 to 91",
        "class 1 low, modules at the average: all four end without inversion; the weighted time is lowest with DVP, "
        "closest to MBD's, and highest with DSP; DVP has the fewest updates and is fastest",
        _PACE,
        _modules(1, "mean", "DVP", least=["DVP"], most="DSP", closest="DVP"),
    ),
    _moved(
        3,
        "mean",
        "PI-7",
        "Figures 92 to 94",
        "class 3 low, modules at the average: all four correct it; IVP is closest to MBD's weighted time; DSP has the "
        "fewest updates and is fastest",
        _PACE,
        _modules(3, "mean", "DSP", closest="IVP"),
    ),
    _moved(
        1,
        "p75",
        "PI-8",
        "Figures 95 to 98",
        "class 1 low, modules at p75: only DSP reaches zero inversion at p75; the weighted time is lowest with DVP and "
        "highest with DSP; DSP has the fewest updates and is fastest",
        _p75,
        _modules(1, "p75", "DSP", ["DSP"], ["DVP"], "DSP"),
    ),
    _moved(
        2,
        "p75",
        "PI-9",
        "Figures 99 to 102",
        "class 2 low, modules at p75: all but DVP reach zero inversion at p75; the weighted time is lowest with DVP, "
        "highest with DSP; DSP has the fewest updates and is fastest",
        _p75,
        _modules(2, "p75", "DSP", ["IVP", "DSP", "ISP"], ["DVP"], "DSP"),
    ),
    _moved(
        3,
        "p75",
        "PI-10",
        "Figures 103 to 106",
        "class 3 low, modules at p75: only DSP reaches zero inversion at p75; the weighted time is highest with DSP, "
        "lowest with IVP (caption) or DVP (text); DSP has the fewest updates and is fastest",
        Cause("replica", "all four modules remove the inversion here; why three should fail is not in the text"),
        _modules(3, "p75", "DSP", ["DSP"], ["DVP", "IVP"], "DSP"),
    ),
)

# Selectivities and priorities that change, sources and caches

KEPT = ("MBD", "MBD_S", "MBD_DVP", "MBD_DSP")  # these keep inversion
CORRECTED = ("MBD_DVP_S", "MBD_DSP_S", "MBD_DVP_SA", "MBD_DSP_SA")  # these remove it
SEL = {name: Runs("5I", name, profile="sel-change") for name in (*KEPT, *CORRECTED)}
_updates = {name: SEL[name].measure("updates", "updates", 1.0) for name in CORRECTED}
_ended = {name: SEL[name].measure("updated_at", "last update, ms,") for name in CORRECTED}
_weighted = {name: runs.weighted for name, runs in SEL.items()}
_sel = partial(Asked, section="section 6.3.4", readings=(ENDED,), cause=_LOST)
MBD1, UP1, MBD2, UP2 = (
    Runs("5I", name, profile=profile) for profile in ("pr-change", "pr-change-merge") for name in ("MBD", "MBD_UP")
)
_5S_8, _7_2 = Runs("5S_8", "MBD", name="8 + 1"), Runs("5S_8 7+2", "MBD", name="7 + 2")
_MBD, _AMBD = Runs("3D_6", "MBD"), Runs("3D_6", "AMBD")


def _rate(runs: Runs, at: int, first: int, second: int) -> Part:
    """In a stage, one class is faster than another."""
    return faster(in_stage(runs, at, first), in_stage(runs, at, second))


def _gains(runs: Runs, k: int, other: int, before: int, after: int) -> Part:
    """A class gains on another from one stage to a later one."""
    early, late = (in_stage(runs, at, k) / in_stage(runs, at, other) for at in (before, after))
    return faster(late, early)


ADAPTATION: tuple[Asked, ...] = (
    _sel(
        "SEL-1",
        "Figure 108",
        "Sel-Change: MBD, MBD_S, MBD_DVP and MBD_DSP keep inversion; DVP_S, DSP_S, DVP_SA and DSP_SA reach zero",
        [*(some(SEL[name].inversion()) for name in KEPT), *(none(SEL[name].inversion()) for name in CORRECTED)],
        headline=late_inversion(SEL["MBD"]),
    ),
    _sel(
        "SEL-2",
        "Figures 109 and 110",
        "Sel-Change: of those that reach zero, DSP_SA is fastest with the fewest updates, DVP_SA second fastest",
        [
            *lowest(_updates["MBD_DSP_SA"], list(_updates.values())),
            *lowest(_ended["MBD_DSP_SA"], list(_ended.values())),
            *lowest(_ended["MBD_DVP_SA"], [one for name, one in _ended.items() if name != "MBD_DSP_SA"]),
        ],
    ),
    _sel(
        "SEL-3",
        "Figure 111",
        "Sel-Change: MBD_S has the lowest weighted time, of those without inversion DVP_SA; DSP_SA is slightly higher",
        [
            *lowest(_weighted["MBD_S"], list(_weighted.values())),
            *lowest(_weighted["MBD_DVP_SA"], [_weighted[name] for name in CORRECTED]),
            inside(_weighted["MBD_DSP_SA"] / _weighted["MBD_DVP_SA"], high=ALIKE),
        ],
    ),
    Asked(
        "UP-1",
        "Figures 113 to 115",
        "Pr-Change: without _UP classes 1 and 2, 4 and 5 are treated alike, hence inversion; with _UP none, and the "
        "changes are effective after 1 s and 2 s",
        [
            some(stage_inversion(MBD1, 1, 2)),
            alike(in_stage(MBD1, 1, 1), in_stage(MBD1, 1, 2)),
            alike(in_stage(MBD1, 2, 4), in_stage(MBD1, 2, 5)),
            none(stage_inversion(UP1, 1, 2)),
            _gains(UP1, 1, 2, 0, 1),
            _gains(UP1, 4, 5, 1, 2),
        ],
        "section 6.3.5",
    ),
    Asked(
        "UP-2",
        "Figures 117 and 118",
        "Pr-Change-Merge: without _UP class 5 stays slower than 4; with _UP its time drops to class 4's level",
        [
            _rate(MBD2, 2, 4, 5),
            faster(in_stage(UP2, 2, 5), in_stage(UP2, 1, 5)),
            alike(in_stage(UP2, 2, 5), in_stage(UP2, 2, 4)),
        ],
        "section 6.3.5",
    ),
    Asked(
        "SRC-1",
        "Figure 119",
        "5S_8 on 9 cores: 8 for operators and 1 for sources is fastest; 7 and 2 with sources by MORR or by MBD do not "
        "differ visibly",
        [
            faster(_5S_8.weighted, _7_2.weighted),
            left_open("sources by MORR and by MBD do not differ", "both are the same run here, by construction"),
        ],
        "section 6.3.6",
        (ENDED,),
        cause=Cause("judging", "source cores serve tuples in order of arrival, so half of the claim cannot fail"),
    ),
    Asked(
        "AMBD-1",
        "no figure",
        "without cache effects AMBD's average response is 10 % worse than MBD's",
        [
            near(
                combined(lambda a, b: 100 * (a / b - 1), (_AMBD.weighted, _MBD.weighted), "AMBD worse than MBD, %,"), 10
            )
        ],
        "section 7.3",
        (ENDED,),
    ),
    Asked(
        "AFF-1",
        "no figure",
        "100 aggregates with large windows: L1 misses 0.04 % in batches, 0.6 % tuple by tuple; L2 7.9 % and 2.3 % of "
        "those; usual workloads 0.1 %",
        [left_open("cache misses", "this needs the cache counters of a real machine")],
        "section 7.3",
        cause=Cause("replica", "the simulator has no caches"),
    ),
)

# Everything changes at once

ADAPTING = ("MBD_DVP_SA_UP", "MBD_DSP_SA_UP")
FAMILY = ("MBD", *ADAPTING)
PIAT = {
    name: Runs("5L", name, profile="piat") for name in ("PCT", "PCT_S", "MRR", "MORR", "ML", "MOL", "MPRR", *FAMILY)
}
EPISODE_S = (7.1, 7.7)  # "about 7.2 to 7.6 s", a tenth of a second more at either end
_piat = partial(Asked, section="section 6.3.7", readings=(ENDED,))
_CURVES = Cause("paper", "Figures 121 to 123, rates and selectivities over time, are lost, and so is the mix of 5L")


def _ranked(name: str) -> list[Part]:
    """Classes 4 and 5 are the fastest, 3 is the slowest."""
    runs = PIAT[name]
    fast = [faster(runs.mean(k), runs.mean(other)) for k in (4, 5) for other in (1, 2, 3)]
    return [*fast, *(faster(runs.mean(other), runs.mean(3)) for other in (1, 2))]


def _overall(name: str) -> Part:
    """A scheduler has some inversion in one of the stages."""
    return some(stage_inversion(PIAT[name]))


_TIMES = {name: inversion_over_time(runs) for name, runs in PIAT.items()}
_DSP = PIAT["MBD_DSP_SA_UP"]

CHANGING: tuple[Asked, ...] = (
    _piat(
        "PIAT-1",
        "Figures 124 and 125",
        "PCT and PCT_S: class 3 rises continuously to about 2 s, above 2 s with PCT",
        [
            above(peak(PIAT["PCT"], 3), 2000),
            near(peak(PIAT["PCT_S"], 3), 2000),
            *(inside(least_rise(PIAT[name], 3), low=0.0) for name in ("PCT", "PCT_S")),
        ],
        fitted=True,
        tried=20,
        cause=_CURVES,
    ),
    _piat(
        "PIAT-2",
        "Figures 126 and 127",
        "MRR and MORR: no overload; classes 4 and 5 fastest, 3 slowest; MORR slower than MRR; inversion",
        [
            faster(PIAT["MRR"].weighted, PIAT["MORR"].weighted),
            *(inside(growth(PIAT[name], k), high=GROWN) for name in ("MRR", "MORR") for k in range(1, 6)),
            *_ranked("MRR"),
            *_ranked("MORR"),
            *map(_overall, ("MRR", "MORR")),
        ],
        cause=_CURVES,
    ),
    _piat(
        "PIAT-3",
        "Figures 128 and 129",
        "ML fluctuates strongly; MOL is steadier, classes 4 and 5 fastest, 3 slowest; both inverted",
        [
            less(fluctuation(PIAT["MOL"]), fluctuation(PIAT["ML"])),
            *_ranked("MOL"),
            *map(_overall, ("ML", "MOL")),
        ],
        headline=fluctuation(PIAT["ML"]),
        tried=2,
        cause=_CURVES,
    ),
    _piat(
        "PIAT-4",
        "Figure 130",
        "MPRR: class 1 fastest, 4 and 5 near 120 ms; inversion appears after 4.5 s; all classes slower than with the "
        "MBD family",
        [
            *(near(PIAT["MPRR"].mean(k), 120) for k in (5, 4)),
            *(faster(PIAT["MPRR"].mean(1), PIAT["MPRR"].mean(k)) for k in range(2, 6)),
            none(stage_inversion(PIAT["MPRR"], 0)),
            some(stage_inversion(PIAT["MPRR"], 1, 2)),
            *(faster(PIAT[name].mean(k), PIAT["MPRR"].mean(k)) for name in FAMILY for k in range(1, 6)),
        ],
    ),
    _piat(
        "PIAT-5",
        "Figure 131",
        "MBD without modules: class 4 slower than 5 throughout, hence inversion after 4.5 s",
        [some(stage_inversion(PIAT["MBD"], 1, 2)), *(_rate(PIAT["MBD"], at, 5, 4) for at in range(3))],
    ),
    _piat(
        "PIAT-6",
        "Figures 132 and 133",
        "MBD_DVP_SA_UP and MBD_DSP_SA_UP: from 4.5 s on class 4 is faster than class 5",
        [_rate(PIAT[name], at, 4, 5) for name in ADAPTING for at in (1, 2)],
    ),
    _piat(
        "PIAT-7",
        "Figures 134 and 135",
        "MBD_DVP_SA_UP and MBD_DSP_SA_UP have the lowest inversion; DSP's only episode is about 7.2 to 7.6 s",
        [
            *(less(_TIMES[name], _TIMES[other]) for name in ADAPTING for other in PIAT if other not in ADAPTING),
            inside(
                inversion_over_time(_DSP, *EPISODE_S) / _TIMES["MBD_DSP_SA_UP"],
                low=0.5,
                what="most of DSP's in the episode",
            ),
        ],
        headline=_TIMES["MBD_DSP_SA_UP"],
        cause=_CURVES,
    ),
)
CLAIMS = (*PI, *ADAPTATION, *CHANGING)
