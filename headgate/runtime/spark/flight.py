"""A call in flight, and what is read off its tables."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Thread
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.model import Edge, Plan
from headgate.scheduling.board import Claim
from headgate.scheduling.progress import Bounds
from headgate.scheduling.queue import BatchQueue
from headgate.sql.schema import ARRIVAL


class Call(NamedTuple):
    """What a slot knows of the call that it makes."""

    claim: Claim
    plan: Plan
    inputs: Mapping[Edge, pa.Table]
    bounds: Mapping[str, Bounds]  # the instants that its operators with state evaluate
    now_us: int  # the arrival of what has no cause of its own


def newest(inputs: Mapping[Edge, pa.Table], now: float) -> int:
    """The latest arrival that a call takes in; without input, now."""
    return max((pc.max(table.column(ARRIVAL)).as_py() for table in inputs.values()), default=round(now * 1e6))


def rows_of(tables: Mapping[Edge, pa.Table]) -> int:
    return sum(table.num_rows for table in tables.values())


def unfinished(queues: Mapping[Edge, BatchQueue], calls: Iterable[Call]) -> Counter[str]:
    """Operator -> tuples in its queues or in the hand of a call that starts with it."""
    held = Counter[str]()
    for edge, queue in queues.items():
        held[edge.operator] += queue.count
    for call in calls:
        for edge, table in call.inputs.items():
            held[edge.operator] += table.num_rows
    return held


def latencies(table: pa.Table, now: float) -> np.ndarray:
    """Seconds from arrival to now of each row."""
    return now - table.column(ARRIVAL).to_numpy() / 1e6


def join_all(threads: Iterable[Thread], seconds: float) -> bool:
    """Wait for threads that were started, so many seconds at most; have all ended?"""
    until = time.monotonic() + seconds
    started = [thread for thread in threads if thread.ident is not None]
    for thread in started:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in started)
