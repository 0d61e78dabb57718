"""User functions for the tests, shipped to Spark's workers by value."""

from __future__ import annotations

import time

import pyarrow as pa
import pyarrow.compute as pc


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([batch["k"], pc.multiply(batch["v"], 2.0)], names=["k", "w"])


def slow_if_negative(batch: pa.RecordBatch) -> pa.RecordBatch:
    if batch.num_rows and (pc.min(batch["k"]).as_py() or 0) < 0:
        time.sleep(30)
    return pa.RecordBatch.from_arrays([batch["k"]], names=["k"])


def only_even(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[int]]:
    rows = [i for i, k in enumerate(batch["k"].to_pylist()) if k is not None and k % 2 == 0]
    return batch.take(pa.array(rows, pa.int64())), rows


def loses_rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, max(0, batch.num_rows - 1))
