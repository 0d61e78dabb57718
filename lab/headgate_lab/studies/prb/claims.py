"""The claims of the PRB paper: C1 to C9, on skewed costs and selectivities (sections 5.1 to 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from headgate_lab.studies.claims import Criterion, Finding, PaperClaim, SweepResults, estimate, judge, paired, reduction
from headgate_lab.studies.judging import near, trend
from headgate_lab.studies.prb.points import ALL_POLICIES, PEAK_DEPTH, RATE_BASED, RHO, tree_parameters
from headgate_lab.studies.prb.workloads import DEPTH

PAPER = "Sharaf, Chrysanthis, Labrinidis: Preemptive Rate-based Operator Scheduling in a DSMS"


def means(results: SweepResults, policy: str, **parameters: Any) -> dict[int, float]:
    """The mean response by seed."""
    return results.by_seed("mean", policy=policy, traced=False, **parameters)


def saving(results: SweepResults, **parameters: Any) -> list[float]:
    """The relative reduction of the mean response from RB to PRB, by seed."""
    return reduction(means(results, "rb", **parameters), means(results, "prb", **parameters))


def shown(samples: Sequence[float], percent: bool = False) -> str:
    """The mean over seeds, for the text of a finding."""
    mean = estimate(samples).mean
    return f"{mean:.1%}" if percent else f"{mean:.4g}"


def listed(values: Sequence[float], samples: Sequence[Sequence[float]], percent: bool = False) -> str:
    """A curve as text: `0: 5.0%, 0.9: 20.0%`."""
    return ", ".join(f"{value:g}: {shown(s, percent)}" for value, s in zip(values, samples, strict=True))


def _c1(results: SweepResults) -> Finding:
    thetas = results.values("theta", workload="cost", rho=RHO)
    criteria: list[Criterion] = []
    texts = []
    for policy in ALL_POLICIES:
        curve = [list(means(results, policy, workload="cost", rho=RHO, theta=theta).values()) for theta in thetas]
        criteria += trend(f"{policy}'s response", thetas, curve, up=False)
        texts.append(f"{policy} {listed(thetas, curve)}")
    ends = (means(results, "prb", workload="cost", rho=RHO, theta=theta) for theta in (0.9, 0.0))
    headline = paired(lambda at_end, at_start: at_end / at_start, *ends)
    text = f"prb's mean response at theta 0.9 is {shown(headline)} of that at 0.0. By theta: {'; '.join(texts)}"
    return judge(criteria, headline, text)


def _c2(results: SweepResults) -> Finding:
    thetas = results.values("theta", workload="cost", rho=RHO)
    ratios = [
        paired(
            lambda rr, fifo: rr / fifo,
            means(results, "rr", workload="cost", rho=RHO, theta=theta),
            means(results, "fifo", workload="cost", rho=RHO, theta=theta),
        )
        for theta in thetas
    ]
    criteria = [
        Criterion("rr is worse than fifo at theta 0.0", ratios[0], low=1.0),
        Criterion("rr is better than fifo at theta 0.9", ratios[-1], high=1.0),
    ]
    text = f"rr / fifo at theta 0.9 is {shown(ratios[-1])}. By theta: {listed(thetas, ratios)}"
    return judge(criteria, ratios[-1], f"{text}; {_crossing(thetas, ratios)}")


def _crossing(thetas: Sequence[float], ratios: Sequence[Sequence[float]]) -> str:
    """The text on where the mean curve passes 1, interpolated between two values of theta."""
    curve = [estimate(samples).mean for samples in ratios]
    for (a, at_a), (b, at_b) in pairwise(zip(thetas, curve, strict=True)):
        if at_a > 1 >= at_b:
            return f"they cross at theta {a + (b - a) * (at_a - 1) / (at_a - at_b):.2f} (processor sharing: 0.73)"
    return "they do not cross"


def _c3(results: SweepResults) -> Finding:
    thetas = results.values("theta", workload="cost", rho=RHO)
    criteria, margins = [], []
    for theta in thetas:
        prb = means(results, "prb", workload="cost", rho=RHO, theta=theta)
        for policy in ("rr", "fifo", "rb"):
            margin = reduction(means(results, policy, workload="cost", rho=RHO, theta=theta), prb)
            criteria.append(Criterion(f"prb is below {policy} at theta {theta:g}", margin, low=0.0))
            margins.append((estimate(margin).mean, policy, theta, margin))
    _, policy, theta, least = min(margins, key=lambda margin: margin[0])
    text = f"prb is at least {shown(least, True)} below every other policy, least against {policy} at theta {theta:g}"
    return judge(criteria, least, f"{text}. rb is below fifo by {_rb_below_fifo(results)}")


def _rb_below_fifo(results: SweepResults) -> str:
    """The reduction from FIFO to RB at both ends of the skew: reported, but no criterion, as the claim is about PRB."""
    texts = []
    for theta in (0.0, 0.9):
        fifo, rb = (means(results, policy, workload="cost", rho=RHO, theta=theta) for policy in ("fifo", "rb"))
        texts.append(f"{shown(reduction(fifo, rb), True)} at theta {theta:g}")
    return " and ".join(texts)


def _c4(results: SweepResults) -> Finding:
    thetas = results.values("theta", workload="cost", rho=RHO)
    curve = [saving(results, workload="cost", rho=RHO, theta=theta) for theta in thetas]
    criteria = [
        near("reduction at theta 0.0:", curve[0], 0.05),
        near("reduction at theta 0.9:", curve[-1], 0.2),
        *trend("reduction", thetas, curve),
    ]
    by_load = "; ".join(
        f"{rho:g}: " + " to ".join(shown(saving(results, workload="cost", rho=rho, theta=t), True) for t in (0.0, 0.9))
        for rho in results.values("rho", workload="cost")
    )
    text = f"{shown(curve[0], True)} at theta 0.0 to {shown(curve[-1], True)} at 0.9 (paper: 5 to 20 %)"
    return judge(criteria, curve[-1], f"{text}. By theta: {listed(thetas, curve, True)}. By load: {by_load}")


def _c5(results: SweepResults) -> Finding:
    thetas = results.values("theta", workload="selectivity")
    curve = [saving(results, workload="selectivity", rho=RHO, theta=theta) for theta in thetas]
    criteria = [
        Criterion(f"prb is below rb at theta {theta:g}", samples, low=0.0)
        for theta, samples in zip(thetas, curve, strict=True)
    ]
    criteria += trend("reduction", thetas, curve)
    return judge(criteria, curve[-1], f"reduction by theta: {listed(thetas, curve, True)}")


def _c6(results: SweepResults) -> Finding:
    depths = list(range(DEPTH + 1))
    criteria, texts = [], []
    for policy in RATE_BASED:
        curve = [list(means(results, policy, **tree_parameters(depth=depth)).values()) for depth in depths]
        criteria += trend(f"{policy}'s response by depth", depths, curve, up=False)
        texts.append(f"{policy} {listed(depths, curve)}")
    ends = (means(results, "prb", **tree_parameters(depth=depth)) for depth in (DEPTH, 0))
    headline = paired(lambda leaf, root: leaf / root, *ends)
    text = f"prb's response with the expensive operator at a leaf is {shown(headline)} of that at the root"
    return judge(criteria, headline, f"{text}. By depth: {'; '.join(texts)}")


def _c7(results: SweepResults) -> Finding:
    depths = list(range(DEPTH + 1))
    curves = {
        rho: [saving(results, **tree_parameters(depth=depth, rho=rho)) for depth in depths]
        for rho in results.values("rho", workload="tree", depth=0)
    }
    curve = curves[RHO]
    criteria = trend("reduction", depths[: PEAK_DEPTH + 1], curve[: PEAK_DEPTH + 1])
    criteria += trend("reduction", depths[PEAK_DEPTH:], curve[PEAK_DEPTH:], up=False)
    for depth in depths[:PEAK_DEPTH] + depths[PEAK_DEPTH + 1 :]:
        above = [peak - other for peak, other in zip(curve[PEAK_DEPTH], curve[depth], strict=True)]
        criteria.append(Criterion(f"reduction at depth {PEAK_DEPTH} above that at {depth}", above, low=0.0))
    texts = [f"at load {rho:g} {listed(depths, curve, True)}" for rho, curve in sorted(curves.items(), reverse=True)]
    peak = max(depths, key=lambda depth: estimate(curve[depth]).mean)
    text = f"largest mean at depth {peak}; reduction at depth 4 {shown(curve[PEAK_DEPTH], True)}"
    return judge(criteria, curve[PEAK_DEPTH], f"{text}. By depth: {'; '.join(texts)}")


def _c8(results: SweepResults) -> Finding:
    counts = results.values("count", workload="tree", depth=DEPTH, rho=RHO)
    criteria: list[Criterion] = []
    texts = []
    for policy in RATE_BASED:
        runs = [means(results, policy, **tree_parameters(depth=DEPTH, count=count)) for count in counts]
        curve = [list(by_seed.values()) for by_seed in runs]
        criteria += trend(f"{policy}'s response", counts, curve)
        texts.append(f"{policy} {listed(counts, curve)}")
    ends = (means(results, "prb", **tree_parameters(depth=DEPTH, count=count)) for count in (counts[-1], counts[0]))
    headline = paired(lambda many, one: many / one, *ends)
    text = f"prb's response with 32 expensive leaves is {shown(headline)} times that with one"
    return judge(criteria, headline, f"{text}. By number: {'; '.join(texts)}")


def _c9(results: SweepResults) -> Finding:
    counts = results.values("count", workload="tree", depth=DEPTH, rho=RHO)
    curve = [saving(results, **tree_parameters(depth=DEPTH, count=count)) for count in counts]
    # The mean of all counts in between: picking the largest would put it above the ends by selection alone.
    between = [fmean(of_a_seed) for of_a_seed in zip(*curve[1:-1], strict=True)]
    criteria = []
    for count, end in ((counts[0], curve[0]), (counts[-1], curve[-1])):
        above = [b - e for b, e in zip(between, end, strict=True)]
        criteria.append(Criterion(f"mean reduction in between is above that with {count}", above, low=0.0))
    peak = max(range(len(counts)), key=lambda at: estimate(curve[at]).mean)
    text = f"mean of {counts[1]} to {counts[-2]} expensive leaves {shown(between, True)}, largest with {counts[peak]}"
    return judge(criteria, between, f"{text}. By number: {listed(counts, curve, True)}")


CLAIMS = (
    PaperClaim(
        "PRB-C1",
        f"{PAPER}, section 5.1",
        "Figure 3",
        "mean response falls as the Zipf parameter of costs rises from 0.0 to 0.9, for RR, FIFO, RB and PRB",
        _c1,
    ),
    PaperClaim(
        "PRB-C2",
        f"{PAPER}, section 5.1",
        "Figure 3",
        "RR is worse than FIFO at low skew of costs and better at high skew",
        _c2,
    ),
    PaperClaim(
        "PRB-C3", f"{PAPER}, section 5.1", "Figure 3", "PRB is below RB, RR and FIFO at every skew of costs", _c3
    ),
    PaperClaim(
        "PRB-C4",
        f"{PAPER}, section 5.1",
        "Figure 4",
        "PRB's mean response is 5 % below RB's at theta 0.0, rising to 20 % at theta 0.9",
        _c4,
    ),
    PaperClaim(
        "PRB-C5",
        f"{PAPER}, section 5.2",
        "Figures 5 and 6",
        "PRB is below RB at every skew of selectivities, and the reduction grows with theta",
        _c5,
    ),
    PaperClaim(
        "PRB-C6",
        f"{PAPER}, section 5.3",
        "Figure 7",
        "response generally falls as the expensive operator moves from the root (depth 0) to a leaf (depth 6)",
        _c6,
    ),
    PaperClaim(
        "PRB-C7",
        f"{PAPER}, section 5.3",
        "Figure 8",
        "the reduction grows with the depth of the expensive operator, peaks at depth 4 and falls at 5 and 6",
        _c7,
    ),
    PaperClaim(
        "PRB-C8",
        f"{PAPER}, section 5.4",
        "Figure 9",
        "response rises with the number of expensive leaves, 1 to 32",
        _c8,
    ),
    PaperClaim(
        "PRB-C9",
        f"{PAPER}, section 5.4",
        "Figure 10",
        "the reduction is small with 1 expensive leaf, has a maximum in between and falls towards 32",
        _c9,
    ),
)
