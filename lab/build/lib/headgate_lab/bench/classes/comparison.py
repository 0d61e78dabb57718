"""headgate bench classes: queries of unequal importance under Headgate and under stock Structured Streaming.

Three classes of priority 6, 3 and 1 (`workload.py`) run in turn on the same machine, with the same tuples and rates,
under:

* stock fifo: Structured Streaming with the default scheduler, tuned (`stock.py`);
* stock fair: the same with FAIR pools, used in whichever way gives class 1 the lowest mean;
* Headgate with mbd, abd and mrr.

The workloads are heavy (50 queries at as high a rate as stock has memory for during a minute, but at most 0.8 of the
highest that Headgate can sustain), medium (20 queries at 1,500 tuples/s each), easy (5 queries at a rate that stock
sustains easily) and scaling (5 to 100 queries). At the limit, 0.8 of the highest rate, Headgate runs alone. Each side
has a JVM of its own that stays warm; a run begins when every query has run some batches, and its first seconds do not
count.
Latency is from a tuple's arrival until its result is handed to the sink; for windows, from the arrival of the newest
tuple in the result. Input that was not completed counts with its age at the end. A run during which other tenants of
the host took much of the machine is repeated, whichever side it is.
"""

from __future__ import annotations

import logging
import math
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from operator import itemgetter
from typing import Any

import psutil
import pyspark

from headgate_lab.bench.classes.measured import Measured, summary
from headgate_lab.bench.classes.side_process import SideProcess
from headgate_lab.bench.classes.stock import VARIANTS
from headgate_lab.bench.classes.stolen import stolen_time
from headgate_lab.bench.classes.workload import MASTER, PRIORITIES, Workload
from headgate_lab.bench.parts import part

log = logging.getLogger("headgate_lab.bench")

HEAVY_QUERIES, LOAD = 50, 0.8
MOST_TUPLES = 70_000_000  # of a heavy run: what stock has not processed waits in its 8 GB
LIMIT_S = 16.0  # how long Headgate runs at the limit
MBD: dict[str, Any] = {"name": "mbd", "weights": "equal", "variant": "staggered"}
POLICIES: dict[str, dict[str, Any]] = {"mbd": MBD, "abd": {"name": "abd"}, "mrr": {"name": "mrr"}}
# Variants that show, at the limit, what shared units, the round, equal weights and counting fixed costs contribute.
OTHER_WAYS: dict[str, dict[str, Any]] = {
    "mbd, as few units as can be": {**MBD, "together": HEAVY_QUERIES},
    "mbd, six queries a unit": {**MBD, "together": 6},
    "mbd, three queries a unit": {**MBD, "together": 3},
    "mbd, the round of the source": {**MBD, "variant": "disjoint"},
    "mbd, slots by cost": {**MBD, "weights": "cost"},
    "mbd, slots by cost, fixed costs ignored": {**MBD, "weights": "cost", "fixed_costs": "ignored"},
    "mrr, three queries a unit": {"name": "mrr", "together": 3},
}
FIFO, FAIR = "stock fifo", "stock fair"
WEIGHTS = f"{FAIR}, weights"
MEDIUM = Workload("medium", queries=20, rate=1500.0, seconds=0.0)
EASY = Workload("easy", queries=5, rate=500.0, seconds=0.0)
SIZES = {"heavy": HEAVY_QUERIES, "medium": MEDIUM.queries, "easy": EASY.queries}
SCALES, SCALING_RATE = (5, 20, 50, 100), 300.0
LINGERS_S = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
SPOILED, TRIES = 0.05, 3  # the share of the machine that others may take during a run, and the most attempts at it
FIRST_RATE, FINER = 2000.0, 1.1  # the search for the highest rate: where it begins, and the ratio at which it stops


@dataclass(frozen=True)
class ClassesBenchSize:
    """How long and how often things are measured."""

    seconds: float
    heavy_s: float  # longer, so that the seconds of input in progress at the end weigh little
    rounds: int
    hold_s: float
    scales: Sequence[int]


