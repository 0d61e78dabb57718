"""The comparison on three classes and six cores: claims CMP-7 to CMP-23 (Figures 30 to 59). See `comparison`."""

from __future__ import annotations

from collections.abc import Callable

from headgate_lab.studies.aqsios.compared_schedulers import (
    COMPARED,
    OTHER_MPRR,
    all_but,
    both_shares,
    claims_from,
    every,
    of_all,
    on,
    some,
    split_by_inversion,
)
from headgate_lab.studies.aqsios.criteria import (
    above,
    alike,
    all_in_ms,
    below,
    flat,
    greater,
    highest,
    in_ms,
    inversions,
    listed,
    near,
    shown,
    tight,
    without_inversion,
)
from headgate_lab.studies.aqsios.over_time import steady
from headgate_lab.studies.aqsios.quantities import MS, Runs, known
from headgate_lab.studies.aqsios.readings import FACTOR, FAR, MUCH
from headgate_lab.studies.claims import BySeed, Criterion, Finding, SweepResults, judge

# 3D_6: three classes of the same size, six cores


def _c7(results: SweepResults) -> Finding:
    pct = on("3D_6", results)["PCT"]
    criteria = [near(f"PCT p90 of class {k}", pct.at_length(f"p90_{k}"), 1.0) for k in pct.classes]
    text = f"p90 {in_ms(pct, 'p90')}, which grows as long as input continues: shorter runs are not judged"
    return judge(criteria, known(pct.of("p90_1")), text)


def _c8(results: SweepResults) -> Finding:
    split = on("3D_6", results)["PCT_S"]
    return judge(every(below, split, 15), known(split.of("mean_3")), f"{in_ms(split)}; p90 {in_ms(split, 'p90')}")


def _c9(results: SweepResults) -> Finding:
    mrr, morr = some(on("3D_6", results), "MRR", "MORR")
    criteria = [*every(below, morr, 7), *every(below, mrr, 5)]
    return judge(criteria, known(morr.of("mean_3")), f"{all_in_ms((morr, mrr))}; p90 {all_in_ms((morr, mrr), 'p90')}")


def _c10(results: SweepResults) -> Finding:
    ml, mol, split = some(on("3D_6", results), "ML", "MOL", "PCT_S")
    criteria = [
        above("ML p95 of class 3", ml.of("p95_3"), 30 * MS),
        near("ML median of class 3", ml.of("p50_3"), 6 * MS),
        flat(mol),
        greater("MOL slower than PCT_S (weighted)", mol.weighted(), split.weighted()),
    ]
    text = f"median {in_ms(ml, 'p50')}, p95 {in_ms(ml, 'p95')}; mean {all_in_ms((mol, split))}"
    return judge(criteria, known(ml.of("p95_3")), text)


def _c11(results: SweepResults) -> Finding:
    runs = on("3D_6", results)
    mbd, mprr = some(runs, "MBD", "MPRR")
    criteria = [
        near("MPRR class 3 over class 1", mprr.starvation(), 10),
        near("MPRR p90 of class 3", mprr.of("p90_3"), 60 * MS),
        steady(mbd, 3),
        greater("MPRR's starvation above MBD's", mprr.starvation(), mbd.starvation()),
    ]
    text = f"MPRR p90 {in_ms(mprr, 'p90')}; {in_ms(mbd)}, starvation {shown(mbd.starvation())}. {both_shares(runs)}"
    return judge(criteria, known(mprr.starvation()), text)


def _c12(results: SweepResults) -> Finding:
    runs = on("3D_6", results)
    criteria = split_by_inversion(runs, ["MBD", "ML", "MPRR"], all_but("MBD", "ML", "MPRR"), ["mean"])
    text = f"inversion {inversions(some(runs, *COMPARED, OTHER_MPRR))}"
    return judge(criteria, known(runs["MBD"].inverted()), text)


def _c13(results: SweepResults) -> Finding:
    runs = on("3D_6", results)
    mbd, ml, mprr = some(runs, "MBD", "ML", "MPRR")
    starvation, inverted = of_all(runs, Runs.starvation), of_all(runs, Runs.inverted)
    criteria = [
        near("starvation of MPRR", starvation["MPRR"], 10),
        *highest("starvation", starvation, "MPRR"),
        near("inversion of PCT_S", inverted["PCT_S"], 0.021),
        *highest("inversion", inverted, "PCT_S"),
        greater("starvation of MBD above ML's", starvation["MBD"], starvation["ML"]),
        greater("ML much slower in class 1 than MBD", ml.of("mean_1"), mbd.of("mean_1"), MUCH),
        greater("ML much slower than MBD (weighted)", ml.weighted(), mbd.weighted(), MUCH),
        greater("MPRR slower than MBD (weighted)", mprr.weighted(), mbd.weighted()),
    ]
    text = f"starvation {listed(starvation)}; inversion {listed(inverted)}; {all_in_ms((mbd, ml))}"
    return judge(criteria, known(starvation["MPRR"]), f"{text}. {both_shares(runs)}")


