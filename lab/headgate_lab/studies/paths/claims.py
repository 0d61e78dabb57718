"""The ten claims of the path and segment report, section 5.

The report describes its figures in words ("close", "sharply", "similar") and gives only two numbers. Each word becomes
a criterion, whose name says what the word is taken to mean.
"""

from __future__ import annotations

import math

from headgate_lab.studies.claims import Cause, Criterion, Finding, PaperClaim, SweepResults, judge
from headgate_lab.studies.judging import near, none, some, trend
from headgate_lab.studies.paths.quantities import (
    by_load,
    by_policy,
    combined,
    gap,
    known,
    of,
    over,
    over_settings,
    overall,
    ratio,
    shown,
    silent_by_setting,
)
from headgate_lab.studies.paths.runs import BUSY, COMPARED, LOADS, MEMORIES_S, TRIED

PAPER = "Jiang, Chakravarthy: Scheduling Strategies for Processing Continuous Queries Over Streams, UTA TR CSE-2003-30"
PCS, SS, CHAIN = COMPARED
CALM = LOADS[0]  # the report's first 4,000 s


def _c1(results: SweepResults) -> Finding:
    pcs, ss, chain = (overall(results, "latency_by_second_s", policy) for policy in COMPARED)
    criteria = [
        Criterion("ss above pcs", ratio(ss, pcs), low=1.0),
        Criterion("chain above ss", ratio(chain, ss), low=1.0),
    ]
    headline = ratio(chain, pcs)
    text = (
        f"mean latency in a second over all phases: chain/pcs {shown(headline)}, ss/pcs {shown(criteria[0].samples)}, "
        f"chain/ss {shown(criteria[1].samples)} ({by_load(results, 'latency_by_second_s')} s)"
    )
    text += over_settings(results, "latency_by_second_s", SS, PCS)
    return judge(criteria, headline, text + over_settings(results, "latency_by_second_s", CHAIN, SS))


def _c2(results: SweepResults) -> Finding:
    spreads = [_spreads(results, load) for load in LOADS]
    common = sorted(set.intersection(*(set(spread) for spread in spreads)))
    curve = [[spread[seed] for seed in common] or [math.nan] for spread in spreads]
    headline = [last - first for first, last in zip(curve[0], curve[-1], strict=True)]
    texts = ", ".join(f"{load:g}: {shown(samples)}" for load, samples in zip(LOADS, curve, strict=True))
    text = f"highest less lowest mean latency in a second by load, s: {texts}"
    return judge(trend("the difference among them", LOADS, curve), headline, text)


def _spreads(results: SweepResults, load: float) -> dict[int, float]:
    """The difference among the policies, by seed."""
    latencies = [of(results, "latency_by_second_s", policy, load) for policy in COMPARED]
    common = sorted(set.intersection(*(set(by_seed) for by_seed in latencies)))
    return {seed: _apart(*(by_seed[seed] for by_seed in latencies)) for seed in common}


def _apart(*latencies: float) -> float:
    return max(latencies) - min(latencies)


def _c3(results: SweepResults) -> Finding:
    criteria = [
        Criterion(
            f"{policy} below 1 s at load {CALM:g}",
            known(of(results, "latency_by_second_s", policy, CALM)),
            high=1.0,
        )
        for policy in COMPARED
    ]
    spikes = [of(results, "latency_worst_second_s", policy, CALM) for policy in (CHAIN, PCS)]
    criteria.append(Criterion("chain's worst second above pcs's at that load", ratio(*spikes), low=1.0))
    rises = {}
    for policy in (SS, CHAIN):
        busy, quiet = (of(results, f"latency_{when}_s", policy) for when in ("in_or_after_bursts", "else"))
        rises[policy] = ratio(busy, quiet)
        # By the logarithm: the factors of seeds differ by orders of magnitude.
        doublings = [math.log2(times) if times else math.nan for times in rises[policy]]
        criteria.append(
            Criterion(f"{policy} at least twice as high in and after bursts as otherwise", doublings, low=1.0)
        )
    text = (
        f"at load {CALM:g} mean {by_policy(results, 'latency_by_second_s', CALM)} s, worst second "
        f"{by_policy(results, 'latency_worst_second_s', CALM)} s; at {LOADS[-1]:g}, in and just after bursts over "
        f"otherwise: ss {shown(rises[SS])}, chain {shown(rises[CHAIN])}"
    )
    return judge(criteria, criteria[-1].samples, f"{text} (value: its logarithm to base 2)")