FULL = ClassesBenchSize(seconds=40.0, heavy_s=60.0, rounds=2, hold_s=20.0, scales=SCALES)
QUICK = ClassesBenchSize(seconds=20.0, heavy_s=20.0, rounds=1, hold_s=10.0, scales=SCALES[:2])
SMALLEST = ClassesBenchSize(seconds=6.0, heavy_s=6.0, rounds=1, hold_s=2.0, scales=SCALES[:1])


class BothSides:
    """Sends each run to one of the two Sparks, and logs it at once, because a bench of an hour may fail late."""

    def __init__(self, stock: SideProcess, ours: SideProcess) -> None:
        self.stock, self.ours = stock, ours

    def run(self, workload: Workload, name: str, setting: Any = None, tries: int = TRIES) -> Measured:
        """Run a workload, repeatedly if other tenants took too much of the machine; the least disturbed run counts."""
        log.warning("%s: %d queries at %.0f tuples/s, %s", workload.name, workload.queries, workload.rate, name)
        side = self.stock if name.startswith((FIFO, FAIR)) else self.ours
        tried: list[tuple[float, Measured]] = []
        while not tried or (len(tried) < tries and tried[-1][0] > SPOILED):
            with stolen_time() as stolen, _named(f"{workload.name}, {name}"):
                measured = side.run(workload, setting)
            tried.append((stolen.share, replace(measured, details={**measured.details, "stolen": stolen.share})))
            log.warning("  %s; %.1f%% of the machine stolen", _in_short(summary(measured)), 100 * stolen.share)
        return min(tried, key=itemgetter(0))[1]


def run(quick: bool = False, sizes: ClassesBenchSize | None = None) -> dict[str, Any]:
    """Measure. Headline figures are at the top level, all sides of each workload below."""
    effort = sizes or (QUICK if quick else FULL)
    with ExitStack() as stack:
        sides = BothSides(stack.enter_context(SideProcess("stock")), stack.enter_context(SideProcess("headgate")))
        highest = part("highest_rate", lambda: highest_rate(sides.ours, HEAVY_QUERIES, effort.hold_s, MBD))
        heavy = heavy_workload(LOAD * highest, effort.heavy_s)
        warm_up(sides, replace(heavy, seconds=min(heavy.seconds, effort.seconds)))
        with _named("source of stock"):
            source = part("source_of_stock", lambda: sides.stock.source(replace(MEDIUM, seconds=10.0)))
        found = {
            workload.name: part(workload.name, partial(compare, sides, workload, effort.rounds))
            for workload in (*(replace(one, seconds=effort.seconds) for one in (MEDIUM, EASY)), heavy)
        }
        with _named("changed priorities"):
            changed = replace(MEDIUM, name="priorities", seconds=effort.seconds)
            followed = part("changed_priorities", lambda: sides.ours.follow(changed, MBD))
        limit = Workload("limit", HEAVY_QUERIES, LOAD * highest, min(LIMIT_S, effort.seconds))
        ways = {
            name: part(f"limit, {name}", partial(_summed_up, sides, limit, name, policy))
            for name, policy in {**POLICIES, **OTHER_WAYS}.items()
        }
        lingers = {
            one.name: part(f"lingers, {one.name}", partial(_lingers, sides, replace(one, seconds=effort.seconds / 2)))
            for one in (MEDIUM, EASY)
        }
        scaling = {
            str(n): part(f"scaling, {n}", partial(_scaled, sides, n, effort.seconds / 2, found)) for n in effort.scales
        }
        carried = part(
            "highest_rate_by_way", lambda: {"mbd": highest, **capacities(sides.ours, effort.hold_s, highest)}
        )
    return {
        **headline(found),
        "highest_rate": highest,
        "class1_speedup_by_way": {name: speedups(contestants) for name, contestants in found.items()},
        "best_of_stock": {name: best_ways(contestants) for name, contestants in found.items()},
        "workloads": found,
        "limit": ways,
        "highest_rate_by_way": carried,
        "lingers": lingers,
        "scaling": scaling,
        "changed_priorities": followed,
        "source_of_stock": source,
        "settings": {
            "date": date.today().isoformat(),
            "machine": f"{psutil.cpu_count()} cores of {platform.machine()}, {psutil.virtual_memory().total >> 30} GiB",
            "python": platform.python_version(),
            "spark": pyspark.__version__,
            "master": MASTER,
            "priorities": PRIORITIES,
            "queries": SIZES,
            "rates": {
                "heavy": heavy.rate,
                "limit": limit.rate,
                "medium": MEDIUM.rate,
                "easy": EASY.rate,
                "scaling": SCALING_RATE,
            },
            "seconds": {"heavy": heavy.seconds, "limit": limit.seconds, "others": effort.seconds},
            "rounds": effort.rounds,
        },
    }


