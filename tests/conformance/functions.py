"""User functions for the generated plans."""

from __future__ import annotations

import pyarrow as pa


def same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