# 3E_6: the least important class is the heaviest


def _c14(results: SweepResults) -> Finding:
    pct, split = some(on("3E_6", results), "PCT", "PCT_S")
    criteria = [
        near("PCT class 3", pct.at_length("mean_3"), 1.0),
        below("PCT_S class 3", split.at_length("mean_3"), 1.0),
        near("PCT_S class 3 over class 1", split.at_length("starvation"), 123),
    ]
    return judge(criteria, known(split.starvation()), f"{all_in_ms((pct, split))}; ratio {shown(split.starvation())}")


def _c15(results: SweepResults) -> Finding:
    mrr, morr = some(on("3E_6", results), "MRR", "MORR")
    criteria = [*every(below, morr, 7), *every(above, morr, 4), *every(above, morr, 4, "p50"), *every(below, mrr, 3)]
    text = f"{all_in_ms((morr, mrr))}; median {in_ms(morr, 'p50')}; p90 {all_in_ms((morr, mrr), 'p90')}"
    return judge(criteria, known(morr.of("mean_3")), text)


def _c16(results: SweepResults) -> Finding:
    runs = on("3E_6", results)
    mbd, mprr = some(runs, "MBD", "MPRR")
    slower = greater("MPRR much slower in class 1 than MBD", mprr.of("mean_1"), mbd.of("mean_1"), MUCH)
    text = f"{in_ms(mbd)}, p90 {in_ms(mbd, 'p90')}. {both_shares(runs)}"
    return judge([without_inversion(mbd), *tight(mbd), slower], slower.samples, text)


def _c17(results: SweepResults) -> Finding:
    runs = on("3E_6", results)
    criteria = split_by_inversion(runs, ["MBD", "MPRR", "PCT", "PCT_S"], ["MRR", "MORR", "ML"], ["mean"])
    text = f"inversion {inversions(some(runs, *COMPARED))} (text and caption disagree about MOL)"
    return judge(criteria, known(runs["MBD"].inverted()), text)


def _c18(results: SweepResults) -> Finding:
    runs = on("3E_6", results)
    starvation, inverted = of_all(runs, Runs.starvation), of_all(runs, Runs.inverted)
    criteria = [
        near("starvation of PCT_S", runs["PCT_S"].at_length("starvation"), 123),
        *highest("starvation", starvation, "PCT_S"),
        near("inversion of MORR", inverted["MORR"], 0.009),
        *highest("inversion", inverted, "MORR"),
        near("starvation of MBD", starvation["MBD"], 3.6),
    ]
    return judge(criteria, known(starvation["MBD"]), f"starvation {listed(starvation)}; inversion {listed(inverted)}")


# 3F_6: the most important class is the heaviest


def _mirrored(results: SweepResults, name: str, same: Callable[[str, BySeed, BySeed], Criterion]) -> list[Criterion]:
    """A criterion per class: class k of 3F_6 has the queries of class 4 - k of 3E_6 and the same response."""
    here, there = (Runs(results, workload, name) for workload in ("3F_6", "3E_6"))
    return [
        same(f"{name} class {k} as class {4 - k} of 3E_6", here.of(f"mean_{k}"), there.of(f"mean_{4 - k}"))
        for k in here.classes
    ]


def _twofold(what: str, first: BySeed, second: BySeed) -> Criterion:
    return alike(what, first, second, FACTOR)


def _c19(results: SweepResults) -> Finding:
    pct, split = some(on("3F_6", results), "PCT", "PCT_S")
    first = split.at_length("mean_1")
    criteria = [
        near("PCT class 1", pct.at_length("mean_1"), 1.0),
        *(below(f"PCT_S class {k}", split.at_length(f"mean_{k}"), 0.5) for k in split.classes),
        *(greater(f"PCT_S class 1 far above class {k}", first, split.of(f"mean_{k}"), FAR) for k in (2, 3)),
        *_mirrored(results, "PCT", _twofold),
        *_mirrored(results, "PCT_S", _twofold),
    ]
    mirrored = all_in_ms(Runs(results, "3E_6", name) for name in ("PCT", "PCT_S"))
    return judge(criteria, known(pct.of("mean_1")), f"{all_in_ms((pct, split))}; on 3E_6 {mirrored}")


def _c20(results: SweepResults) -> Finding:
    names = ("MORR", "MRR", "MOL")
    criteria = [criterion for name in names for criterion in _mirrored(results, name, alike)]
    here, there = (all_in_ms(Runs(results, workload, name) for name in names) for workload in ("3F_6", "3E_6"))
    return judge(criteria, criteria[0].samples, f"on 3F_6 {here}; on 3E_6 {there}")


