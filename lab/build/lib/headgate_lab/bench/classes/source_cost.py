"""The cost of stock Spark's source alone: a query that reads a stream, parses the records and discards them."""

from __future__ import annotations

import numpy as np

from headgate_lab.bench.classes.stock import QueryStarter, measure, rehearse, scratch, serving, stock_session, stopping
from headgate_lab.bench.classes.workload import Workload, tuples


def source_cost(rate: float, seconds: float) -> dict[str, float]:
    """Milliseconds per batch, and CPU per batch and per tuple, at a rate.

    Batches follow each other without a pause, so the CPU per tuple is mostly that of batches: it falls as the rate
    rises.
    """
    workload = Workload("source", 1, rate, seconds)
    (query,) = workload.members()
    spark = stock_session("FIFO")
    with serving(tuples(workload)) as pusher, scratch() as folder, stopping(spark) as running:
        place = QueryStarter(spark, pusher.ports, folder)
        (stream,) = place.read(query)
        running.append(place.start(query, stream, "append"))
        rehearse(pusher, running)
        ran = measure(spark, pusher, running, seconds)
    batches = [batch for batch in ran.batches[query.name] if batch.began >= 0 and batch.handed <= seconds]
    last = batches[-1].lines[query.streams[0]][1] if batches else 0
    consumed = pusher.lines[query.streams[0]].tuples_before(last)
    return {
        "batch_ms": float(np.mean([batch.seconds for batch in batches])) * 1e3 if batches else np.nan,
        "cpu_ms_per_batch": ran.cpu_s / len(batches) * 1e3 if batches else np.nan,
        "cpu_us_per_tuple": ran.cpu_s / consumed * 1e6 if consumed else np.nan,
        "tuples_per_batch": consumed / max(1, len(batches)),
        "rate": rate,
    }
