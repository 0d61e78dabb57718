"""Sources and tables over parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from headgate.connect.sources.base import stored_columns
from headgate.connect.sources.files import Reader
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.limits import Limit, make_limits
from headgate.connect.sources.parquet_files import ParquetReader, match_columns, read_footer
from headgate.connect.sources.stored import StoredSource, StoredTable
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream, Table


class Parquet(StoredSource):
    """The rows of a parquet file."""

    kind = "parquet"

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`."""
        super().check(stream, place, folder)
        columns = stored_columns(SourceContext(stream).schema)
        match_columns(read_footer(folder / self.path, f"{place}.path"), columns, f"{place}.path")

    def _reader(self, path: Path, columns: pa.Schema, context: SourceContext, limits: Sequence[Limit]) -> Reader:
        return ParquetReader(path, columns, f"{context.place}.path", limits)


class ParquetTable(StoredTable):
    """A table in a parquet file."""

    kind = "parquet"

    def check(self, table: Table, folder: Path) -> None:
        """See `TableKind`."""
        super().check(table, folder)
        place = f"tables.{table.name}.path"
        match_columns(read_footer(folder / self.path, place), arrow_schema(table.schema, stamps=False), place)

    def _reader(self, path: Path, schema: pa.Schema, table: Table) -> Reader:
        return ParquetReader(path, schema, f"tables.{table.name}.path", make_limits(table))
