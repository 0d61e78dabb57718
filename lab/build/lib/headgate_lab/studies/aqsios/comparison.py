"""Seven multi-core schedulers and MBD on five workloads: claims CMP-1 to CMP-28 (section 6.3.1, Figures 21 to 69).

A claim is about class means unless it names a percentile. Bounds ("below 7 ms") are taken as published, other numbers
are met within a factor of 2, and words ("flat", "much slower") mean what `readings` says. Where a caption and the text
disagree, the caption counts. The dissertation does not say what MPRR's share of a queue is relative to: claims are
judged with the sum of all priorities, and texts also give the result with the largest priority.
"""

from __future__ import annotations

from typing import Any

from headgate_lab.studies.aqsios import three_classes
from headgate_lab.studies.aqsios.compared_schedulers import (
    COMPARED,
    OTHER_MPRR,
    WORKLOADS,
    all_but,
    both_shares,
    claims_from,
    every,
    of_all,
    on,
    slower_in,
    some,
    split_by_inversion,
)
from headgate_lab.studies.aqsios.criteria import (
    above,
    all_in_ms,
    below,
    flat,
    greater,
    greater_by_difference,
    highest,
    in_ms,
    inversions,
    is_zero,
    listed,
    near,
    shown,
    with_inversion,
    without_inversion,
)
from headgate_lab.studies.aqsios.over_time import growth, steady
from headgate_lab.studies.aqsios.quantities import MS, Runs, gap, known, ratio, to_ms
from headgate_lab.studies.aqsios.readings import BETTER, GROWN, HUGE, LOW_MS, NOTHING, point
from headgate_lab.studies.aqsios.runs import LEVELS
from headgate_lab.studies.claims import Criterion, Finding, PaperClaim, SweepResults, judge
from headgate_lab.studies.study import Profile

COARSE = ("MBD", "MRR", "ML", "MPRR", "PCT_S")


def points(profile: Profile) -> list[dict[str, Any]]:
    """Every scheduler on every workload; a coarse profile has only five schedulers."""
    schedulers = COARSE if profile.coarse else (*COMPARED, OTHER_MPRR)
    return [
        point(workload, scheduler, profile.tuples, seed)
        for workload in WORKLOADS
        for scheduler in schedulers
        for seed in range(profile.seeds)
    ]


# 5G_4: five classes, four cores


def _c1(results: SweepResults) -> Finding:
    runs = on("5G_4", results)
    pct, split = some(runs, "PCT", "PCT_S")
    means = pct.each()
    criteria = [greater(f"PCT class 3 slower than {k}", means[3], means[k]) for k in (1, 2, 4, 5)]
    criteria.append(with_inversion(pct))
    for k, mean in split.each().items():
        criteria.append(is_zero(f"PCT_S as PCT in class {k}", gap(mean, means[k])))
    headline = ratio(means[3], means[1])
    return judge(criteria, headline, f"{all_in_ms((pct, split))}; inversion {inversions((pct, split))}")


def _c2(results: SweepResults) -> Finding:
    mrr, morr = some(on("5G_4", results), "MRR", "MORR")
    criteria = [*slower_in(morr, mrr), flat(mrr), flat(morr)]
    return judge(criteria, ratio(morr.weighted(), mrr.weighted()), all_in_ms((mrr, morr)))


def _c3(results: SweepResults) -> Finding:
    ml, mol = some(on("5G_4", results), "ML", "MOL")
    criteria = [
        greater("MOL slower than ML (weighted)", mol.weighted(), ml.weighted()),
        greater_by_difference("MOL more inverted than ML", mol.inverted(), ml.inverted()),
        *(greater(f"ML class 5 wider than class {k}", ml.width(5), ml.width(k)) for k in range(1, 5)),
        flat(mol),
    ]
    text = f"{all_in_ms((ml, mol))}; p90 {all_in_ms((ml, mol), 'p90')}; inversion {inversions((ml, mol))}"
    return judge(criteria, ratio(mol.weighted(), ml.weighted()), text)


def _c4(results: SweepResults) -> Finding:
    runs = on("5G_4", results)
    mbd, mprr = some(runs, "MBD", "MPRR")
    criteria = [criterion for name in all_but("MBD") for criterion in slower_in(runs[name], mbd, [1])]
    criteria += [without_inversion(mbd), without_inversion(mprr), *slower_in(mprr, mbd, range(2, 6))]
    grown = growth(mprr, 5)
    criteria.append(Criterion("MPRR class 5 starves", known(grown), low=GROWN))
    first = listed({name: to_ms(runs[name].of("mean_1")) for name in COMPARED})
    text = f"class 1, ms: {first}; {in_ms(mbd)}; MPRR's class 5 in the last fifth over the second: {shown(grown)}"
    return judge(criteria, known(mbd.of("mean_1")), f"{text}. {both_shares(runs)}")


