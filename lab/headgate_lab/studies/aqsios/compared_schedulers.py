"""The schedulers that are compared on the multi-core workloads, and the building blocks of claims about them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from headgate_lab.studies.aqsios.criteria import free, greater, in_ms, inverts, shown
from headgate_lab.studies.aqsios.quantities import MS, Runs
from headgate_lab.studies.aqsios.readings import ClaimEntry, numbered
from headgate_lab.studies.claims import BySeed, Criterion, PaperClaim, SweepResults

WORKLOADS = ("5G_4", "3D_6", "3E_6", "3F_6", "5I")
COMPARED = ("MBD", "MRR", "MORR", "ML", "MOL", "MPRR", "PCT", "PCT_S")
OTHER_MPRR = "MPRR largest"  # with a share of the largest priority
# Costs and mixes of queries were chosen with these in view: that they hold proves nothing.
FITTED = frozenset({"CMP-7", "CMP-8", "CMP-9", "CMP-11", "CMP-14", "CMP-15", "CMP-19", "CMP-22", "CMP-24"})

RunsByScheduler = Mapping[str, Runs]


def claims_from(first: int, told: Sequence[ClaimEntry]) -> tuple[PaperClaim, ...]:
    """The claims of the comparison from a number on."""
    return numbered("CMP", "section 6.3.1", told, first=first, fitted=FITTED)


def on(workload: str, results: SweepResults) -> RunsByScheduler:
    """All schedulers on a workload."""
    return {name: Runs(results, workload, name) for name in (*COMPARED, OTHER_MPRR)}


def some(runs: RunsByScheduler, *names: str) -> list[Runs]:
    """A few of them."""
    return [runs[name] for name in names]


def of_all(runs: RunsByScheduler, quantity: Callable[[Runs], BySeed]) -> dict[str, BySeed]:
    """A quantity of all that are compared."""
    return {name: quantity(runs[name]) for name in COMPARED}


def every(
    criterion: Callable[[str, BySeed, float], Criterion], runs: Runs, bound: float, measure: str = "mean"
) -> list[Criterion]:
    """A bound in milliseconds that every class keeps."""
    return [criterion(f"{runs.name} {measure} of class {k}", of, bound * MS) for k, of in runs.each(measure).items()]


def slower_in(slow: Runs, fast: Runs, classes: Iterable[int] | None = None) -> list[Criterion]:
    """Class by class."""
    return [
        greater(f"{slow.name} slower than {fast.name} in class {k}", slow.of(f"mean_{k}"), fast.of(f"mean_{k}"))
        for k in classes or slow.classes
    ]


def both_shares(runs: RunsByScheduler) -> str:
    """MPRR in both readings."""
    texts = (f"{in_ms(r)}, starvation {shown(r.starvation())}" for r in some(runs, "MPRR", OTHER_MPRR))
    return f"MPRR by share of the sum and of the largest priority: {'; '.join(texts)}"


def split_by_inversion(
    runs: RunsByScheduler, without: Sequence[str], inverted: Sequence[str], levels: Sequence[str] = ("mean",)
) -> list[Criterion]:
    """Those without inversion at all of these levels, and those with inversion at one."""
    return [
        *(free(r, levels) for r in some(runs, *without)),
        *(inverts(r, levels) for r in some(runs, *inverted)),
    ]


def all_but(*names: str) -> list[str]:
    """The names of the others."""
    return [name for name in COMPARED if name not in names]