def _c4(results: SweepResults) -> Finding:
    criteria = []
    for load in BUSY:
        pcs, ss, chain = (of(results, "output_cv", policy, load) for policy in COMPARED)
        criteria += [
            Criterion(f"ss burstier than pcs at {load:g}", gap(ss, pcs), low=0.0),
            Criterion(f"chain burstier than ss at {load:g}", gap(chain, ss), low=0.0),
            Criterion(f"ss nearer to pcs than to chain at {load:g}", combined(_nearer, pcs, ss, chain), low=0.0),
        ]
    headline = ratio(*(of(results, "output_cv", policy) for policy in (CHAIN, PCS)))
    text = (
        f"coefficient of variation of results per second: {by_load(results, 'output_cv')}; per ten seconds, at "
        f"{LOADS[-1]:g}: {by_policy(results, 'output_cv_10s')}"
    )
    text += over_settings(results, "output_cv", SS, PCS)
    return judge(criteria, headline, text + over_settings(results, "output_cv", CHAIN, PCS))


def _nearer(pcs: float, ss: float, chain: float) -> float:
    return abs(chain - ss) - abs(ss - pcs)


def _c5(results: SweepResults) -> Finding:
    pcs, ss, chain = (of(results, "output_in_bursts", policy) for policy in COMPARED)
    peak = known(of(results, "output_peak_after_bursts", CHAIN))
    criteria = [
        Criterion("pcs gives more than chain in bursts", ratio(pcs, chain), low=1.0),
        Criterion("ss gives more than chain in bursts", ratio(ss, chain), low=1.0),
        near("chain's peak just after over its mean:", peak, 5.0),
        Criterion(
            "chain's peak just after is above pcs's",
            ratio(*(of(results, "output_peak_after_bursts", policy) for policy in (CHAIN, PCS))),
            low=1.0,
        ),
    ]
    text = (
        f"results per second in bursts over the mean: {by_policy(results, 'output_in_bursts')}; largest just after: "
        f"{by_policy(results, 'output_peak_after_bursts')} (of the whole phase: {by_policy(results, 'output_peak')})"
    )
    return judge(criteria, peak, text + over_settings(results, "output_in_bursts", PCS, CHAIN))


def _c6(results: SweepResults) -> Finding:
    base = of(results, "output_cv", PCS, CALM)
    ratios = {policy: ratio(of(results, "output_cv", policy, CALM), base) for policy in (SS, CHAIN)}
    criteria = [Criterion(f"{policy}'s variation within 10 % of pcs's", ratios[policy], 0.9, 1.1) for policy in ratios]
    text = f"coefficient of variation at load {CALM:g}: {by_policy(results, 'output_cv', CALM)}"
    return judge(criteria, ratios[CHAIN], text)


def _c7(results: SweepResults) -> Finding:
    silent = known(of(results, "silent_in_bursts", CHAIN))
    seconds = sum(of(results, "burst_seconds", CHAIN).values())
    criteria = [some("some seconds of chain's bursts have no results", silent)]
    text = (
        f"share of the {seconds:.0f} seconds in bursts without results: {by_policy(results, 'silent_in_bursts')}; the "
        f"lowest second over the mean: {by_policy(results, 'output_least_in_bursts')}{silent_by_setting(results)}"
    )
    return judge(criteria, silent, text)


def _c8(results: SweepResults) -> Finding:
    by_phase = [combined(_spread, *(of(results, "outputs", policy, load) for policy in COMPARED)) for load in LOADS]
    worst = [max(of_a_seed) for of_a_seed in zip(*by_phase, strict=True)]
    criteria = [none("no difference", worst)]
    totals = by_policy(results, "outputs", LOADS[-1])
    text = (
        f"largest difference for any seed and load {max(worst):g}; mean of the last phase: {totals}. By construction "
        "it cannot be otherwise: whether a tuple passes is drawn without regard to the policy, and every run ends "
        "with empty queues"
    )
    return judge(criteria, worst, text)