def _c5(results: SweepResults) -> Finding:
    runs = on("5G_4", results)
    criteria = split_by_inversion(runs, ["MBD", "MPRR"], all_but("MBD", "MPRR"), LEVELS)
    text = f"inversion, sum of {', '.join(LEVELS)}: {inversions(some(runs, *COMPARED, OTHER_MPRR), LEVELS)}"
    return judge(criteria, known(runs["MBD"].inverted(LEVELS)), text)


def _c6(results: SweepResults) -> Finding:
    runs = on("5G_4", results)
    mbd, mprr = some(runs, "MBD", "MPRR")
    criterion = greater("MPRR's starvation above MBD's", mprr.starvation(), mbd.starvation())
    text = f"class 5 over class 1: {listed(of_all(runs, Runs.starvation))}. {both_shares(runs)}"
    return judge([criterion], criterion.samples, text)


# 5I: five classes, the third is the heaviest


def _c24(results: SweepResults) -> Finding:
    pct, split = some(on("5I", results), "PCT", "PCT_S")
    means, halved = pct.each(), split.each()
    criteria = [
        near("PCT p90 of class 3", pct.at_length("p90_3"), 0.45),
        *(greater(f"PCT class 1 slower than class {k}", means[1], means[k]) for k in (2, 4)),
        greater("PCT_S improves class 1", means[1], halved[1]),
        *(
            Criterion(f"PCT_S not 10 % better in class {k}", ratio(halved[k], means[k]), low=BETTER)
            for k in range(2, 6)
        ),
    ]
    return judge(criteria, known(pct.of("p90_3")), f"{all_in_ms((pct, split))}; p90 {in_ms(pct, 'p90')}")


def _c25(results: SweepResults) -> Finding:
    mrr, morr, ml, mol = some(on("5I", results), "MRR", "MORR", "ML", "MOL")
    criteria = [flat(mrr), flat(morr), *every(below, mrr, LOW_MS), *every(below, morr, LOW_MS)]
    criteria += [above(f"{runs.name} widest range", runs.widest(), LOW_MS * MS) for runs in (ml, mol)]
    criteria += [below(f"ML range of class {k}", ml.width(k), LOW_MS * MS) for k in (1, 2)]
    criteria.append(greater(f"ML range of class 5 {HUGE:g} times that of class 1", ml.width(5), ml.width(1), HUGE))
    text = f"{all_in_ms((mrr, morr, ml, mol))}; p90 {all_in_ms((ml, mol), 'p90')}"
    return judge(criteria, known(ml.width(5)), text)


def _c26(results: SweepResults) -> Finding:
    runs = on("5I", results)
    mbd, mprr = some(runs, "MBD", "MPRR")
    criteria = [
        without_inversion(mbd),
        steady(mbd, 5),
        *(above(f"MPRR class {k}", mprr.of(f"mean_{k}"), 30 * MS) for k in (4, 5)),
        near("MPRR class 5", mprr.of("mean_5"), 90 * MS),
    ]
    return judge(criteria, known(mprr.of("mean_5")), f"{in_ms(mbd)}. {both_shares(runs)}")


def _c27(results: SweepResults) -> Finding:
    runs = on("5I", results)
    starvation, inverted = of_all(runs, Runs.starvation), of_all(runs, Runs.inverted)
    at_length = starvation | {"PCT_S": runs["PCT_S"].at_length("starvation")}  # its class 5 nearly fills a core
    criteria = [
        *split_by_inversion(runs, ["MBD", "MPRR"], all_but("MBD", "MPRR"), ["mean"]),
        near("starvation of PCT_S", at_length["PCT_S"], 48),
        *highest("starvation", at_length, "PCT_S"),
        near("inversion of PCT", runs["PCT"].at_length("inversion_mean"), 60.9),
        *highest("inversion", inverted, "PCT"),
        near("starvation of MBD", starvation["MBD"], 6.2),
        greater("starvation of MPRR above MBD's", starvation["MPRR"], starvation["MBD"]),
    ]
    text = f"class 5 over class 1: {listed(starvation)}; inversion {inversions(some(runs, *COMPARED))}"
    return judge(criteria, known(starvation["MBD"]), f"{text}. {both_shares(runs)}")


# All five