def heavy_workload(rate: float, seconds: float) -> Workload:
    """The heavy workload: at a lower rate where stock could not hold what it has not processed when the run ends."""
    return Workload("heavy", HEAVY_QUERIES, min(rate, MOST_TUPLES / (HEAVY_QUERIES * seconds)), seconds)


def _summed_up(sides: BothSides, workload: Workload, name: str, policy: Any) -> dict[str, Any]:
    return summary(sides.run(workload, name, policy))


def headline(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, float | None]:
    """The figures that are promised: ratios of stock with FAIR pools and mbd, or of whichever stock completed most."""
    heavy, easy = found["heavy"], found["easy"]
    mbd, cpu = heavy["mbd"], easy["mbd"]["cpu_us_per_tuple"]
    most, cheapest = stock_ways(heavy)[best_ways(heavy)["completed"]], stock_ways(easy)[best_ways(easy)["cpu"]]
    return {
        **{f"class1_speedup_{name}": _ratio(_class1(one[FAIR]), _class1(one["mbd"])) for name, one in found.items()},
        **{f"class1_speedup_weights_{name}": speedups(found[name])[WEIGHTS] for name in ("heavy", "medium")},
        "inversion_mbd": max(mbd["inversion"].values()),
        "completed_min_mbd": min(figures["completed"] for figures in mbd["classes"].values()),
        "completed_over_stock": _ratio(mbd["completed"], most["completed"]),
        "cpu_per_tuple_over_stock": _ratio(cpu, easy[FAIR]["cpu_us_per_tuple"]),
        "cpu_per_tuple_over_cheapest_stock": _ratio(cpu, cheapest["cpu_us_per_tuple"]),
    }