def _c21(results: SweepResults) -> Finding:
    ml = on("3F_6", results)["ML"]
    criteria = [
        greater("ML class 3 wider than class 1", ml.width(3), ml.width(1)),
        above("ML widest range", ml.widest(), 10 * MS),
    ]
    text = f"{in_ms(ml)}; p10 {in_ms(ml, 'p10')}; p90 {in_ms(ml, 'p90')}"
    return judge(criteria, known(ml.widest()), text)


def _c22(results: SweepResults) -> Finding:
    runs = on("3F_6", results)
    mbd, mprr = some(runs, "MBD", "MPRR")
    criteria = [without_inversion(mbd), *tight(mbd), near("MPRR class 3", mprr.of("mean_3"), 30 * MS)]
    text = f"{in_ms(mbd)}, p90 {in_ms(mbd, 'p90')}. {both_shares(runs)}"
    return judge(criteria, known(mprr.of("mean_3")), text)


def _c23(results: SweepResults) -> Finding:
    runs = on("3F_6", results)
    starvation, inverted = of_all(runs, Runs.starvation), of_all(runs, Runs.inverted)
    criteria = [
        *split_by_inversion(runs, ["MBD", "MPRR"], all_but("MBD", "MPRR"), ["mean"]),
        near("starvation of MPRR", starvation["MPRR"], 4.3),
        *highest("starvation", starvation, "MPRR"),
        near("inversion of PCT_S", runs["PCT_S"].at_length("inversion_mean"), 63.5),
        *highest("inversion", inverted, "PCT_S"),
        below("starvation of MBD", starvation["MBD"], 1.5),
    ]
    text = f"starvation {listed(starvation)}; inversion {inversions(some(runs, *COMPARED))}. {both_shares(runs)}"
    return judge(criteria, known(inverted["PCT_S"]), text)


CLAIMS = claims_from(
    7,
    (
        ("Figure 30", "3D_6: PCT is overloaded, p90 about 1 s", _c7),
        ("Figure 31", "3D_6: PCT_S stays below 15 ms", _c8),
        ("Figures 32 and 33", "3D_6: MORR below 7 ms and MRR below 5 ms for all classes", _c9),
        (
            "Figures 34 and 35",
            "3D_6: ML class 3 has p95 above 30 ms and a median slightly above 6 ms; MOL is flat and slower than PCT_S",
            _c10,
        ),
        ("Figures 36 and 37", "3D_6: MPRR class 3 is 10 times class 1, its p90 60 ms; MBD does not starve", _c11),
        ("Figure 38", "3D_6: no inversion with MBD, ML, MPRR; inversion with MRR, MORR, MOL, PCT, PCT_S", _c12),
        (
            "Figure 39",
            "3D_6: highest starvation ratio MPRR (10), highest inversion PCT_S (0.021); ML's ratio is below MBD's, but "
            "its class-1 and overall times are much higher; MBD is the fastest of the three without inversion",
            _c13,
        ),
        ("Figures 40 and 41", "3E_6: PCT class 3 near 1 s; PCT_S class 3 below 1 s but 123 times class 1", _c14),
        ("Figures 42 and 43", "3E_6: MORR below 7 ms, median and average above 4 ms; MRR below 3 ms", _c15),
        ("Figures 46 and 47", "3E_6: MBD is tight and ordered; MPRR's class 1 is much slower than MBD's", _c16),
        ("Figure 48", "3E_6: no inversion with MBD, MPRR, PCT, PCT_S; inversion with MRR, MORR, ML", _c17),
        (
            "Figure 49",
            "3E_6: highest starvation ratio PCT_S (123), highest inversion MORR (0.009); MBD's ratio 3.6",
            _c18,
        ),
        (
            "Figures 50 and 51",
            "3F_6: PCT class 1 near 1 s; PCT_S below 0.5 s with class 1 far above 2 and 3; both mirror 3E_6",
            _c19,
        ),
        ("Figures 52 to 54", "3F_6: MORR, MRR and MOL as on 3E_6 with classes 1 and 3 exchanged", _c20),
        ("Figure 55", "3F_6: ML's class-1 range is narrower than class 3's; ranges above 10 ms", _c21),
        ("Figures 56 and 57", "3F_6: MBD is ordered and tight; MPRR class 3 takes 30 ms", _c22),
        (
            "Figures 58 and 59",
            "3F_6: only MBD and MPRR without inversion; highest starvation ratio MPRR (4.3), highest inversion PCT_S "
            "(63.5); MBD's ratio below 1.5",
            _c23,
        ),
    ),
)
