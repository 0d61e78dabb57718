"""headgate bench many: hundreds of queries in one application: the time to start them, memory, and latencies by class.

The queries are those of `bench classes`, in three classes, and all of them together always get as many tuples per
second: only their number differs. Each number has a Spark of its own, so that memory is what this number needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import psutil
import pyspark

from headgate_lab.bench.classes.comparison import MBD
from headgate_lab.bench.classes.measured import summary
from headgate_lab.bench.classes.side_process import SideProcess
from headgate_lab.bench.classes.workload import PRIORITIES, Workload
from headgate_lab.bench.parts import part

TUPLES_PER_SECOND = 30_000.0  # of all queries together


@dataclass(frozen=True)
class ManyBenchSize:
    """How many queries, and how long they run."""

    queries: Sequence[int]
    seconds: float


FULL = ManyBenchSize(queries=(100, 300, 1000), seconds=40.0)
QUICK = ManyBenchSize(queries=(100, 300), seconds=20.0)
SMALLEST = ManyBenchSize(queries=(3, 6), seconds=6.0)


def run(quick: bool = False, sizes: ManyBenchSize | None = None) -> dict[str, Any]:
    """Measure. At the top level are figures by number of queries; `queries` has all that was measured."""
    effort = sizes or (QUICK if quick else FULL)
    found = {str(n): part(f"{n} queries", partial(_measured, n, effort.seconds)) for n in effort.queries}
    return {
        "start_seconds": {n: one["details"]["checked_s"] + one["details"]["rehearsed_s"] for n, one in found.items()},
        "memory_mb": {n: sum(one["details"]["memory_mb"].values()) for n, one in found.items()},
        "mean_seconds": {n: {name: one["classes"][name]["mean"] for name in PRIORITIES} for n, one in found.items()},
        "completed": {n: one["completed"] for n, one in found.items()},
        "queries": found,
        "settings": {
            "tuples_per_second": TUPLES_PER_SECOND,
            "seconds": effort.seconds,
            "policy": MBD,
            "cores": psutil.cpu_count(),
            "spark": pyspark.__version__,
        },
    }


def _measured(queries: int, seconds: float) -> dict[str, Any]:
    workload = Workload(f"{queries} queries", queries, TUPLES_PER_SECOND / queries, seconds)
    with SideProcess("headgate") as side:
        return summary(side.run(workload, MBD))