def _spread(*totals: float) -> float:
    return (max(totals) - min(totals)) / max(totals) if max(totals) else 0.0  # no results, no difference


def _c9(results: SweepResults) -> Finding:
    criteria = []
    for what in ("mean", "peak"):
        pcs, ss, chain = (of(results, f"memory_{what}_tuples", policy) for policy in COMPARED)
        criteria += [
            Criterion(f"{what}: ss above chain", ratio(ss, chain), low=1.0),
            Criterion(f"{what}: pcs above ss", ratio(pcs, ss), low=1.0),
            Criterion(f"{what}: ss nearer to chain than to pcs", combined(_nearer, chain, ss, pcs), low=0.0),
        ]
    most = of(results, "memory_peak_tuples", PCS)
    calm = [of(results, "memory_peak_tuples", policy, CALM) for policy in (PCS, CHAIN)]
    similar = combined(lambda pcs, chain, scale: over(abs(pcs - chain), scale), *calm, most)
    criteria.append(
        Criterion(f"at load {CALM:g} peaks differ by less than 5 % of the largest peak", similar, high=0.05)
    )
    headline = ratio(*(of(results, "memory_peak_tuples", policy) for policy in (PCS, CHAIN)))
    text = (
        f"tuples in queues, mean: {by_load(results, 'memory_mean_tuples')}; peak: "
        f"{by_load(results, 'memory_peak_tuples')}"
    )
    text += over_settings(results, "memory_mean_tuples", PCS, SS)
    return judge(criteria, headline, text + over_settings(results, "memory_mean_tuples", SS, CHAIN))


def _c10(results: SweepResults) -> Finding:
    ample, scarce = MEMORIES_S[-1], MEMORIES_S[0]
    latency = ratio(
        of(results, "latency_by_second_s", "threshold", memory_s=ample), of(results, "latency_by_second_s", PCS)
    )
    held = ratio(
        of(results, "memory_peak_tuples", "threshold", memory_s=scarce), of(results, "memory_peak_tuples", CHAIN)
    )
    smooth = ratio(of(results, "output_cv", "threshold", memory_s=scarce), of(results, "output_cv", PCS))
    criteria = [
        Criterion(f"with memory for {ample:g} s of input, latency within 10 % of pcs's", latency, 0.9, 1.1),
        Criterion(f"with memory for {scarce:g} s, peak within 25 % of chain's", held, high=1.25),
        Criterion(f"with memory for {scarce:g} s, output varies at most 10 % more than pcs's", smooth, high=1.1),
    ]
    middle = ", ".join(f"{memory:g} s: {_threshold(results, memory)}" for memory in MEMORIES_S)
    text = (
        f"latency over pcs's {shown(latency)}, peak memory over chain's {shown(held)}, variation over pcs's "
        f"{shown(smooth)}; mean latency, s, and peak memory, tuples, by memory: {middle}"
    )
    return judge(criteria, latency, text)


def _threshold(results: SweepResults, memory_s: float) -> str:
    latency = of(results, "latency_by_second_s", "threshold", memory_s=memory_s)
    peak = of(results, "memory_peak_tuples", "threshold", memory_s=memory_s)
    return f"{shown(known(latency))} and {shown(known(peak))}"


def least_latency(results: SweepResults) -> Finding:
    """Headline: PCS is below the others at every load."""
    criteria, texts = [], []
    for policy in (SS, CHAIN):
        ratios = [ratio(*(of(results, "latency_by_second_s", each, load) for each in (policy, PCS))) for load in LOADS]
        criteria += [
            Criterion(f"{policy} above pcs at {load:g}", samples, low=1.0)
            for load, samples in zip(LOADS, ratios, strict=True)
        ]
        texts.append(f"{policy} {', '.join(map(shown, ratios))} times pcs's")
    return judge(criteria, criteria[-1].samples, f"latency at loads {LOADS[0]:g} to {LOADS[-1]:g}: {'; '.join(texts)}")


