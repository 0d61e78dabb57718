"""Quantities that the claims of the path and segment study compare."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import fmean

from headgate_lab.studies.claims import BySeed, SweepResults, estimate, paired
from headgate_lab.studies.paths.runs import BASE, HIGHEST, LOADS

NAMES = {"pcs": "pcs", "simplified-segment": "ss", "chain": "chain"}  # for texts


def of(
    results: SweepResults,
    measure: str,
    policy: str,
    load: float = HIGHEST,
    setting: str = BASE,
    memory_s: float = 0.0,
) -> dict[int, float]:
    """A measure by seed, without the seeds that lack it (because they had no burst, for example)."""
    found = results.by_seed(measure, policy=policy, load=load, setting=setting, memory_s=memory_s)
    return {seed: value for seed, value in found.items() if not math.isnan(value)}


def overall(results: SweepResults, measure: str, policy: str) -> dict[int, float]:
    """A measure averaged over the four phases, which are equally long."""
    phases = [of(results, measure, policy, load) for load in LOADS]
    common = set.intersection(*(set(phase) for phase in phases))
    return {seed: fmean(phase[seed] for phase in phases) for seed in sorted(common)}


def known(by_seed: BySeed) -> list[float]:
    """The values of all seeds; a single nan if there are none."""
    return list(by_seed.values()) or [math.nan]


def combined(quantity: Callable[..., float], *measures: BySeed) -> list[float]:
    """A quantity computed seed by seed; a single nan, hence no verdict, if no seed has all measures."""
    return paired(quantity, *measures) or [math.nan]


def ratio(first: BySeed, second: BySeed) -> list[float]:
    """`first` over `second`, seed by seed."""
    return combined(over, first, second)


def over(value: float, base: float) -> float:
    """A quotient; nan, hence no verdict, if the base is 0."""
    return value / base if base else math.nan


def gap(first: BySeed, second: BySeed) -> list[float]:
    """`first` minus `second`, seed by seed."""
    return combined(lambda a, b: a - b, first, second)


def shown(samples: Sequence[float]) -> str:
    """The mean over seeds, for the text of a finding."""
    return f"{estimate(samples).mean:.3g}"


def by_policy(results: SweepResults, measure: str, load: float = HIGHEST, setting: str = BASE) -> str:
    """A measure of the compared policies as text: `pcs 0.05, ss 0.2, chain 0.7`."""
    texts = [f"{name} {shown(known(of(results, measure, policy, load, setting)))}" for policy, name in NAMES.items()]
    return ", ".join(texts)


def by_load(results: SweepResults, measure: str) -> str:
    """The text of `by_policy` at every load."""
    return "; ".join(f"load {load:g}: {by_policy(results, measure, load)}" for load in LOADS)


def over_settings(results: SweepResults, measure: str, first: str, second: str) -> str:
    """The text on how a ratio of two policies depends on what the paper leaves open; empty if nothing was varied."""
    others = [setting for setting in results.values("setting") if setting != BASE]
    if not others:
        return ""
    means = {
        setting: shown(ratio(*(of(results, measure, policy, setting=setting) for policy in (first, second))))
        for setting in others
    }
    listed = ", ".join(f"{setting} {mean}" for setting, mean in means.items())
    return f"; {NAMES[first]}/{NAMES[second]} in other settings: {listed}"


def silent_by_setting(results: SweepResults) -> str:
    """The text on how often Chain is silent in bursts in other settings; empty if nothing was varied."""
    others = [setting for setting in results.values("setting") if setting != BASE]
    shares = [
        f"{setting} {shown(known(of(results, 'silent_in_bursts', 'chain', setting=setting)))}" for setting in others
    ]
    return f"; chain in other settings: {', '.join(shares)}" if shares else ""
