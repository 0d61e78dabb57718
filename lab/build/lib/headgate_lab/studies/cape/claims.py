"""The eleven claims of the CAPE report, sections 4.2 and 6.

The report claims no numbers; its words become criteria, whose names say what the words are taken to mean.
"""

from __future__ import annotations

from statistics import fmean

from headgate.plan.quality import MeasureName
from headgate_lab.studies.cape.quantities import (
    adaptive,
    advantage,
    average_single,
    below_all,
    best_in_time,
    best_single,
    by_policy,
    shown,
    single,
    weighted,
)
from headgate_lab.studies.cape.runs import FOUR
from headgate_lab.studies.cape.workload import GOALS, PLANS, SINGLES
from headgate_lab.studies.claims import Criterion, Finding, PaperClaim, SweepResults, difference, judge

PAPER = (
    "Sutherland, Pielech, Rundensteiner: Adaptive QoS-Driven Scheduling Framework for a Continuous Query System "
    "(CAPE), WPI-CS-TR-04-16"
)
CHAIN, JOIN = PLANS
NEAR = 0.1  # "near the best", "about average": within that share
MEMORY_POLICIES, DELAY_POLICIES = ("chain", "mtiq"), ("rr", "fifo")


def _c1(results: SweepResults) -> Finding:
    return _two_against_two(results, "memory", MEMORY_POLICIES, DELAY_POLICIES)


def _c2(results: SweepResults) -> Finding:
    return _two_against_two(results, "latency", DELAY_POLICIES, MEMORY_POLICIES)


def _two_against_two(
    results: SweepResults, name: MeasureName, better: tuple[str, ...], worse: tuple[str, ...]
) -> Finding:
    criteria = [
        Criterion(
            f"{good} lower than {bad}",
            advantage(single(results, name, JOIN, good), single(results, name, JOIN, bad), name),
            low=0.0,
        )
        for good in better
        for bad in worse
    ]
    return judge(criteria, criteria[0].samples, f"mean {name}: {by_policy(results, name, JOIN)}")


def _c3(results: SweepResults) -> Finding:
    delay, memory = (best_single(results, name, JOIN) for name in ("latency", "memory"))
    criteria = []
    for policy in SINGLES:
        if policy == delay == memory:
            continue
        measure: MeasureName = "latency" if policy != delay else "memory"
        best = delay if measure == "latency" else memory
        gaps = advantage(single(results, measure, JOIN, best), single(results, measure, JOIN, policy), measure)
        criteria.append(Criterion(f"{policy} is not best on {measure}", gaps, low=0.0))
    if delay == memory:
        criteria = [Criterion(f"{delay} is best on both", [1.0, 1.0], high=0.0)]
    text = f"best on delay {delay}, on memory {memory}; {by_policy(results, 'latency', JOIN)}"
    return judge(criteria, criteria[0].samples, f"{text}; {by_policy(results, 'memory', JOIN)}")


def _c4(results: SweepResults) -> Finding:
    criteria, texts = [], []
    for plan in PLANS:
        best = best_single(results, "memory", plan)
        mine = adaptive(results, "memory", plan, "memory")
        gaps = advantage(mine, single(results, "memory", plan, best), "memory")
        seconds = below_all(results, "memory", plan, "memory")
        criteria += [
            Criterion(f"{plan}: at most 10 % above the best", gaps, low=-NEAR),
            Criterion(f"{plan}: below every single policy in a tenth of the seconds", seconds, low=0.1),
        ]
        texts.append(f"{plan}: less than {best} by {shown(gaps)}, below all in {shown(seconds)} of the seconds")
    return judge(criteria, criteria[0].samples, _with_greedy(results, "; ".join(texts), "memory", "memory"))


def _c5(results: SweepResults) -> Finding:
    criteria, texts = [], []
    for plan in PLANS:
        best = best_single(results, "latency", plan)
        gaps = advantage(adaptive(results, "latency", plan, "delay"), single(results, "latency", plan, best), "latency")
        criteria.append(Criterion(f"{plan}: lower delay than {best}", gaps, low=0.0))
        texts.append(f"{plan}: lower than {best} by {shown(gaps)} ({by_policy(results, 'latency', plan)})")
    return judge(criteria, criteria[0].samples, _with_greedy(results, "; ".join(texts), "latency", "delay"))


def _with_greedy(results: SweepResults, text: str, name: MeasureName, goals: str) -> str:
    """The text, with what a greedy selection gives where it was run."""
    if "greedy" not in results.values("selection"):
        return text
    found = []
    for plan in PLANS:
        best = single(results, name, plan, best_single(results, name, plan))
        mine = adaptive(results, name, plan, goals, selection="greedy")
        found.append(f"{plan} {shown(advantage(mine, best, name))}")
    return f"{text}; greedy instead of the wheel: {', '.join(found)}"


def _c6(results: SweepResults) -> Finding:
    goals = "delay 0.7, rate 0.3"
    best = best_single(results, "latency", CHAIN)
    delay = advantage(adaptive(results, "latency", CHAIN, goals), single(results, "latency", CHAIN, best), "latency")
    rate = advantage(
        adaptive(results, "throughput", CHAIN, goals), average_single(results, "throughput", CHAIN), "throughput"
    )
    criteria = [
        Criterion(f"lower delay than {best}", delay, low=0.0),
        Criterion("rate within 10 % of the average", rate, -NEAR, NEAR),
    ]
    return judge(criteria, delay, f"delay lower than {best} by {shown(delay)}, rate above the average by {shown(rate)}")


