"""Modules against priority inversion: claims PI-1 to PI-10 (section 6.3.3, Figures 84 to 106), and adaptation to
changes (`adaptation`, `piat`).

The workload is 5G_4 with one class at 500 tuples/s. A slow input makes a class slower only under our reading that
operators with two inputs consume them in step; the texts of PI-1 to PI-5 also give the result without that. Modules
look at the last 0.5 s; the texts of PI-6 to PI-10 also give the result when they look at all results since the start.
Inversion is that of the whole run, including the time before a module has corrected it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate_lab.studies.aqsios import adaptation, piat
from headgate_lab.studies.aqsios.criteria import (
    alike,
    counted,
    greater,
    greater_by_difference,
    highest,
    in_ms,
    is_positive,
    is_zero,
    listed,
    lowest,
    shown,
    shown_ms,
    without_inversion,
)
from headgate_lab.studies.aqsios.over_time import late_inversion
from headgate_lab.studies.aqsios.quantities import Runs, by_seed, known, over_all, ratio, smallest, to_ms
from headgate_lab.studies.aqsios.readings import ClaimEntry, numbered, point
from headgate_lab.studies.aqsios.schedulers import MODULES
from headgate_lab.studies.claims import BySeed, Criterion, Finding, PaperClaim, SweepResults, judge
from headgate_lab.studies.study import Profile

WORKLOAD = "5G_4"
LOWS = (1, 2, 3, 4, 5)
AT_MEAN, AT_P75 = (1, 3), (1, 2, 3)  # the low class in experiments at the mean, and at the 75th percentile
COARSE = ("DVP", "DSP")
CUMULATIVE = " cumulative"
FITTED = frozenset({"PI-1", "PI-2", "PI-3", "PI-4", "PI-5"})  # 5G_4's query mix was chosen with these in view


def points(profile: Profile) -> list[dict[str, Any]]:
    """All experiments with modules; a coarse profile has two of the four modules and one reading."""
    return [*_low_points(profile), *adaptation.points(profile), *piat.points(profile)]


def _low_points(profile: Profile) -> list[dict[str, Any]]:
    names = COARSE if profile.coarse else MODULES
    windows = ("",) if profile.coarse else ("", CUMULATIVE)
    runs = [("MBD", 0, True), *(("MBD", low, True) for low in LOWS)]
    runs += [("MBD", low, False) for low in LOWS if not profile.coarse]
    for lows, level in ((AT_MEAN, "mean"), (AT_P75, "p75")):
        runs += [(_named(name, level, window), low, True) for low in lows for name in names for window in windows]
    return [
        point(WORKLOAD, scheduler, profile.tuples, seed, low=low, in_step=in_step)
        for scheduler, low, in_step in runs
        for seed in range(profile.seeds)
    ]


def _named(module: str, level: str, window: str = "") -> str:
    return f"MBD_{module}{'' if level == 'mean' else f'_{level}'}{window}"


# Without modules


def _without(results: SweepResults, low: int) -> Runs:
    return Runs(results, WORKLOAD, "MBD", low=low)


def _neighbors(results: SweepResults, low: int, first: int, second: int, level: str = "mean") -> str:
    """The text on two neighboring classes, with inputs in step and without."""
    texts = []
    for label, in_step in (("", True), ("; without inputs in step ", False)):
        runs = Runs(results, WORKLOAD, "MBD", low=low, in_step=in_step)
        rate = ratio(runs.of(f"{level}_{first}"), runs.of(f"{level}_{second}"))
        texts.append(f"{label}{in_ms(runs, level)}, class {first} over {second} {shown(rate)}")
    return f"{level}: {''.join(texts)}"


def _slower(runs: Runs, first: int, second: int, level: str = "mean") -> Criterion:
    slow, fast = (runs.of(f"{level}_{k}") for k in (first, second))
    return greater(f"class {first} slower than {second} at {level}", slow, fast)


def _pi1(results: SweepResults) -> Finding:
    criterion = _slower(_without(results, 1), 1, 2)
    return judge([criterion], criterion.samples, _neighbors(results, 1, 1, 2))


def _pi2(results: SweepResults) -> Finding:
    runs = _without(results, 2)
    criterion = _slower(runs, 2, 3, "p75")
    both = "; ".join(_neighbors(results, 2, 2, 3, level) for level in ("mean", "p75"))
    text = f"{both}; inversion {counted({'at mean': runs.inverted()})}"
    return judge([without_inversion(runs), criterion], criterion.samples, text)


def _pi3(results: SweepResults) -> Finding:
    criterion = _slower(_without(results, 3), 3, 4)
    return judge([criterion], criterion.samples, _neighbors(results, 3, 3, 4))


def _pi4(results: SweepResults) -> Finding:
    runs = _without(results, 4)
    criterion = alike("classes 4 and 5 similar", runs.of("mean_4"), runs.of("mean_5"))
    text = f"{_neighbors(results, 4, 4, 5)}; inversion {counted({'at mean': runs.inverted()})}"
    return judge([without_inversion(runs), criterion], criterion.samples, text)


def _pi5(results: SweepResults) -> Finding:
    runs, before = (_without(results, low) for low in (5, 0))
    criterion = greater("class 5 slower than at the usual rate", runs.of("mean_5"), before.of("mean_5"))
    text = f"{_neighbors(results, 5, 4, 5)}; at the usual rate {in_ms(before)}"
    return judge([without_inversion(runs), criterion], criterion.samples, text)


# With modules


@dataclass(frozen=True)
class Expected:
    """What the dissertation reports of the four modules in one experiment; a field is empty where it says nothing."""

    low: int
    level: str
    corrected: Sequence[str]  # modules that end without inversion
    kept: Sequence[str]  # modules that do not
    quickest: str  # the module with the fewest updates, the last of them soonest
    lowest: Sequence[str] = ()  # the lowest weighted time is that of one of these
    highest: str = ""  # the module with the highest weighted time
    closest: str = ""  # the module whose weighted time is closest to that of MBD alone

    def check(self, results: SweepResults) -> Finding:
        """Judge the claim about this experiment."""
        runs = self._runs(results, "")
        inverted = {name: r.inverted((self.level,)) for name, r in runs.items()}
        weighted = {name: r.weighted() for name, r in runs.items()}
        criteria = [is_zero(f"{name} without inversion at {self.level}", inverted[name]) for name in self.corrected]
        criteria += [is_positive(f"{name} inverted at {self.level}", inverted[name]) for name in self.kept]
        criteria += self._times(weighted, _without(results, self.low).weighted())
        for what, measure in (("updates", "updates"), ("time of the last update", "updated_at")):
            criteria += lowest(what, {name: r.of(measure) for name, r in runs.items()}, self.quickest)
        return judge(criteria, known(inverted[self.quickest]), self._text(results))

    def _runs(self, results: SweepResults, window: str) -> dict[str, Runs]:
        named = {name: _named(name, self.level, window) for name in MODULES}
        return {name: Runs(results, WORKLOAD, scheduler, low=self.low) for name, scheduler in named.items()}

    def _times(self, weighted: Mapping[str, BySeed], plain: BySeed) -> list[Criterion]:
        criteria = []
        if self.highest:
            criteria += highest("weighted time", weighted, self.highest)
        if self.lowest:
            least = over_all(smallest, [weighted[name] for name in self.lowest])
            others = [name for name in MODULES if name not in self.lowest]
            label = " or ".join(self.lowest)
            criteria += [
                greater_by_difference(f"weighted time of {label} below {name}'s", weighted[name], least)
                for name in others
            ]
        if self.closest:
            away = {name: by_seed(lambda a, b: abs(a - b), of, plain) for name, of in weighted.items()}
            criteria += lowest("distance to MBD's weighted time", away, self.closest)
        return criteria

    def _text(self, results: SweepResults) -> str:
        plain = _without(results, self.low)
        inverted, weighted = plain.inverted((self.level,)), plain.weighted()
        texts = [f"MBD alone: inversion {shown(inverted)}, weighted {shown_ms(weighted)} ms"]
        for label, window in (
            ("looking at the last 0.5 s", ""),
            ("looking at all results since the start", CUMULATIVE),
        ):
            runs = self._runs(results, window)
            if not any(r.rows for r in runs.values()):
                continue
            measures: dict[str, Callable[[Runs], BySeed]] = {
                "weighted ms": lambda r: to_ms(r.weighted()),
                "updates": lambda r: r.of("updates"),
                "last update at s": lambda r: r.of("updated_at"),
                "inversion of means in the second half": late_inversion,
            }
            counts = counted({name: r.inverted((self.level,)) for name, r in runs.items()})
            listings = [f"{what} {listed({n: of(r) for n, r in runs.items()})}" for what, of in measures.items()]
            texts.append(f"{label}: inversion at {self.level} {counts}; {'; '.join(listings)}")
        return ". ".join(texts)


_LOW_INPUT_1 = Expected(
    1, "mean", corrected=MODULES, kept=(), quickest="DVP", lowest=("DVP",), highest="DSP", closest="DVP"
)
_LOW_INPUT_3 = Expected(3, "mean", corrected=MODULES, kept=(), quickest="DSP", closest="IVP")
_LOW75_1 = Expected(
    1, "p75", corrected=("DSP",), kept=("DVP", "IVP", "ISP"), quickest="DSP", lowest=("DVP",), highest="DSP"
)
_LOW75_2 = Expected(
    2, "p75", corrected=("IVP", "DSP", "ISP"), kept=("DVP",), quickest="DSP", lowest=("DVP",), highest="DSP"
)
_LOW75_3 = Expected(
    3, "p75", corrected=("DSP",), kept=("DVP", "IVP", "ISP"), quickest="DSP", lowest=("DVP", "IVP"), highest="DSP"
)

_ENTRIES: tuple[ClaimEntry, ...] = (
    ("Figure 84", "class 1 low, no module: class 1 is slower than class 2", _pi1),
    ("Figure 85", "class 2 low, no module: no inversion at the average, but at p75 class 2 is slower than 3", _pi2),
    ("Figure 86", "class 3 low, no module: class 3 is slower than class 4", _pi3),
    ("Figure 87", "class 4 low, no module: classes 4 and 5 are similar, without inversion", _pi4),
    ("Figure 88", "class 5 low, no module: no inversion, class 5 is slower than at the usual rate", _pi5),
    (
        "Figures 89 to 91",
        "class 1 low, modules at the average: all four end without inversion; the weighted time is lowest with DVP, "
        "closest to MBD's, and highest with DSP; DVP has the fewest updates and is fastest",
        _LOW_INPUT_1.check,
    ),
    (
        "Figures 92 to 94",
        "class 3 low, modules at the average: all four correct it; IVP is closest to MBD's weighted time; DSP has the "
        "fewest updates and is fastest",
        _LOW_INPUT_3.check,
    ),
    (
        "Figures 95 to 98",
        "class 1 low, modules at p75: only DSP reaches zero inversion at p75; the weighted time is lowest with DVP and "
        "highest with DSP; DSP has the fewest updates and is fastest",
        _LOW75_1.check,
    ),
    (
        "Figures 99 to 102",
        "class 2 low, modules at p75: all but DVP reach zero inversion at p75; the weighted time is lowest with DVP, "
        "highest with DSP; DSP has the fewest updates and is fastest",
        _LOW75_2.check,
    ),
    (
        "Figures 103 to 106",
        "class 3 low, modules at p75: only DSP reaches zero inversion at p75; the weighted time is highest with DSP, "
        "lowest with IVP (caption) or DVP (text); DSP has the fewest updates and is fastest",
        _LOW75_3.check,
    ),
)
CLAIMS: tuple[PaperClaim, ...] = (
    *numbered("PI", "section 6.3.3", _ENTRIES, fitted=FITTED),
    *adaptation.CLAIMS,
    *piat.CLAIMS,
)
NOTES = (
    "Inversion with modules (PI, SEL) is that of the whole run, including the time before a module has acted; the "
    "texts of PI-6 to PI-10 and SEL-1 also give that of the second half. Modules look at the results of the last 0.5 "
    "s; the texts of PI-6 to PI-10 also give the result when they look at all results since the start, those of PI-1 "
    "to PI-5 the result when the inputs of an operator do not wait for each other.",
    "Where priorities change, classes are compared by their means between changes, without the first 0.2 s after "
    "each, under the priorities valid at that time. 'Only episode' (PIAT-7): more than half of the inversion; 'rises "
    "continuously': from each quarter of the run to the next.",
    "Source cores serve tuples in order of arrival, and all tuples cost the same there, so the two ways of scheduling "
    "sources (SRC-1) are the same run. AMBD is compared with MBD on 3D_6, one of the workloads with 63 queries. Cache "
    "misses (AFF-1) are not measured.",
)