def least_memory(results: SweepResults) -> Finding:
    """Headline: Chain holds the fewest tuples on average at every load."""
    criteria = [
        Criterion(
            f"{policy} above chain at {load:g}",
            ratio(*(of(results, "memory_mean_tuples", each, load) for each in (policy, CHAIN))),
            low=1.0,
        )
        for policy in (PCS, SS)
        for load in LOADS
    ]
    return judge(criteria, criteria[-1].samples, f"tuples in queues: {by_load(results, 'memory_mean_tuples')}")


def steady_output(results: SweepResults) -> Finding:
    """Headline: in bursts PCS gives more results than the other two."""
    pcs, ss, chain = (of(results, "output_in_bursts", policy) for policy in COMPARED)
    criteria = [Criterion("above chain", ratio(pcs, chain), low=1.0), Criterion("above ss", ratio(pcs, ss), low=1.0)]
    text = f"results per second in bursts over the mean: {by_policy(results, 'output_in_bursts')}"
    return judge(criteria, criteria[0].samples, text)


_UNPAID = Cause(
    "paper",
    "scheduling costs nothing here. The report's prototype pays for it, Chain the most (section 3.3), and decides once "
    "per time unit, but neither cost nor unit is given. SS is slower than Chain in every setting with surges",
)
_LIKE_CHAIN = Cause(
    "paper",
    "by its own rule SS serves all leaves first, as Chain does, so that in a surge which the leaves alone can fill it "
    "gives no more than Chain",
)
_LEAVES = Cause(
    "replica",
    "how much faster the leaves are, and how much less they pass, is ours: with leaves that pass 5 to 25 % PCS is "
    "smoothest and SS close to it, and Chain is silent far more often",
)
_CALM = Cause(
    "paper",
    "it gives neither rates nor bursts: with ours the worst seconds of all three are alike at load 0.5, so Chain has "
    "no spikes of its own there",
)
_RARE = Cause("sample", "one surge a phase, and its outcome differs by orders of magnitude among seeds")
_FITTED = {"C1", "C2", "C3", "C4", "C5", "C7", "C9", "C10"}  # looked at before plans, surges or memories were chosen
_CAUSES = {
    "C1": _UNPAID,
    "C2": _RARE,
    "C3": _CALM,
    "C4": _LEAVES,
    "C5": _LIKE_CHAIN,
    "C7": _LEAVES,
    "C9": _RARE,
    "C10": _RARE,
}
_LATENCY, _OUTPUT, _MEMORY, _NONE = "Figure 2", "Figure 3", "Figure 4", "no figure"
CLAIMS = tuple(
    PaperClaim(
        f"PATHS-C{number}",
        f"{PAPER}, section 5.2",
        figure,
        text,
        check,
        fitted=f"C{number}" in _FITTED,
        tried=TRIED if f"C{number}" in _FITTED else 1,
        cause=_CAUSES.get(f"C{number}"),
    )
    for number, (figure, text, check) in enumerate(
        (
            (_LATENCY, "mean latency: PCS < Simplified Segment < Chain, over all phases", _c1),
            (_LATENCY, "the gaps between the three widen as the load rises", _c2),
            (
                _LATENCY,
                "first 4000 s: all acceptable, Chain with some spikes; later SS and Chain rise sharply in bursts",
                _c3,
            ),
            (_OUTPUT, "output: PCS smoothest, SS close to it, Chain burstiest", _c4),
            (
                _OUTPUT,
                "in bursts PCS and SS give more results than Chain; just after, Chain peaks at almost 5 times its mean",
                _c5,
            ),
            (_OUTPUT, "first 4000 s: the three output patterns are alike", _c6),
            (_OUTPUT, "at worst Chain gives 0 results during a burst", _c7),
            (_OUTPUT, "the total output is the same for all three", _c8),
            (
                _MEMORY,
                "memory: Chain lowest, SS slightly above, PCS clearly highest under bursts; similar at moderate load",
                _c9,
            ),
            (
                _NONE,
                "Threshold: PCS's latency while memory suffices; when saving, near the least memory and smooth output",
                _c10,
            ),
        ),
        start=1,
    )
)