def _c7(results: SweepResults) -> Finding:
    first, second = "delay 0.7, rate 0.3", "delay 0.3, rate 0.7"
    best = best_single(results, "latency", CHAIN)
    delay = advantage(adaptive(results, "latency", CHAIN, second), single(results, "latency", CHAIN, best), "latency")
    rate = advantage(
        adaptive(results, "throughput", CHAIN, second), adaptive(results, "throughput", CHAIN, first), "throughput"
    )
    criteria = [
        Criterion("delay at most 10 % above the best", delay, low=-NEAR),
        Criterion("rate above that with weight 0.3", rate, low=0.0),
    ]
    return judge(criteria, rate, f"rate higher by {shown(rate)}; delay lower than {best} by {shown(delay)}")


def _c8(results: SweepResults) -> Finding:
    goals = "delay 0.5, rate 0.5"
    often = best_in_time(results, "latency", JOIN)
    criteria = [Criterion("no policy has the lowest delay in every second", often, high=1.0)]
    mine = _weighted_adaptive(results, JOIN, goals)
    gaps = {policy: difference(mine, _weighted_single(results, JOIN, goals, policy)) for policy in SINGLES}
    criteria += [Criterion(f"better than {policy} by the goals", samples, low=0.0) for policy, samples in gaps.items()]
    least = min(gaps, key=lambda policy: fmean(gaps[policy]))
    listed = ", ".join(f"{policy} {shown(samples)}" for policy, samples in gaps.items())
    text = (
        f"the policy that is best most often is so in {shown(often)} of the seconds; better by the goals than {listed}"
    )
    return judge(criteria, gaps[least], text)


def _weighted_adaptive(results: SweepResults, plan: str, goals: str) -> dict[int, float]:
    return weighted(results, plan, goals, {name: adaptive(results, name, plan, goals) for name in GOALS[goals]})


def _weighted_single(results: SweepResults, plan: str, goals: str, policy: str) -> dict[int, float]:
    return weighted(results, plan, goals, {name: single(results, name, plan, policy) for name in GOALS[goals]})


def _c9(results: SweepResults) -> Finding:
    gaps = {
        name: advantage(adaptive(results, name, JOIN, "all three"), average_single(results, name, JOIN), name)
        for name in GOALS["all three"]
    }
    criteria = [Criterion(f"{name} better than the average", samples, low=0.0) for name, samples in gaps.items()]
    for name in ("latency", "memory"):
        more = [a - b for a, b in zip(gaps[name], gaps["throughput"], strict=True)]
        criteria.append(Criterion(f"gains more on {name} than on rate", more, low=0.0))
    listed = ", ".join(f"{name} {shown(samples)}" for name, samples in gaps.items())
    return judge(criteria, gaps["latency"], f"better than the average of the single policies by: {listed}")


def _c10(results: SweepResults) -> Finding:
    criteria, texts, above = [], [], []
    for plan in PLANS:
        for goals in GOALS:
            gaps = list(_weighted_adaptive(results, plan, goals).values())
            criteria.append(Criterion(f"{plan}, {goals}: above the average", gaps, low=0.0))
            best = max(fmean(_weighted_single(results, plan, goals, policy).values()) for policy in SINGLES)
            above.append(fmean(gaps) > best)
            texts.append(f"{plan}, {goals}: {shown(gaps)} (best single {100 * best:.1f} %)")
    usually = fmean(above)
    criteria.append(Criterion("above all single policies in most cases", [usually, usually], low=0.5))
    return judge(criteria, criteria[0].samples, "by the goals, above the average: " + "; ".join(texts))


def _c11(results: SweepResults) -> Finding:
    fifo, four = (results.by_seed("cpu_s", plan=CHAIN, policy=policy) for policy in ("fifo", FOUR))
    same = difference(*(results.by_seed("delay_s", plan=CHAIN, policy=policy) for policy in ("fifo", FOUR)))
    seconds = results.rows[0]["seconds"]
    cost = [max(0.0, more) / seconds for more in difference(four, fifo)]
    criteria = [
        Criterion("below 1 % of the time of the run", cost, high=0.01),
        Criterion("the schedule is fifo's", same, -1e-9, 1e-9),
    ]
    text = f"four times fifo as candidates instead of fifo: CPU time of {shown(cost)} of the simulated time"
    return judge(criteria, cost, text)


_CLAIMS = (
    ("section 4.2", "Figure 4", "Chain and MTIQ need the least memory", _c1),
    ("section 4.2", "Figure 4", "MTIQ and Chain have the highest delay, RR and FIFO the lowest", _c2),
    ("section 4.2", "Figure 4", "no algorithm is best on both memory and delay", _c3),
    ("section 6.2", "Figure 6a", "memory only: near the best, and often below every single algorithm", _c4),
    ("section 6.2", "Figure 6b", "delay only: better than every single algorithm", _c5),
    ("section 6.3", "Figure 7", "delay 0.7, rate 0.3: best on delay, about average on rate", _c6),
    ("section 6.3", "Figure 8", "delay 0.3, rate 0.7: still very good on delay, a clearly higher rate", _c7),
    ("section 6.3", "Figure 9", "0.5 and 0.5: no single optimum over time; adaptive beats every single one", _c8),
    ("section 6.4", "Figure 10", "three goals: good on all three, the largest gains on delay and memory", _c9),
    ("section 6.5", "no figure", "never below the average of the single algorithms, usually above all", _c10),
    ("section 3.2", "no figure", "the framework costs next to nothing", _c11),
)
CLAIMS = tuple(
    PaperClaim(f"CAPE-C{number}", f"{PAPER}, {section}", figure, text, check)
    for number, (section, figure, text, check) in enumerate(_CLAIMS, start=1)
)
