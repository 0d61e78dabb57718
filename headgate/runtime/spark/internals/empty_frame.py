"""A DataFrame without rows, for asking Spark's analyser what becomes of a schema."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def empty_frame(session: SparkSession, schema: StructType) -> DataFrame:
    """PySpark's own way makes an RDD and writes a file; with hundreds of operators that takes long."""
    spark: Any = session._jsparkSession
    rows = session._jvm.java.util.ArrayList()  # type: ignore[union-attr]
    return DataFrame(spark.createDataFrame(rows, spark.parseDataType(schema.json())), session)
