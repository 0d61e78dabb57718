"""An empty DataFrame, for asking Spark's analyzer which schema a query has."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType


def empty_frame(session: SparkSession, schema: StructType) -> DataFrame:
    """A DataFrame of this schema without rows.

    PySpark's own way makes an RDD and writes a file, which is slow for hundreds of operators.
    """
    spark: Any = session._jsparkSession
    rows = session._jvm.java.util.ArrayList()  # type: ignore[union-attr]
    return DataFrame(spark.createDataFrame(rows, spark.parseDataType(schema.json())), session)
