"""Claims CMP-1 to CMP-28: MBD and seven schedulers on five multi-core workloads (section 6.3.1, Figures 21 to 69).

A claim is about class means unless it names a percentile. Where a caption and the text disagree, the caption counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from headgate_lab.studies.aqsios.parts import (
    Asked,
    Part,
    above,
    alike,
    below,
    faster,
    flat,
    highest,
    inside,
    left_open,
    less,
    near,
    none,
    some,
    starves,
    tight,
    widest,
)
from headgate_lab.studies.aqsios.quantities import Quantity, Runs, combined
from headgate_lab.studies.aqsios.readings import (
    BETTER,
    ENDED,
    FAR,
    HUGE,
    LOW_MS,
    MUCH,
    SHARES,
    TICKETS,
)
from headgate_lab.studies.aqsios.runs import LEVELS
from headgate_lab.studies.claims import Cause
from headgate_lab.studies.judging import FACTOR, NOTHING

COMPARED = ("MBD", "MRR", "MORR", "ML", "MOL", "MPRR", "PCT", "PCT_S")
WORKLOADS = ("5G_4", "3D_6", "3E_6", "3F_6", "5I")
# Classes that have the same mix of queries are alike to a scheduler that does not know classes, or gives each a thread.
ALIKE_TO = {"3D_6": ("MRR", "MORR", "PCT", "PCT_S"), "3E_6": ("MRR", "MORR"), "3F_6": ("MRR", "MORR")}
_BY_CHANCE = "its classes are alike to it, so which one comes first is chance"

G, D, E, F, REGROUPED = ({name: Runs(workload, name) for name in COMPARED} for workload in WORKLOADS)
ON = dict(zip(WORKLOADS, (G, D, E, F, REGROUPED), strict=True))
_cmp = partial(Asked, section="section 6.3.1", readings=(SHARES, TICKETS, ENDED))
_fit = partial(_cmp, fitted=True, tried=20)


def _all(of: dict[str, Runs], quantity: Callable[[Runs], Quantity]) -> dict[str, Quantity]:
    return {name: quantity(of[name]) for name in COMPARED}


def _but(*names: str) -> list[str]:
    return [name for name in COMPARED if name not in names]


def _inverted(workload: str, names: Sequence[str], levels: Sequence[str] = ("mean",)) -> list[Part]:
    """Each of these has an inversion; not judged where it could only be by chance."""
    several = [ON[workload][name].inversion(levels) for name in names]
    by_chance = ALIKE_TO.get(workload, ())
    return [
        left_open(f"some {one.name}", _BY_CHANCE, one) if name in by_chance else some(one)
        for name, one in zip(names, several, strict=True)
    ]


def _clean(workload: str, names: Sequence[str], levels: Sequence[str] = ("mean",)) -> list[Part]:
    return [none(ON[workload][name].inversion(levels)) for name in names]


def _top(name: str, quantity: Callable[[Runs], Quantity], of: dict[str, Runs], long: bool = False) -> list[Part]:
    """A scheduler has the highest value of all. `long`: its own grows as long as an overload lasts."""
    values = _all(of, quantity)
    if long:
        values[name] = values[name].long()
    return highest(values[name], list(values.values()))


def _mirrored(name: str, factor: float) -> list[Part]:
    """Class k of 3F_6 has the queries of class 4 - k of 3E_6, and the same response."""
    return [alike(F[name].mean(k), E[name].mean(4 - k).named(f"class {4 - k} of 3E_6"), factor) for k in (1, 2, 3)]


def _fastest(workload: str) -> Part:
    """MBD is faster than every scheduler without inversion at any level, seed by seed."""
    mbd, *rivals = ON[workload].values()
    inversions = [rival.inversion(LEVELS) for rival in rivals]
    times = [rival.weighted / mbd.weighted for rival in rivals]

    def least(*values: float) -> float:
        inverted, ratios = values[: len(rivals)], values[len(rivals) :]
        return min((r for i, r in zip(inverted, ratios, strict=True) if i <= NOTHING), default=math.inf)

    name = f"{workload}: fastest of the others without inversion over MBD"
    return inside(combined(least, [*inversions, *times], name), low=1.0)


_STARVATION, _INVERSION = (lambda runs: runs.starvation), Runs.inversion
_NO_CLASSES = Cause("replica", "ML follows priorities here: its tickets are those of MBD, and no run is inverted")

CLAIMS: tuple[Asked, ...] = (
    _cmp(
        "CMP-1",
        "Figure 21",
        "5G_4: under PCT the heaviest class 3 is slowest, with inversion; PCT_S is identical to PCT",
        [
            *(faster(mean, G["PCT"].mean(3)) for mean in G["PCT"].each(but=[3])),
            some(G["PCT"].inversion()),
            *(
                inside(G["PCT_S"].mean(k) - G["PCT"].mean(k), -1e-9, 1e-9, f"PCT_S as PCT in class {k}")
                for k in range(1, 6)
            ),
        ],
    ),
    _cmp(
        "CMP-2",
        "Figures 22 and 23",
        "5G_4: MRR is faster than MORR for every class; both are flat over classes",
        [*(faster(G["MRR"].mean(k), G["MORR"].mean(k)) for k in range(1, 6)), flat(G["MRR"]), flat(G["MORR"])],
    ),
    _cmp(
        "CMP-3",
        "Figures 24 and 25",
        "5G_4: ML is faster than MOL and better ordered, class 5 widely spread; MOL is flat",
        [
            faster(G["ML"].weighted, G["MOL"].weighted),
            less(G["ML"].inversion(), G["MOL"].inversion()),
            *(faster(G["ML"].width(k), G["ML"].width(5)) for k in range(1, 5)),
            flat(G["MOL"]),
        ],
        tried=2,
    ),
    _cmp(
        "CMP-4",
        "Figures 26 and 27",
        "5G_4: MBD has the lowest class-1 response; MPRR is ordered too, but slower everywhere and starving",
        [
            *(faster(G["MBD"].mean(1), G[name].mean(1)) for name in _but("MBD")),
            *_clean("5G_4", ["MBD", "MPRR"]),
            *(faster(G["MBD"].mean(k), G["MPRR"].mean(k)) for k in range(2, 6)),
            starves(G["MPRR"].mean(5), G["MBD"].mean(5)),
        ],
        cause=Cause("replica", "ML gives class 1 the same response as MBD here"),
    ),
    _cmp(
        "CMP-5",
        "Figure 28",
        "5G_4: only MBD and MPRR are without inversion at average, p50, p75, p90 and p95",
        [*_clean("5G_4", ["MBD", "MPRR"], LEVELS), *_inverted("5G_4", _but("MBD", "MPRR"), LEVELS)],
        cause=_NO_CLASSES,
    ),
    _cmp(
        "CMP-6",
        "Figure 29",
        "5G_4: the starvation ratio of MPRR is above MBD's",
        [faster(G["MBD"].starvation, G["MPRR"].starvation)],
    ),
    _fit(
        "CMP-7",
        "Figure 30",
        "3D_6: PCT is overloaded, p90 about 1 s",
        [near(D["PCT"].mean(k, "p90").long(), 1000) for k in (1, 2, 3)],
        cause=Cause(
            "paper", "it does not say whether runs end with the input or when queues are empty, which decides it"
        ),
    ),
    _fit(
        "CMP-8",
        "Figure 31",
        "3D_6: PCT_S stays below 15 ms",
        [below(mean, 15) for mean in D["PCT_S"].each()],
    ),
    _fit(
        "CMP-9",
        "Figures 32 and 33",
        "3D_6: MORR below 7 ms and MRR below 5 ms for all classes",
        [*(below(mean, 7) for mean in D["MORR"].each()), *(below(mean, 5) for mean in D["MRR"].each())],
    ),
    _cmp(
        "CMP-10",
        "Figures 34 and 35",
        "3D_6: ML class 3 has p95 above 30 ms and a median slightly above 6 ms; MOL is flat and slower than PCT_S",
        [
            above(D["ML"].mean(3, "p95"), 30),
            near(D["ML"].mean(3, "p50"), 6),
            flat(D["MOL"]),
            faster(D["PCT_S"].weighted, D["MOL"].weighted),
        ],
        tried=2,
    ),
    _fit(
        "CMP-11",
        "Figures 36 and 37",
        "3D_6: MPRR class 3 is 10 times class 1, its p90 60 ms; MBD does not starve",
        [
            near(D["MPRR"].starvation, 10),
            near(D["MPRR"].mean(3, "p90"), 60),
            faster(D["MBD"].starvation, D["MPRR"].starvation),
            starves(D["MPRR"].mean(3), D["MBD"].mean(3)),
        ],
    ),
    _cmp(
        "CMP-12",
        "Figure 38",
        "3D_6: no inversion with MBD, ML, MPRR; inversion with MRR, MORR, MOL, PCT, PCT_S",
        [*_clean("3D_6", ["MBD", "ML", "MPRR"]), *_inverted("3D_6", _but("MBD", "ML", "MPRR"))],
        tried=2,
        cause=Cause("judging", "the classes of 3D_6 are identical: under what does not know them, inversion is chance"),
    ),
    _cmp(
        "CMP-13",
        "Figure 39",
        "3D_6: highest starvation ratio MPRR (10), highest inversion PCT_S (0.021); ML's ratio is below MBD's, but "
        "its class-1 and overall times are much higher; MBD is the fastest of the three without inversion",
        [
            near(D["MPRR"].starvation, 10),
            *_top("MPRR", _STARVATION, D),
            left_open("highest inversion PCT_S, 0.021", _BY_CHANCE, D["PCT_S"].inversion()),
            faster(D["ML"].starvation, D["MBD"].starvation),
            faster(D["MBD"].mean(1), D["ML"].mean(1), MUCH),
            faster(D["MBD"].weighted, D["ML"].weighted, MUCH),
            faster(D["MBD"].weighted, D["MPRR"].weighted),
        ],
        cause=Cause("judging", "the classes of 3D_6 are identical: under what does not know them, inversion is chance"),
    ),
    _fit(
        "CMP-14",
        "Figures 40 and 41",
        "3E_6: PCT class 3 near 1 s; PCT_S class 3 below 1 s but 123 times class 1",
        [
            near(E["PCT"].mean(3).long(), 1000),
            below(E["PCT_S"].mean(3).long(), 1000),
            near(E["PCT_S"].starvation.long(), 123),
        ],
    ),
    _fit(
        "CMP-15",
        "Figures 42 and 43",
        "3E_6: MORR below 7 ms, median and average above 4 ms; MRR below 3 ms",
        [
            *(below(mean, 7) for mean in E["MORR"].each()),
            *(above(mean, 4) for level in ("mean", "p50") for mean in E["MORR"].each(level)),
            *(below(mean, 3) for mean in E["MRR"].each()),
        ],
    ),
    _cmp(
        "CMP-16",
        "Figures 46 and 47",
        "3E_6: MBD is tight and ordered; MPRR's class 1 is much slower than MBD's",
        [faster(E["MBD"].mean(1), E["MPRR"].mean(1), MUCH), none(E["MBD"].inversion()), *tight(E["MBD"])],
    ),
    _cmp(
        "CMP-17",
        "Figure 48",
        "3E_6: no inversion with MBD, MPRR, PCT, PCT_S; inversion with MRR, MORR, ML",
        [*_clean("3E_6", ["MBD", "MPRR", "PCT", "PCT_S"]), *_inverted("3E_6", ["MRR", "MORR", "ML"])],
        cause=_NO_CLASSES,
        note="text and caption disagree about MOL",
    ),
    _cmp(
        "CMP-18",
        "Figure 49",
        "3E_6: highest starvation ratio PCT_S (123), highest inversion MORR (0.009); MBD's ratio 3.6",
        [
            near(E["MBD"].starvation, 3.6),
            near(E["PCT_S"].starvation.long(), 123),
            *_top("PCT_S", _STARVATION, E),
            left_open("highest inversion MORR, 0.009", _BY_CHANCE, E["MORR"].inversion()),
        ],
        cause=Cause("judging", "classes of the same mix are alike to MORR: an inversion of 0.009 is chance"),
    ),
    _fit(
        "CMP-19",
        "Figures 50 and 51",
        "3F_6: PCT class 1 near 1 s; PCT_S below 0.5 s with class 1 far above 2 and 3; both mirror 3E_6",
        [
            near(F["PCT"].mean(1).long(), 1000),
            *(below(mean.long(), 500) for mean in F["PCT_S"].each()),
            *(faster(F["PCT_S"].mean(k), F["PCT_S"].mean(1).long(), FAR) for k in (2, 3)),
            *_mirrored("PCT", FACTOR),
            *_mirrored("PCT_S", FACTOR),
        ],
    ),
    _cmp(
        "CMP-20",
        "Figures 52 to 54",
        "3F_6: MORR, MRR and MOL as on 3E_6 with classes 1 and 3 exchanged",
        [part for name in ("MORR", "MRR", "MOL") for part in _mirrored(name, 1.25)],
        tried=2,
    ),
    _cmp(
        "CMP-21",
        "Figure 55",
        "3F_6: ML's class-1 range is narrower than class 3's; ranges above 10 ms",
        [above(widest(F["ML"]), LOW_MS), faster(F["ML"].width(1), F["ML"].width(3))],
    ),
    _fit(
        "CMP-22",
        "Figures 56 and 57",
        "3F_6: MBD is ordered and tight; MPRR class 3 takes 30 ms",
        [near(F["MPRR"].mean(3), 30), none(F["MBD"].inversion()), *tight(F["MBD"])],
    ),
    _cmp(
        "CMP-23",
        "Figures 58 and 59",
        "3F_6: only MBD and MPRR without inversion; highest starvation ratio MPRR (4.3), highest inversion PCT_S "
        "(63.5); MBD's ratio below 1.5",
        [
            *_clean("3F_6", ["MBD", "MPRR"]),
            *_inverted("3F_6", _but("MBD", "MPRR")),
            near(F["MPRR"].starvation, 4.3),
            *_top("MPRR", _STARVATION, F),
            near(F["PCT_S"].inversion().long(), 63.5),
            *_top("PCT_S", _INVERSION, F),
            below(F["MBD"].starvation, 1.5),
        ],
        headline=F["PCT_S"].inversion(),
        cause=_NO_CLASSES,
    ),
    _fit(
        "CMP-24",
        "Figures 60 and 61",
        "5I: PCT class 3 reaches 450 ms, class 1 is slower than 2 and 4; PCT_S improves only class 1",
        [
            near(REGROUPED["PCT"].mean(3, "p90").long(), 450),
            *(faster(REGROUPED["PCT"].mean(k), REGROUPED["PCT"].mean(1)) for k in (2, 4)),
            faster(REGROUPED["PCT_S"].mean(1), REGROUPED["PCT"].mean(1)),
            *(inside(REGROUPED["PCT_S"].mean(k) / REGROUPED["PCT"].mean(k), low=BETTER) for k in range(2, 6)),
        ],
    ),
    _cmp(
        "CMP-25",
        "Figures 62 to 65",
        "5I: MORR and MRR low and flat; ML and MOL with ranges above 10 ms, ML narrow for classes 1 and 2, huge for 5",
        [
            flat(REGROUPED["MRR"]),
            flat(REGROUPED["MORR"]),
            *(inside(mean, high=LOW_MS) for name in ("MRR", "MORR") for mean in REGROUPED[name].each()),
            *(above(widest(REGROUPED[name]), LOW_MS) for name in ("ML", "MOL")),
            *(inside(REGROUPED["ML"].width(k), high=LOW_MS) for k in (1, 2)),
            faster(REGROUPED["ML"].width(1), REGROUPED["ML"].width(5), HUGE),
        ],
        headline=REGROUPED["ML"].width(5),
        tried=2,
    ),
    _cmp(
        "CMP-26",
        "Figures 66 and 67",
        "5I: MBD is ordered without starvation; MPRR classes 4 and 5 above 30 ms, class 5 near 90 ms",
        [
            near(REGROUPED["MPRR"].mean(5), 90),
            *(above(REGROUPED["MPRR"].mean(k), 30) for k in (4, 5)),
            none(REGROUPED["MBD"].inversion()),
            starves(REGROUPED["MPRR"].mean(5), REGROUPED["MBD"].mean(5)),
        ],
    ),
    _cmp(
        "CMP-27",
        "Figures 68 and 69",
        "5I: only MBD and MPRR without inversion; highest starvation ratio PCT_S (48), highest inversion PCT (60.9); "
        "MBD's ratio 6.2, below MPRR's",
        [
            near(REGROUPED["MBD"].starvation, 6.2),
            faster(REGROUPED["MBD"].starvation, REGROUPED["MPRR"].starvation),
            *_clean("5I", ["MBD", "MPRR"]),
            *_inverted("5I", _but("MBD", "MPRR")),
            near(REGROUPED["PCT_S"].starvation.long(), 48),
            *_top("PCT_S", _STARVATION, REGROUPED, long=True),
            near(REGROUPED["PCT"].inversion().long(), 60.9),
            *_top("PCT", _INVERSION, REGROUPED),
        ],
        cause=_NO_CLASSES,
    ),
    _cmp(
        "CMP-28",
        "Figures 21 to 69",
        "on all five workloads MBD is without inversion at any level, and the fastest (weighted) of those without",
        [*(part for workload in WORKLOADS for part in _clean(workload, ["MBD"], LEVELS)), *map(_fastest, WORKLOADS)],
    ),
)
