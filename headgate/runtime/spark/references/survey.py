"""A survey of a reference: the executors see whether all of its tuples are there, and look at their times, so that it
is known whether any is late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headgate.plan.model import Stream
from headgate.plan.windows import Clock
from headgate.runtime.spark.references.frames import stamped_frame
from headgate.scheduling.reference import Reference, Span
from headgate.sql.schema import SEQUENCE, TIME

_SPAN = "sequence bigint, rows bigint, nulls bigint, earliest bigint, latest bigint, disorder bigint"


def surveyed(session: SparkSession, reference: Reference, stream: Stream) -> Reference:
    """The reference with its spans. Raises what Spark raises if the executors cannot read it.

    A span is a run of tuples that one task has read in order; without event time, all tuples are one. Only the spans
    pass the driver.
    """
    frame = stamped_frame(session, reference, stream).select(SEQUENCE, TIME)
    if stream.clock is Clock.ARRIVAL:
        rows = frame.count()
        spans = [Span(reference.sequence, rows, 0, reference.arrival_us, reference.arrival_us, 0)]
    else:
        found = frame.mapInArrow(_find_spans(), _SPAN).collect()
        spans = sorted((Span(*row) for row in found), key=lambda span: span.sequence)
    return replace(reference, spans=tuple(spans))


def _find_spans() -> Any:
    """The function that the executors run over the tuples of a task. A nested one is pickled by value, so Headgate
    need not be installed there."""

    def find_spans(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        names = ["sequence", "rows", "nulls", "earliest", "latest", "disorder"]
        found: list[list[Any]] = []
        following = None  # the number that would go on with the last span
        for batch in batches:
            numbers = batch.column(0).to_numpy()
            valid = batch.column(1).is_valid().to_numpy(zero_copy_only=False)
            times = batch.column(1).fill_null(0).to_numpy()
            cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
            for first, last in zip([0, *cuts.tolist()], [*cuts.tolist(), len(numbers)], strict=True):
                if first == last:
                    continue
                if following != numbers[first]:
                    found.append([int(numbers[first]), 0, 0, None, None, 0])
                span, here = found[-1], times[first:last][valid[first:last]]
                following = int(numbers[last - 1]) + 1
                span[1] += last - first
                span[2] += last - first - len(here)
                if not len(here):
                    continue
                before = here[0] if span[4] is None else span[4]
                reached = np.maximum(np.maximum.accumulate(here), before)
                span[5] = max(span[5], int((reached - here).max()))
                span[3] = int(here.min()) if span[3] is None else min(span[3], int(here.min()))
                span[4] = int(reached[-1])
        columns = [pa.array([span[at] for span in found], pa.int64()) for at in range(len(names))]
        yield pa.RecordBatch.from_arrays(columns, names=names)

    return find_spans