def stock_ways(contestants: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Figures of FIFO and of every way to use pools; for the way that was used, those of all its runs."""
    pools = contestants[FAIR]["pools"]
    tried = {f"{FAIR}, {name}": figures for name, figures in pools["tried"].items()}
    return {FIFO: contestants[FIFO], **tried, f"{FAIR}, {pools['used']}": contestants[FAIR]}


def best_ways(contestants: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Which way of stock has the lowest class 1 mean with pools, completes most, and takes the least CPU per tuple."""
    ways = stock_ways(contestants)
    return {
        "class1": f"{FAIR}, {contestants[FAIR]['pools']['used']}",
        "completed": max(ways, key=lambda name: ways[name]["completed"]),
        "cpu": min(ways, key=lambda name: _or_never(ways[name]["cpu_us_per_tuple"])),
    }


def speedups(contestants: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """The mean latency of class 1 under each way of stock, over that under mbd."""
    mbd = _class1(contestants["mbd"])
    return {name: _ratio(_class1(figures), mbd) for name, figures in stock_ways(contestants).items()}


def warm_up(sides: BothSides, heavy: Workload) -> None:
    """Let the JVM of stock compile its code, as Headgate's did during the search for the highest rate.

    Under the heavy workload batches are large and few, so the code that runs once per batch warms up under medium.
    """
    medium = replace(MEDIUM, seconds=heavy.seconds)
    sides.run(heavy, f"{FIFO}, not counted", tries=1)
    sides.run(heavy, f"{FAIR}, not counted", "weights", tries=1)
    for name in ("windows", "paced"):
        sides.run(medium, f"{FAIR}, not counted", name, tries=1)


def compare(sides: BothSides, workload: Workload, rounds: int) -> dict[str, dict[str, Any]]:
    """Run all contestants in turn, round by round, after trying every way to use FAIR pools."""
    runs: dict[str, list[Measured]] = {}
    tried = {name: sides.run(workload, f"{FAIR}, {name}", name) for name in VARIANTS}
    best = best_of({name: summary(measured) for name, measured in tried.items()})
    for number in range(rounds):
        runs.setdefault(FIFO, []).append(sides.run(workload, FIFO))
        again = tried[best] if number == 0 else sides.run(workload, FAIR, best)
        runs.setdefault(FAIR, []).append(again)
        for name, policy in POLICIES.items():
            runs.setdefault(name, []).append(sides.run(workload, name, policy))
    found = {name: summary(*measured) for name, measured in runs.items()}
    found[FAIR]["pools"] = {"used": best, "tried": {name: summary(measured) for name, measured in tried.items()}}
    return found


def best_of(tried: Mapping[str, Mapping[str, Any]]) -> str:
    """The way with the lowest mean latency of class 1."""
    return min(tried, key=lambda name: _or_never(_class1(tried[name])))


def _lingers(sides: BothSides, workload: Workload) -> dict[str, dict[str, Any]]:
    """What lingering costs in latency and saves in CPU, by milliseconds; Headgate's own default is 5 ms."""
    return {
        f"{linger_s * 1e3:g}": summary(
            sides.run(replace(workload, linger_s=linger_s), f"mbd, linger {linger_s} s", MBD)
        )
        for linger_s in LINGERS_S
    }


def capacities(side: SideProcess, seconds: float, first: float) -> dict[str, float]:
    """The highest rate with more queries per unit."""
    return {
        name: highest_rate(side, HEAVY_QUERIES, seconds, OTHER_WAYS[name], first)
        for name in ("mbd, as few units as can be", "mbd, three queries a unit")
    }


def highest_rate(
    side: SideProcess, queries: int, seconds: float, policy: Mapping[str, Any], first: float = FIRST_RATE
) -> float:
    """The tuples per second and query that Headgate can just sustain: doubled until it cannot, then bisected.

    A rate that fails is tried once more, because any disturbance can make it fail.
    """

    def holds(rate: float) -> bool:
        return tried(rate) or tried(rate)

    def tried(rate: float) -> bool:
        trial = side.try_rate(Workload("rate", queries, rate, seconds), policy)
        log.warning(
            "%d queries at %.0f tuples/s: %.2f s behind, then %.2f: %s",
            queries, rate, *trial, "holds" if trial.sustained else "does not hold",
        )  # fmt: skip
        return trial.sustained

    low, high = 0.0, first
    while holds(high):
        low, high = high, 2 * high
    while low == 0.0:
        low, high = (high / 2, high) if holds(high / 2) else (0.0, high / 2)
    while high / low > FINER:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _scaled(sides: BothSides, queries: int, seconds: float, found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Stock and mbd on this many queries. Stock uses pools in the way that was best with a similar number of them."""
    workload = Workload(f"scaling {queries}", queries, SCALING_RATE, seconds)
    pools = found[nearest(queries)][FAIR]["pools"]["used"]
    return {
        FAIR: summary(sides.run(workload, FAIR, pools)),
        "mbd": summary(sides.run(workload, "mbd", MBD)),
    }


def nearest(queries: int) -> str:
    """The workload whose number of queries is closest."""
    return min(SIZES, key=lambda name: abs(SIZES[name] - queries))


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Add to a failure which of the many runs it happened in."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(f"{what}: {error}") from error


def _in_short(found: Mapping[str, Any]) -> str:
    classes = found["classes"].items()
    return "; ".join(f"{name} {_in_ms(one['mean'])}, {one['completed'] or 0:.1%} completed" for name, one in classes)


def _in_ms(mean: float | None) -> str:
    return "no result" if mean is None else f"{mean * 1e3:.0f} ms"


def _class1(found: Mapping[str, Any]) -> float | None:
    mean: float | None = found["classes"]["class1"]["mean"]
    return mean


def _or_never(mean: float | None) -> float:
    return math.inf if mean is None else mean


def _ratio(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None
