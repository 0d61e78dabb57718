"""The claims of the PRB paper: C10 to C14, on expensive operators and on overheads (sections 5.5 and 5.6).

Overheads are added, not simulated: mean response(v) = mean response(0) + v * transitions per result. The paper goes up
to v = 50 with about 14 transitions on 55 units of work per tuple; as processor time, that would overload the system.
"""

from __future__ import annotations

from headgate_lab.studies.claims import (
    Cause,
    Criterion,
    Finding,
    PaperClaim,
    SweepResults,
    difference,
    estimate,
    judge,
    paired,
)
from headgate_lab.studies.judging import above
from headgate_lab.studies.prb.claims import PAPER, listed, means, saving, shown
from headgate_lab.studies.prb.points import HIGHEST_COST, RHO, tree_parameters
from headgate_lab.studies.prb.workloads import DEPTH

MOST_OVERHEAD = 50.0  # Table 2
QUANTUM = 1.0
FAR_WORSE = 2.0  # the paper gives no number; as for "sharply" in the study `paths`


def transitions(results: SweepResults, policy: str, rho: float = RHO) -> dict[int, float]:
    """Transitions per result, by seed: invoke operator, preempt operator, invoke scheduler (section 5.6)."""
    setting = tree_parameters(cost=HIGHEST_COST, rho=rho)
    work = results.by_seed("work", policy=policy, traced=False, **setting)
    if policy == "rr":  # all three kinds per quantum; quanta cut short by an empty queue would only add to this
        return {seed: 3 * value / QUANTUM for seed, value in work.items()}
    executed = 2.0 * (DEPTH + 1)  # operator and scheduler, per operator from leaf to root
    if policy == "rb":
        return dict.fromkeys(work, executed)
    # PRB also invokes the scheduler at each arrival; a preemption counts once, and its operator is invoked again.
    stopped = results.by_seed("preemptions", policy="prb", traced=True, **setting)
    return {seed: executed + 1 + 2 * value for seed, value in stopped.items()}


def response(results: SweepResults, policy: str, overhead: float, rho: float = RHO) -> dict[int, float]:
    """The mean response at an overhead cost, by seed."""
    base = means(results, policy, **tree_parameters(cost=HIGHEST_COST, rho=rho))
    each = transitions(results, policy, rho)
    return {seed: base[seed] + overhead * each[seed] for seed in base}


def crossing(results: SweepResults, rho: float = RHO) -> list[float]:
    """The overhead cost up to which PRB stays below RB, by seed."""
    return paired(
        lambda rb, prb, rb_each, prb_each: (rb - prb) / (prb_each - rb_each),
        response(results, "rb", 0.0, rho),
        response(results, "prb", 0.0, rho),
        transitions(results, "rb", rho),
        transitions(results, "prb", rho),
    )


def rr_to_rb(results: SweepResults, cost: float = HIGHEST_COST, rho: float = RHO) -> list[float]:
    """RR's mean response over RB's, by seed."""
    setting = tree_parameters(cost=cost, rho=rho)
    return paired(lambda rr, rb: rr / rb, means(results, "rr", **setting), means(results, "rb", **setting))


def _loads(results: SweepResults) -> list[float]:
    found: list[float] = results.values("rho", workload="tree", cost=HIGHEST_COST)
    return found


def _c10(results: SweepResults) -> Finding:
    costs = results.values("cost", workload="tree", policy="rr", rho=RHO)
    curve = [saving(results, **tree_parameters(cost=cost)) for cost in costs]
    criteria = [
        Criterion(f"prb is below rb at cost {cost:g}", samples, low=0.0)
        for cost, samples in zip(costs, curve, strict=True)
    ]
    return judge(criteria, curve[-1], f"reduction by cost: {listed(costs, curve, True)}")


def _c11(results: SweepResults) -> Finding:
    costs = results.values("cost", workload="tree", policy="rr", rho=RHO)
    curve = [rr_to_rb(results, cost=cost) for cost in costs]
    by_load = listed(_loads(results), [rr_to_rb(results, rho=rho) for rho in _loads(results)])
    text = f"rr / rb at cost 300 is {shown(curve[-1])}. By cost: {listed(costs, curve)}. By load, cost 300: {by_load}"
    return judge([Criterion("rr is below rb at cost 300 and load 0.9", curve[-1], high=1.0)], curve[-1], text)


def _c12(results: SweepResults) -> Finding:
    each = {policy: list(transitions(results, policy).values()) for policy in ("rr", "rb", "prb")}
    criteria = [Criterion(f"{policy}'s response grows", samples, low=0.0) for policy, samples in each.items()]
    text = ", ".join(f"{policy} {shown(samples)}" for policy, samples in each.items())
    text = f"growth per unit of overhead (transitions per result): {text}"
    return judge(criteria, each["prb"], f"{text}. By construction it cannot be otherwise: overheads are added up")


def _c13(results: SweepResults) -> Finding:
    at_zero = rr_to_rb(results)
    at_one = paired(lambda rr, rb: rr / rb, response(results, "rr", 1.0), response(results, "rb", 1.0))
    criteria = [
        Criterion("rr is below rb at v = 0", at_zero, high=1.0),
        Criterion("rr is at least twice rb at v = 1", at_one, low=FAR_WORSE),
    ]
    by_load = listed(_loads(results), [rr_to_rb(results, rho=rho) for rho in _loads(results)])
    text = f"rr / rb is {shown(at_one)} at v = 1 and {shown(at_zero)} at v = 0. By load, v = 0: {by_load}"
    return judge(criteria, at_one, text)


def _c14(results: SweepResults) -> Finding:
    limits = crossing(results)
    gap = difference(response(results, "prb", MOST_OVERHEAD), response(results, "rb", MOST_OVERHEAD))
    by_load = listed(_loads(results), [crossing(results, rho) for rho in _loads(results)])
    stopped = results.by_seed("preemptions", policy="prb", traced=True, **tree_parameters(cost=HIGHEST_COST))
    text = (
        f"prb stays below rb up to v = {shown(limits)}; at v = 50 prb - rb is {shown(gap)}; preemptions per "
        f"result {estimate(stopped.values()).mean:.3g}. Limit by load: {by_load}"
    )
    return judge([above("prb stays below rb up to v", limits, MOST_OVERHEAD)], limits, text)


_LOAD = Cause(
    "paper",
    "it does not say how its load is measured, and its reductions of 5 and 20 % (Figure 4) are those of a load nearer "
    "to 0.8 than to its 0.9: rr is above rb at load 0.9 and below it at 0.5 and 0.6",
)

CLAIMS = (
    PaperClaim("PRB-C10", f"{PAPER}, section 5.5", "Figure 11", "PRB is below RB for every cost from 25 to 300", _c10),
    PaperClaim(
        "PRB-C11",
        f"{PAPER}, section 5.5",
        "Figure 11",
        "RR is below RB when the expensive operator costs 300",
        _c11,
        cause=_LOAD,
    ),
    PaperClaim(
        "PRB-C12", f"{PAPER}, section 5.6", "Figure 12", "response grows with the overhead cost for every policy", _c12
    ),
    PaperClaim(
        "PRB-C13",
        f"{PAPER}, section 5.6",
        "Figure 12",
        "RR is below RB only at an overhead cost of 0; at 1 it is far worse",
        _c13,
        cause=_LOAD,
    ),
    PaperClaim(
        "PRB-C14", f"{PAPER}, section 5.6", "Figure 12", "PRB stays below RB up to an overhead cost of 50", _c14
    ),
)
