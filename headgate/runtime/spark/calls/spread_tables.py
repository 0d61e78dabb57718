"""Stored tables for calls of several partitions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

log = logging.getLogger("headgate.spark")


class SpreadTables(Mapping[str, DataFrame]):
    """Tables for calls of several partitions, in Spark's cache from the first such call to `close`."""

    def __init__(self, session: SparkSession, data: Mapping[str, pa.Table]) -> None:
        self._session = session
        self._data = data
        self._cached: dict[str, DataFrame] = {}

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._cached:
            self._cached[name] = frame_of(self._session, self._data[name]).cache()
        return self._cached[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def close(self) -> None:
        """Let Spark forget them. A Spark that is gone has forgotten them."""
        for name, frame in self._cached.items():
            try:
                frame.unpersist()
            except Exception as error:
                log.debug("table %s could not be taken out of Spark's cache: %s", name, error)


def frame_of(session: SparkSession, table: pa.Table) -> DataFrame:
    frame: DataFrame = session.createDataFrame(table, schema=from_arrow_schema(table.schema))
    return frame
