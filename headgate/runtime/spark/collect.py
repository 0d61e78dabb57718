"""Run a query and have its rows as an Arrow table."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame


def collect(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """Run a query; its rows as an Arrow table."""
    run: Any = frame  # the Arrow collector is not among DataFrame's declared names
    return pa.Table.from_batches(run._collect_as_arrow(), schema=schema)
