"""What the learned selector should achieve, beside the best fixed policy, the roulette wheel and the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from headgate_lab.studies.claims import BySeed, Criterion, Finding, PaperClaim, SweepResults, difference, judge, paired
from headgate_lab.studies.selectors.quantities import best_fixed, over_plans, plans_of, scores, shown

WITHIN = 0.05  # "as good as": at most that share below
Compared = Callable[[SweepResults, str], list[float]]  # seed by seed, on one plan


def _to_best(results: SweepResults, plan: str) -> list[float]:
    return paired(
        lambda mine, best: mine / best,
        scores(results, plan, "learned"),
        scores(results, plan, best_fixed(results, plan)),
    )


def _beyond(other: str) -> Compared:
    return lambda results, plan: difference(scores(results, plan, "learned"), scores(results, plan, other))


def _overall(results: SweepResults, compared: Compared, what: str, low: float) -> Finding:
    samples = [fmean(found) for found in zip(*(compared(results, plan) for plan in plans_of(results)), strict=True)]
    return judge([Criterion(what, samples, low=low)], samples, _means(results))


def _on_each(results: SweepResults, compared: Compared, low: float) -> Finding:
    found = {plan: compared(results, plan) for plan in plans_of(results)}
    worst = min(found, key=lambda plan: fmean(found[plan]))
    text = ", ".join(f"{plan} {shown(samples)}" for plan, samples in found.items())
    return judge([Criterion(plan, samples, low=low) for plan, samples in found.items()], found[worst], text)


def _means(results: SweepResults) -> str:
    """The scores over all plans, with the best fixed policy of each plan."""
    plans = plans_of(results)
    found: dict[str, BySeed] = {
        "best fixed of each plan": over_plans([scores(results, plan, best_fixed(results, plan)) for plan in plans])
    }
    for policy in ("learned", "table", "roulette"):
        found[policy] = over_plans([scores(results, plan, policy) for plan in plans])
    return "scores: " + ", ".join(f"{name} {shown(list(values.values()))}" for name, values in found.items())


def _c1(results: SweepResults) -> Finding:
    return _overall(results, _to_best, "at least 0.95 of the best fixed", 1.0 - WITHIN)


def _c2(results: SweepResults) -> Finding:
    return _on_each(results, _to_best, 1.0 - WITHIN)


def _c3(results: SweepResults) -> Finding:
    return _overall(results, _beyond("roulette"), "above the roulette wheel", 0.0)


def _c4(results: SweepResults) -> Finding:
    return _on_each(results, _beyond("roulette"), 0.0)


def _c5(results: SweepResults) -> Finding:
    return _overall(results, _beyond("table"), "above the table", 0.0)


_CLAIMS: Sequence[tuple[str, Callable[[SweepResults], Finding]]] = (
    ("over all plans, learned is as good as the best fixed policy of each plan, within 5 %", _c1),
    ("so it is on every plan", _c2),
    ("over all plans, learned is better than the roulette wheel", _c3),
    ("so it is on every plan", _c4),
    ("over all plans, learned is better than the table", _c5),
)
CLAIMS = tuple(
    PaperClaim(f"SELECTORS-C{number}", "Headgate: the aim of the learned selector", "scores", text, check)
    for number, (text, check) in enumerate(_CLAIMS, start=1)
)
