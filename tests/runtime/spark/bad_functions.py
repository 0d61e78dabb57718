"""A user function that fails in a different way for each value of v."""

from __future__ import annotations

import os
import sys
import time

import pyarrow as pa


def bad(batch: pa.RecordBatch) -> pa.RecordBatch:
    values = batch.column("v").to_pylist()
    for v in values:
        if v == 1:
            raise ValueError("unlucky")
        if v == 2:
            sys.exit(3)
        if v == 3:
            os._exit(4)
        if v == 4:
            time.sleep(1000)
    kind = pa.string() if 5 in values else pa.int64()
    return pa.RecordBatch.from_arrays([pa.array([v * 2 for v in values]).cast(kind)], names=["w"])
