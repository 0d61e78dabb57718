"""The schedulers compared on the multi-core workloads, and building blocks for claims about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headgate_lab.studies.aqsios.criteria import greater, in_ms, shown, with_inversion, without_inversion
from headgate_lab.studies.aqsios.quantities import MS, Runs
from headgate_lab.studies.aqsios.readings import ClaimEntry, numbered
from headgate_lab.studies.claims import BySeed, Criterion, PaperClaim, SweepResults

WORKLOADS = ("5G_4", "3D_6", "3E_6", "3F_6", "5I")
COMPARED = ("MBD", "MRR", "MORR", "ML", "MOL", "MPRR", "PCT", "PCT_S")
OTHER_MPRR = "MPRR largest"  # with a share of the largest priority
# Costs and query mixes were chosen with these in view, so reproducing them proves nothing.
FITTED = frozenset({"CMP-7", "CMP-8", "CMP-9", "CMP-11", "CMP-14", "CMP-15", "CMP-19", "CMP-22", "CMP-24"})

RunsByScheduler = Mapping[str, Runs]


def claims_from(first: int, entries: Sequence[ClaimEntry]) -> tuple[PaperClaim, ...]:
    """Claims of the comparison, numbered from `first`."""
    return numbered("CMP", "section 6.3.1", entries, first=first, fitted=FITTED)


def on(workload: str, results: SweepResults) -> RunsByScheduler:
    """The runs of all schedulers on a workload."""
    return {name: Runs(results, workload, name) for name in (*COMPARED, OTHER_MPRR)}


def some(runs: RunsByScheduler, *names: str) -> list[Runs]:
    """The runs of these schedulers."""
    return [runs[name] for name in names]


def of_all(runs: RunsByScheduler, quantity: Callable[[Runs], BySeed]) -> dict[str, BySeed]:
    """A quantity of every compared scheduler."""
    return {name: quantity(runs[name]) for name in COMPARED}


def every(
    criterion: Callable[[str, BySeed, float], Criterion], runs: Runs, bound: float, measure: str = "mean"
) -> list[Criterion]:
    """One criterion per class: a bound in milliseconds."""
    return [criterion(f"{runs.name} {measure} of class {k}", of, bound * MS) for k, of in runs.each(measure).items()]


def slower_in(slow: Runs, fast: Runs, classes: Iterable[int] | None = None) -> list[Criterion]:
    """One criterion per class: one scheduler is slower than another."""
    return [
        greater(f"{slow.name} slower than {fast.name} in class {k}", slow.of(f"mean_{k}"), fast.of(f"mean_{k}"))
        for k in classes or slow.classes
    ]


def both_shares(runs: RunsByScheduler) -> str:
    """The text on MPRR under both readings of its share."""
    texts = (f"{in_ms(r)}, starvation {shown(r.starvation())}" for r in some(runs, "MPRR", OTHER_MPRR))
    return f"MPRR by share of the sum and of the largest priority: {'; '.join(texts)}"


def split_by_inversion(
    runs: RunsByScheduler, without: Sequence[str], inverted: Sequence[str], levels: Sequence[str] = ("mean",)
) -> list[Criterion]:
    """These schedulers have no inversion at any level, and those have one at some level."""
    return [
        *(without_inversion(r, levels) for r in some(runs, *without)),
        *(with_inversion(r, levels) for r in some(runs, *inverted)),
    ]


def all_but(*names: str) -> list[str]:
    """The names of the other compared schedulers."""
    return [name for name in COMPARED if name not in names]
