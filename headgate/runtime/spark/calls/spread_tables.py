"""Stored tables for calls with several partitions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

log = logging.getLogger("headgate.spark")


class SpreadTables(Mapping[str, DataFrame]):
    """Tables for calls with several partitions, kept in Spark's cache from their first use until `close`."""

    def __init__(self, session: SparkSession, data: Mapping[str, pa.Table]) -> None:
        self._session = session
        self._data = dict(data)
        self._cached: dict[str, DataFrame] = {}

    def add(self, data: Mapping[str, pa.Table]) -> None:
        """More tables, or later versions of some that nothing has read yet."""
        self._data = {**data, **self._data}

    def replace(self, name: str, table: pa.Table) -> None:
        """Another version of a table, for calls that begin from now on."""
        if name in self._data:
            self._data[name] = table
            self._release(name)

    def rows(self, name: str) -> pa.Table | None:
        """The rows of a table as they were read; None: no query has read it."""
        return self._data.get(name)

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._cached:
            self._cached[name] = frame_of(self._session, self._data[name]).cache()
        return self._cached[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def forget(self, name: str) -> None:
        """A table was removed, if it is one of these: another may take its name."""
        self._data.pop(name, None)
        self._release(name)

    def close(self) -> None:
        """Take the tables out of Spark's cache. Errors are ignored: if Spark has ended, its cache is gone too."""
        for name in list(self._cached):
            self._release(name)

    def _release(self, name: str) -> None:
        frame = self._cached.pop(name, None)
        try:
            if frame is not None:
                frame.unpersist()
        except Exception as error:
            log.debug("table %s could not be taken out of Spark's cache: %s", name, error)


def frame_of(session: SparkSession, table: pa.Table) -> DataFrame:
    """An Arrow table as a DataFrame."""
    frame: DataFrame = session.createDataFrame(table, schema=from_arrow_schema(table.schema))
    return frame
