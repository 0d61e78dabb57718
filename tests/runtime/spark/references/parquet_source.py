"""A source of rows in parquet files that gives references, as small as a test needs it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.connect.sources.base import Source, stamp
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.connect.sources.parquet_references import ReadableFile, readable_file, refer_to_files
from headgate.scheduling.reference import Reference


class ParquetFiles(SourceKind):
    """All parquet files of a folder, in the order of their names."""

    kind = "test-parquet"
    path: str

    def open(self, context: SourceContext) -> Source:
        return ParquetFilesSource(sorted(Path(self.path).glob("*.parquet")), context)


class ParquetFilesSource:
    """Delivers rows through the driver, or referred to."""

    replayable = True
    rejected = 0

    def __init__(self, paths: Sequence[Path], context: SourceContext) -> None:
        self.schema = context.schema
        self._stream = context.stream.name
        self._files = [file for path in paths if (file := readable_file(path, context)) is not None]
        assert len(self._files) == len(paths)
        self._at = 0  # rows delivered
        self.polled = 0

    @property
    def exhausted(self) -> bool:
        return self._at >= sum(file.rows for file in self._files)

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        files, skip = self._left()
        if not files:
            return None
        table = pq.read_table(files[0].path).slice(skip, limit)
        found = stamp(table.columns, self.schema, np.full(table.num_rows, round(now * 1e6)), self._at)
        self._at += found.num_rows
        self.polled += found.num_rows
        return found

    def refer(self, now: float, least: int, most: int) -> Reference | None:
        files, skip = self._left()
        return refer_to_files(self._stream, files, skip, now, self._at, least, most)

    def skip(self, reference: Reference) -> None:
        assert reference.sequence == self._at
        self._at += reference.num_rows

    def next_arrival(self) -> float | None:
        return None if self.exhausted else 0.0

    def close(self) -> None:
        pass

    def _left(self) -> tuple[list[ReadableFile], int]:
        """The files that are not read to their end, and how many rows of the first one were."""
        skip = self._at
        for at, file in enumerate(self._files):
            if skip < file.rows:
                return self._files[at:], skip
            skip -= file.rows
        return [], 0
