"""Batches for benches that deliver to a runtime themselves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headgate.plan.arrow_types import arrow_schema
from headgate.sql.schema import Schema


def key_batch(schema: Schema, keys: int, rows: int, seed: int | tuple[int, ...]) -> pa.Table:
    """Rows of a stream with one INT column below `keys`, with stamps."""
    drawn = np.random.default_rng(seed).integers(0, keys, rows, dtype=np.int32)
    stamps = pa.array(np.arange(rows, dtype=np.int64))
    columns = arrow_schema(schema)
    return pa.Table.from_arrays([pa.array(drawn), *[stamps] * (len(columns) - 1)], schema=columns)
