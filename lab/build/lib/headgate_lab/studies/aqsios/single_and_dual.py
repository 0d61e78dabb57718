"""CQC on one core and ABD on two: the claims of chapters 4 and 5 (figures 4 to 14, table 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from headgate.policies.broadcast import broadcast_schedule
from headgate_lab.studies.aqsios.criteria import (
    PERCENT,
    WITHIN,
    WITHIN_MS,
    all_in_ms,
    each_in_ms,
    greater,
    is_positive,
    is_zero,
    near,
    seeds_of,
    shown,
    shown_ms,
    smaller,
)
from headgate_lab.studies.aqsios.interpretations import Check, Interpretation, in_interpretations
from headgate_lab.studies.aqsios.over_time import growth, mean_between, nearest
from headgate_lab.studies.aqsios.quantities import by_seed, known, largest, over, ratio, to_ms, unevenness
from headgate_lab.studies.aqsios.readings import FACTOR, FLAT, GROWN, PAPER, classes, distinct, point
from headgate_lab.studies.aqsios.workload import input_seconds
from headgate_lab.studies.claims import Criterion, Finding, PaperClaim, Row, SweepResults, judge, reduction
from headgate_lab.studies.study import Profile

SINGLE = ("A", "B", "C")
# Chapter 4 measures without idle time, and a tuple that waits for a join's other input may wait on an idle core.
SINGLE_INTERPRETATIONS = (
    Interpretation("", {"CQC": "CQC single"}, in_step=False),
    Interpretation("with debt as printed", {"CQC": "CQC single literal"}, in_step=False),
    Interpretation("with inputs in step", {"CQC": "CQC single"}),
)
DUAL = {"D": ("CQC", "ABD", "WeHR"), "E": ("CQC", "ABD"), "F": ("CQC", "ABD"), "5G": ("CQC", "ABD")}
DUAL_INTERPRETATIONS = (
    Interpretation(""),
    Interpretation("with passes until the slice is used up", {"ABD": "ABD unlimited"}),
    Interpretation("with CQC's debt as printed", {"CQC": "CQC literal"}),
    Interpretation("without inputs in step", in_step=False),
)
QUOTAS = {
    f"ABD_{us}us": published for us, published in ((20, 1749), (50, 1788), (100, 1776), (500, 1775), (1000, 1768))
}
ADAPTIVE = "adaptive"
ADAPTIVE_MS = (2.2, 2.46, 2.6, 3.8, 6.9)
STEP_S = 0.5  # the resolution at which classes are compared over time
BURST_S = 5.5  # the start of the burst in class 1's rate, which lasts for one such step
EXAMPLE = {"A": 5, "B": 4, "C": 3, "D": 2, "E": 1}  # class -> priority in figure 8


def points(profile: Profile) -> list[dict[str, Any]]:
    """The runs of both chapters."""
    return distinct(one for seed in range(profile.seeds) for one in _points(profile, seed))


def _points(profile: Profile, seed: int) -> Iterator[dict[str, Any]]:
    for interpretation in SINGLE_INTERPRETATIONS[: 1 if profile.coarse else None]:
        for workload in SINGLE:
            for name in ("RR", "HR", "CQC"):
                yield point(workload, interpretation.named(name), profile.tuples, seed, in_step=interpretation.in_step)
            yield point(f"{workload}_H", "HR", profile.tuples, seed, in_step=interpretation.in_step)
    for interpretation in DUAL_INTERPRETATIONS[: 2 if profile.coarse else None]:
        for workload, names in DUAL.items():
            for name in names:
                yield point(workload, interpretation.named(name), profile.tuples, seed, in_step=interpretation.in_step)
    for name in QUOTAS:
        yield point("E", name, profile.tuples, seed)
    for interpretation in DUAL_INTERPRETATIONS[: 1 if profile.coarse else None]:
        yield point(
            "5G", interpretation.named("ABD"), profile.tuples, seed, profile=ADAPTIVE, in_step=interpretation.in_step
        )


def _gain(results: SweepResults, interpretation: Interpretation, workload: str) -> list[float]:
    """How many times faster class 1 is under CQC than under HR."""
    hr, cqc = (interpretation.runs(results, workload, name).of("mean_1") for name in ("HR", "CQC"))
    return ratio(hr, cqc)


def _all_means(results: SweepResults, interpretation: Interpretation, workload: str, *schedulers: str) -> str:
    several = (interpretation.runs(results, workload, name) for name in schedulers)
    return f"class means on {workload}: {all_in_ms(several, comma=', ')}"


def _single_gain(workload: str, published: float) -> Check:
    def check(results: SweepResults, interpretation: Interpretation) -> Finding:
        gain = _gain(results, interpretation, workload)
        text = (
            f"class 1 is {shown(gain)} times faster; {_all_means(results, interpretation, workload, 'RR', 'HR', 'CQC')}"
        )
        return judge([near("gain", gain, published, WITHIN)], gain, text)

    return check


def _least_gain(results: SweepResults, interpretation: Interpretation) -> Finding:
    gains = {workload: _gain(results, interpretation, workload) for workload in SINGLE}
    least = [1 / largest(1 / gain for gain in of_a_seed) for of_a_seed in zip(*gains.values(), strict=True)]
    text = ", ".join(f"{workload} {shown(gain)}" for workload, gain in gains.items())
    criterion = Criterion("least gain at least 9.4 within a factor of 2", least, low=9.4 / FACTOR)
    return judge([criterion], least, f"class 1 is at least {shown(least)} times faster ({text})")


def _alone(results: SweepResults, interpretation: Interpretation) -> Finding:
    criteria, texts = [], []
    for workload in SINGLE:
        alone = interpretation.runs(results, f"{workload}_H", "HR").of("mean_1")
        shared = interpretation.runs(results, workload, "CQC").of("mean_1")
        criteria.append(smaller(f"{workload}: alone under HR below CQC", alone, shared))
        texts.append(f"{workload} {shown_ms(alone)} against {shown_ms(shared)} ms")
    return judge(criteria, criteria[0].samples, f"class 1 alone against all classes under CQC: {', '.join(texts)}")


def _moves(workloads: Sequence[str], better: Sequence[int], worse: Sequence[int]) -> Check:
    """CQC's class means over HR's: below 1 for some classes, above 1 for others."""

    def check(results: SweepResults, interpretation: Interpretation) -> Finding:
        criteria, texts = [], []
        for workload in workloads:
            hr, cqc = (interpretation.runs(results, workload, name).each() for name in ("HR", "CQC"))
            criteria += [smaller(f"{workload}: class {k} faster", cqc[k], hr[k]) for k in better]
            criteria += [greater(f"{workload}: class {k} slower", cqc[k], hr[k]) for k in worse]
            texts.append(f"{workload} {', '.join(shown(ratio(cqc[k], hr[k])) for k in classes(workload))}")
        return judge(criteria, criteria[0].samples, f"CQC's class means over HR's: {'; '.join(texts)}")

    return check


def _weights(results: SweepResults, interpretation: Interpretation) -> Finding:
    b, c = (interpretation.runs(results, workload, "CQC").of("mean_3") for workload in ("B", "C"))
    criterion = smaller("class 3 faster under B", b, c)
    text = f"class 3 takes {shown_ms(b)} ms under B and {shown_ms(c)} ms under C, a ratio of {shown(criterion.samples)}"
    return judge([criterion], criterion.samples, text)


def waits(schedule: Sequence[str], name: str) -> int:
    """The most slices of other classes between two slices of one class in a schedule that repeats."""
    places = [at for at, other in enumerate(schedule) if other == name]
    following = [*places[1:], places[0] + len(schedule)]
    return max(after - before - 1 for before, after in zip(places, following, strict=True))


def _example(results: SweepResults) -> Finding:
    disks = waits(broadcast_schedule(EXAMPLE.items()), "A")
    crowded = waits(broadcast_schedule(EXAMPLE.items(), "coincident"), "A")
    turns = waits([name for name, priority in EXAMPLE.items() for _ in range(priority)], "A")
    criteria = [  # the same in every run: given twice so that there is an interval
        Criterion("ABD at most 4", [float(disks)] * 2, high=4.5),
        Criterion("ABD at most 4 with the other order of slots", [float(crowded)] * 2, high=4.5),
        Criterion("CQC 10", [float(turns)] * 2, 9.5, 10.5),
    ]
    text = (
        f"class A waits for at most {disks} slices of other classes under ABD ({disks + 1} from start to start; "
        f"{crowded} with the other slot order that the text allows) and {turns} under CQC"
    )
    return judge(criteria, criteria[0].samples, text)


def _saved(results: SweepResults, interpretation: Interpretation, measure: str, workload: str) -> list[float]:
    """The share by which ABD is below CQC."""
    cqc, abd = (interpretation.runs(results, workload, name).of(measure) for name in ("CQC", "ABD"))
    return known(reduction(cqc, abd))


def _d_weighted(results: SweepResults, interpretation: Interpretation) -> Finding:
    saved = _saved(results, interpretation, "weighted_mean", "D")
    wehr, abd = (interpretation.runs(results, "D", name) for name in ("WeHR", "ABD"))
    times = ratio(wehr.at_length("weighted_mean"), abd.weighted())  # WeHR's class 3 is overloaded
    criteria = [
        near("weighted mean below CQC's by", saved, 0.1216, WITHIN),
        near("WeHR's over ABD's", times, 26, WITHIN),
    ]
    text = (
        f"weighted mean {shown(saved, PERCENT)} below CQC's; WeHR's is "
        f"{shown(ratio(wehr.weighted(), abd.weighted()))} times ABD's and grows as long as input continues; "
        f"{_all_means(results, interpretation, 'D', *DUAL['D'])}"
    )
    return judge(criteria, saved, text)


def _d_classes(results: SweepResults, interpretation: Interpretation) -> Finding:
    saved = _saved(results, interpretation, "mean_1", "D")
    abd, wehr = (interpretation.runs(results, "D", name) for name in ("ABD", "WeHR"))
    better = known(reduction(abd.of("mean_1"), wehr.of("mean_1")))
    last = wehr.at_length("mean_3")
    criteria = [
        near("class 1 below CQC's by", saved, 0.366, WITHIN),
        near("WeHR's class 1 below ABD's by", better, 0.1, WITHIN),
        Criterion("WeHR's class 3 above 2 s within a factor of 2", known(last), low=2.0 / FACTOR),
    ]
    text = (
        f"class 1 {shown(saved, PERCENT)} below CQC's; WeHR's is {shown(better, PERCENT)} below ABD's; WeHR's class 3 "
        f"takes {shown_ms(wehr.of('mean_3'))} ms, which grows as long as input continues: shorter runs are not judged"
    )
    return judge(criteria, saved, text)


def _d_shape(results: SweepResults, interpretation: Interpretation) -> Finding:
    cqc, abd = (interpretation.runs(results, "D", name) for name in ("CQC", "ABD"))
    grown = {k: growth(abd, k, nearest) for k in abd.classes}
    close = known(cqc.unevenness())
    criteria = [
        Criterion("CQC's largest class mean below 1.5 times its smallest", close, high=FLAT),
        greater("ABD's further apart than CQC's", abd.unevenness(), cqc.unevenness()),
        *(
            smaller(f"ABD: class {k} below class {k + 1}", *two)
            for k, two in enumerate(pairwise(abd.each().values()), start=1)
        ),
        *(
            Criterion(f"ABD: class {k} at the end below twice that near the start", known(times), high=GROWN)
            for k, times in grown.items()
        ),
    ]
    text = (
        f"largest over smallest class mean: CQC {shown(close)}, ABD {shown(abd.unevenness())}; "
        f"ABD's last fifth over its second, by class: {', '.join(map(shown, grown.values()))}; "
        f"{_all_means(results, interpretation, 'D', 'CQC', 'ABD')}"
    )
    return judge(criteria, close, text)


def _against_cqc(workload: str, weighted: float, first: float, inverted: bool = False) -> Check:
    """What ABD saves against CQC. With `inverted`, CQC must also have an inversion and ABD none."""

    def check(results: SweepResults, interpretation: Interpretation) -> Finding:
        saved, first_saved = (_saved(results, interpretation, m, workload) for m in ("weighted_mean", "mean_1"))
        cqc, abd = (interpretation.runs(results, workload, name) for name in ("CQC", "ABD"))
        criteria = [
            near("weighted mean below CQC's by", saved, weighted, WITHIN),
            near("class 1 below CQC's by", first_saved, first, WITHIN),
        ]
        if inverted:
            criteria.append(is_positive("CQC has inversion", cqc.inverted()))
            criteria.append(is_zero("ABD has no inversion", abd.inverted()))
        if workload == "5G":
            criteria.append(greater("CQC: class 1 above class 2", cqc.of("mean_1"), cqc.of("mean_2")))
        seeds = ", ".join(f"{runs.name} {seeds_of(runs.inverted())}" for runs in (cqc, abd))
        text = (
            f"weighted mean {shown(saved, PERCENT)}, class 1 {shown(first_saved, PERCENT)} below CQC's; "
            f"inverted: {seeds}; {_all_means(results, interpretation, workload, 'CQC', 'ABD')}"
        )
        return judge(criteria, saved, text)

    return check


def _quotas(results: SweepResults) -> Finding:
    by_quota = {name: DUAL_INTERPRETATIONS[0].runs(results, "E", name).weighted() for name in QUOTAS}
    apart = known(by_seed(lambda *found: unevenness(found) - 1.0, *by_quota.values()))
    levels = ", ".join(
        f"{name.removeprefix('ABD_')} {shown_ms(found)} ({QUOTAS[name] / 1e3:g})" for name, found in by_quota.items()
    )
    text = (
        f"spread {shown(apart, PERCENT)}; weighted mean by first quota, ms (published; these levels are fitted): "
        f"{levels}"
    )
    return judge([Criterion("spread at most 5 %", apart, high=0.05)], apart, text)


def _adapts(results: SweepResults, interpretation: Interpretation) -> Finding:
    abd = interpretation.runs(results, "5G", "ABD", ADAPTIVE)
    criteria = [
        near(f"class {k}", to_ms(mean), published, WITHIN_MS)
        for (k, mean), published in zip(abd.each().items(), ADAPTIVE_MS, strict=True)
    ]
    steady, burst = (known(abd.take(of)) for of in (_outside, _inside))
    criteria += [
        Criterion("class 1 lowest in every half second outside the burst", steady, high=1.0),
        Criterion("class 1 not lowest in the half second of the burst", burst, low=1.0),
    ]
    text = (
        f"class means {each_in_ms(abd, comma=', ')}; class 1 over the lowest other: "
        f"{shown(burst)} in the half second from 5.5 to 6 s, {shown(steady)} in the worst of the others"
    )
    return judge(criteria, criteria[0].samples, text)


def _outside(row: Row) -> float:
    """Class 1's mean over the lowest of the others, in the worst half second outside the burst. The first half second
    is warm-up and does not count."""
    steps = [STEP_S * at for at in range(1, int(input_seconds(row) / STEP_S))]
    return largest(_above(row, at) for at in steps if at != BURST_S)


def _inside(row: Row) -> float:
    """The same inside the burst, which is just as long: means over less time would differ more by chance alone."""
    return _above(row, BURST_S)


def _above(row: Row, start: float) -> float:
    first, *others = (mean_between(row[f"series_{k}"], start, start + STEP_S) for k in classes("5G"))
    return largest(over(first, other) for other in others)


def _chapter(number: int) -> str:
    return f"{PAPER}, chapter {number}"


CLAIMS = (
    PaperClaim(
        "CQC-1",
        _chapter(4),
        "Figure 5",
        "A: class 1 is 9.4 times faster under CQC than under HR",
        in_interpretations(_single_gain("A", 9.4), SINGLE_INTERPRETATIONS, "A"),
    ),
    PaperClaim(
        "CQC-2",
        _chapter(4),
        "Figure 6",
        "B: class 1 is 19.8 times faster under CQC than under HR",
        in_interpretations(_single_gain("B", 19.8), SINGLE_INTERPRETATIONS, "B"),
    ),
    PaperClaim(
        "CQC-3",
        _chapter(4),
        "Figure 7",
        "C: class 1 is 19.3 times faster under CQC than under HR",
        in_interpretations(_single_gain("C", 19.3), SINGLE_INTERPRETATIONS, "C"),
    ),
    PaperClaim(
        "CQC-4",
        _chapter(4),
        "Figure 4",
        "on A, B and C class 1 is at least 9.4 times faster under CQC than under HR",
        in_interpretations(_least_gain, SINGLE_INTERPRETATIONS, "A"),
    ),
    PaperClaim(
        "CQC-5",
        _chapter(4),
        "Figure 4",
        "class 1 alone under HR is faster still than under CQC with all classes, on A, B and C",
        in_interpretations(_alone, SINGLE_INTERPRETATIONS, "A"),
    ),
    PaperClaim(
        "CQC-6",
        _chapter(4),
        "Figure 5",
        "A: CQC has a lower mean than HR for class 1, and a higher one for classes 2 and 3",
        in_interpretations(_moves(["A"], better=[1], worse=[2, 3]), SINGLE_INTERPRETATIONS, "A"),
    ),
    PaperClaim(
        "CQC-7",
        _chapter(4),
        "Figures 6, 7",
        "B and C: CQC has lower means than HR for classes 1 and 2, and a higher one for class 3",
        in_interpretations(_moves(["B", "C"], better=[1, 2], worse=[3]), SINGLE_INTERPRETATIONS, "B"),
    ),
    PaperClaim(
        "CQC-8",
        _chapter(4),
        "Figures 6, 7",
        "class 3 is faster under B (1/6 of the time) than under C (1/10)",
        in_interpretations(_weights, SINGLE_INTERPRETATIONS, "B"),
    ),
    PaperClaim(
        "ABD-0",
        _chapter(5),
        "Figure 8",
        "with priorities 5 to 1 the most important class waits at most 4 slices under ABD, 10 under CQC",
        _example,
    ),
    PaperClaim(
        "ABD-1",
        _chapter(5),
        "Figure 9",
        "D: ABD's weighted mean is 12.16 % below CQC's and 26 times below WeHR's",
        in_interpretations(_d_weighted, DUAL_INTERPRETATIONS, "D"),
    ),
    PaperClaim(
        "ABD-2",
        _chapter(5),
        "Figure 9",
        "D: class 1 is 36.6 % lower under ABD than under CQC, and another 10 % lower under WeHR, which drives class 3 "
        "above 2 s",
        in_interpretations(_d_classes, DUAL_INTERPRETATIONS, "D"),
    ),
    PaperClaim(
        "ABD-3",
        _chapter(5),
        "Figure 9",
        "D: CQC's class means lie close together; ABD's are ordered, and no class starves",
        in_interpretations(_d_shape, DUAL_INTERPRETATIONS, "D"),
    ),
    PaperClaim(
        "ABD-4",
        _chapter(5),
        "Figure 10",
        "E: ABD's weighted mean is 43.1 % and its class 1 52.2 % below CQC's; CQC has inversion, ABD none",
        in_interpretations(_against_cqc("E", 0.431, 0.522, inverted=True), DUAL_INTERPRETATIONS, "E"),
    ),
    PaperClaim(
        "ABD-5",
        _chapter(5),
        "Figure 11",
        "F: ABD's weighted mean is 23.7 % and its class 1 38.6 % below CQC's",
        in_interpretations(_against_cqc("F", 0.237, 0.386), DUAL_INTERPRETATIONS, "F"),
    ),
    PaperClaim(
        "ABD-6",
        _chapter(5),
        "Figure 12",
        "5G: ABD's weighted mean is 19.1 % and its class 1 41.5 % below CQC's; CQC inverts classes 1 and 2, ABD none",
        in_interpretations(_against_cqc("5G", 0.191, 0.415, inverted=True), DUAL_INTERPRETATIONS, "5G"),
    ),
    PaperClaim(
        "ABD-7",
        _chapter(5),
        "Table 6",
        "E: with a first quota of 20, 50, 100, 500 and 1000 us ABD's weighted mean is 1749, 1788, 1776, 1775 and 1768 "
        "us: a spread of 2.2 %",
        _quotas,
    ),
    PaperClaim(
        "ABD-8",
        _chapter(5),
        "Figures 13, 14",
        "5G while the rate of class 1 changes: class means 2.2, 2.46, 2.6, 3.8 and 6.9 ms; class 1 is the lowest at "
        "all times except about 5.5 to 6 s",
        in_interpretations(_adapts, DUAL_INTERPRETATIONS, "5G", ADAPTIVE),
    ),
)
