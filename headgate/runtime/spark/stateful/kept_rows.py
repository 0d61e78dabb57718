"""Rows of a log that stay with the executors: in their memory or on their disks, and never in the driver.

If an executor is lost, Spark reads again what it kept: the rows come from references.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.plan.table_bytes import row_bytes
from headgate.runtime.spark.calls.ways import PARTITIONED_BYTES
from headgate.runtime.spark.internals.collect import collect
from headgate.runtime.spark.stateful.base import LogSpec
from headgate.runtime.spark.stateful.frames import col, long
from headgate.runtime.spark.stateful.state import PERSISTED_ROWS, Chunk, LogName
from headgate.scheduling.progress import BEGINNING
from headgate.sql.schema import FOREVER

log = logging.getLogger("headgate.spark")

_GUESSED_BYTES = 64  # of a row with texts, whose size nobody knows without looking


class KeptChunk(Chunk):
    """A chunk whose rows Spark keeps. Only those of logs without events: their instants would have to be known."""

    def __init__(self, frame: DataFrame, spec: LogSpec, rows: int, last: int | None, half: int | None) -> None:
        schema = to_arrow_schema(spec.schema, timezone="UTC")
        super().__init__(schema.empty_table(), spec)
        self._schema = schema
        self._frame = frame
        self.rows = rows
        self.bytes = round(rows * (row_bytes(schema) or _GUESSED_BYTES))
        self.expiry, self.half_expiry = (
            (FOREVER, FOREVER) if spec.expiry is None else (_end(last, spec), _end(half, spec))
        )

    @property
    def table(self) -> pa.Table:
        """Its rows, brought to the driver: for calls over few rows in all, which run in one partition, and for
        checkpoints. If they are few, they stay there, too."""
        if self._table.num_rows == self.rows:
            return self._table
        assert self._frame is not None
        rows = collect(self._frame, self._schema)
        if rows.nbytes < PARTITIONED_BYTES:
            self._table = rows
        return rows

    def frame(self, session: SparkSession) -> DataFrame:
        """See `Chunk`."""
        assert self._frame is not None
        return self._frame

    def merge(self, chunks: Sequence[Chunk], spec: LogSpec, end: int) -> Chunk:
        """See `Chunk`. The rows of neighbors in the driver go to the executors, too."""
        assert self._frame is not None
        session = self._frame.sparkSession
        frame = reduce(DataFrame.union, [chunk.frame(session) for chunk in chunks])
        if spec.expiry is not None:
            frame = frame.where(col(spec.expiry) > long(end - spec.hold))
        return _kept(frame.persist(StorageLevel.MEMORY_AND_DISK), spec)


class Kept:
    """The rows that a call adds to logs, while it runs."""

    def __init__(self, frames: Mapping[LogName, DataFrame]) -> None:
        self._frames = {name: frame.persist(StorageLevel.MEMORY_AND_DISK) for name, frame in frames.items()}

    def chunks(self, specs: Mapping[LogName, LogSpec]) -> dict[LogName, Chunk]:
        """The rows as chunks; those of small logs go to the driver, where calls over few rows need them."""
        found: dict[LogName, Chunk] = {}
        for name, frame in self._frames.items():
            chunk = _kept(frame, specs[name])
            if chunk.rows < PERSISTED_ROWS:
                rows = chunk.table
                chunk.release()
                chunk = Chunk(rows, specs[name])
            found[name] = chunk
        return found

    def release(self) -> None:
        """The call has failed: drop what it has kept."""
        for frame in self._frames.values():
            try:
                frame.unpersist()
            except Exception as error:  # the failure of the call matters more
                log.debug("rows of a failed call could not be taken out of Spark's cache: %s", error)


@contextmanager
def keeping(frames: Mapping[LogName, DataFrame]) -> Iterator[Kept]:
    """Keep the rows of these frames from their first use on. Queries inside that contain them read what is kept."""
    kept = Kept(frames)
    try:
        yield kept
    except BaseException:
        kept.release()
        raise


def _kept(frame: DataFrame, spec: LogSpec) -> Chunk:
    """A chunk of rows that are kept; a job counts them and finds when they expire."""
    values = [F.count(F.lit(1))]
    if spec.expiry is not None:
        values += [F.max(col(spec.expiry)), F.percentile_approx(col(spec.expiry), 0.5)]
    row = frame.agg(*values).collect()[0]
    rows, last, half = (*row, None, None)[:3]
    return KeptChunk(frame, spec, rows, last, half)


def _end(at: int | None, spec: LogSpec) -> int:
    """The instant at which a row with this expiry is no longer needed; one without a time never is."""
    if spec.expiry is None:
        return FOREVER
    return BEGINNING if at is None else min(at, FOREVER - spec.hold) + spec.hold