def _c28(results: SweepResults) -> Finding:
    criteria, texts = [], []
    for workload in WORKLOADS:
        runs = on(workload, results)
        mbd = runs["MBD"]
        clean = without_inversion(mbd, LEVELS)
        criteria.append(Criterion(f"{clean.what} on {workload}", clean.samples, clean.low, clean.high))
        rivals = [runs[name] for name in all_but("MBD") if _clean(runs[name])]
        criteria += [
            greater(f"{rival.name} slower on {workload} (weighted)", rival.weighted(), mbd.weighted())
            for rival in rivals
        ]
        weighted = listed({r.name: to_ms(r.weighted()) for r in (mbd, *rivals)})
        texts.append(f"{workload}: weighted ms {weighted}, inversion {inversions([mbd], LEVELS)}")
    headline = known(Runs(results, WORKLOADS[0], "MBD").inverted(LEVELS))
    return judge(criteria, headline, f"MBD and those without inversion at any level in any seed. {'; '.join(texts)}")


def _clean(runs: Runs) -> bool:
    return bool(runs.rows) and all(abs(value) <= NOTHING for value in runs.inverted(LEVELS).values())


CLAIMS: tuple[PaperClaim, ...] = (
    *claims_from(
        1,
        (
            (
                "Figure 21",
                "5G_4: under PCT the heaviest class 3 is slowest, with inversion; PCT_S is identical to PCT",
                _c1,
            ),
            ("Figures 22 and 23", "5G_4: MRR is faster than MORR for every class; both are flat over classes", _c2),
            (
                "Figures 24 and 25",
                "5G_4: ML is faster than MOL and better ordered, class 5 widely spread; MOL is flat",
                _c3,
            ),
            (
                "Figures 26 and 27",
                "5G_4: MBD has the lowest class-1 response; MPRR is ordered too, but slower everywhere and starving",
                _c4,
            ),
            ("Figure 28", "5G_4: only MBD and MPRR are without inversion at average, p50, p75, p90 and p95", _c5),
            ("Figure 29", "5G_4: the starvation ratio of MPRR is above MBD's", _c6),
        ),
    ),
    *three_classes.CLAIMS,
    *claims_from(
        24,
        (
            (
                "Figures 60 and 61",
                "5I: PCT class 3 reaches 450 ms, class 1 is slower than 2 and 4; PCT_S improves only class 1",
                _c24,
            ),
            (
                "Figures 62 to 65",
                "5I: MORR and MRR low and flat; ML and MOL with ranges above 10 ms, ML narrow for "
                "classes 1 and 2, huge for 5",
                _c25,
            ),
            (
                "Figures 66 and 67",
                "5I: MBD is ordered without starvation; MPRR classes 4 and 5 above 30 ms, class 5 near 90 ms",
                _c26,
            ),
            (
                "Figures 68 and 69",
                "5I: only MBD and MPRR without inversion; highest starvation ratio PCT_S (48), highest "
                "inversion PCT (60.9); "
                "MBD's ratio 6.2, below MPRR's",
                _c27,
            ),
            (
                "Figures 21 to 69",
                "on all five workloads MBD is without inversion at any level, and the fastest (weighted) "
                "of those without",
                _c28,
            ),
        ),
    ),
)
NOTES = (
    "In the comparison (CMP), a claim is about class means unless it names a percentile. A bound ('below 7 ms') is "
    "taken as published; other numbers are met within a factor of 2. 'Flat': the slowest class is below 1.5 times the "
    "fastest; 'much': more than 1.5 times; 'far above': 10 times; 'the same': within a factor of 1.25; 'tight': no "
    "90th percentile is above 2.5 times its mean; a 'range' goes from the 10th to the 90th percentile. What grows for "
    "as long as an overload lasts is judged only from runs of 10,000 tuples. 'Starving' (CMP-4): class 5 takes more "
    "than twice as long in the last fifth of the input as in the second.",
    "CMP-24: 'reaches 450 ms' is the 90th percentile, where a box ends; PCT_S 'improves only class 1' if no other "
    "class is 10 % faster. 'Ranges above 10 ms' (CMP-21, CMP-25): the range meant is that of the widest class, "
    "because the same sentence calls others narrow. CMP-25: 'narrow' means a range below those 10 ms, 'low' a mean "
    "below 10 ms in every class, and 'huge' a range more than 3 times that of class 1.",
    "MPRR takes a share of each queue, relative either to the sum of all priorities or to the largest; the "
    "dissertation does not say which. Claims are judged with the sum; texts give both results. On 3E_6 a caption and "
    "the text disagree about MOL, which is not judged there.",
)
