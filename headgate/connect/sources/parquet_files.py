"""Parquet files: what their footers say, and their rows, a row group at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headgate.connect.sources.changes import heading
from headgate.connect.sources.good_rows import good_rows
from headgate.connect.sources.limits import Limit
from headgate.connect.sources.placed_rows import PlacedRows
from headgate.connect.sources.rejects import Rejects
from headgate.connect.sources.rows import rows_to_table, spark_type
from headgate.errors import ApplicationError, known_names
from headgate.sql.schema import CHANGE

_ROWS = 65_536  # of a row group, decoded at a time
_WHOLE = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_REAL = ("FLOAT", "DOUBLE")


@dataclass(frozen=True)
class ParquetFooter:
    """What the end of a parquet file says about it; reading this reads none of its rows."""

    path: Path
    schema: pa.Schema
    rows: int
    group_rows: tuple[int, ...]  # of each row group


def read_footer(path: Path, place: str) -> ParquetFooter:
    """ApplicationError: this is no parquet file, or it cannot be read."""
    try:
        with pq.ParquetFile(path) as file:
            found = file.metadata
            groups = tuple(found.row_group(at).num_rows for at in range(found.num_row_groups))
            return ParquetFooter(path, file.schema_arrow, found.num_rows, groups)
    except (pa.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        raise ApplicationError(place, f"'{path}' cannot be read as parquet: {said}", "check the file") from error


def match_columns(footer: ParquetFooter, columns: pa.Schema, place: str) -> list[str]:
    """The file's names for the columns, which are found whatever their case and order; it may have others.

    ApplicationError: one is missing, or its values cannot fit.
    """
    found = {name.lower(): name for name in footer.schema.names}
    names = []
    for field in columns:
        name = found.get(heading(field).lower())
        if name is None:
            problem = f"'{footer.path}' has no column '{heading(field)}'"
            raise ApplicationError(place, problem, known_names("columns", footer.schema.names, heading(field)))
        given = footer.schema.field(name).type
        if not _may_fit(given, field):
            wanted = "STRING" if field.name == CHANGE else spark_type(field.type)
            problem = f"column '{name}' of '{footer.path}' is {_shown(given)}, not {wanted}"
            raise ApplicationError(place, problem, "change the schema, or write the file with this type")
        names.append(name)
    return names


def _may_fit(given: pa.DataType, field: pa.Field) -> bool:
    """Can all values or some? Those out of the range of their type are put aside, row by row."""
    have, want = _shown(given), "STRING" if field.name == CHANGE else spark_type(field.type)
    if have == want or pa.types.is_null(given):
        return True
    if have in _WHOLE:
        return want in _WHOLE + _REAL or want.startswith("DECIMAL")
    if have in _REAL:
        return want in _REAL
    return (have.startswith("DECIMAL") and want.startswith("DECIMAL")) or (have, want) == ("TIMESTAMP_NTZ", "TIMESTAMP")


def _shown(kind: pa.DataType) -> str:
    try:
        return spark_type(kind)
    except ValueError:
        return str(kind)


class ParquetReader:
    """Reads a parquet file as blocks of typed columns, one row group after another.

    A value beyond the range of its column's type costs one row; a column of another type is an ApplicationError.
    """

    def __init__(self, path: Path, schema: pa.Schema, place: str, limits: Sequence[Limit] = ()) -> None:
        self.rejects = Rejects(path.name)
        self._path = path
        self._schema = schema
        self._footer = read_footer(path, place)
        self._names = match_columns(self._footer, schema, place)
        self._limits = limits
        self._error_place = place

    def blocks(self, at: Mapping[str, Any] | None = None) -> Iterator[PlacedRows]:
        """The rows from a place on, a row group and a row in it; those that do not fit are left out and counted."""
        begin, skip = (at["group"], at["row"]) if at else (0, 0)
        ended = len(self._footer.group_rows)
        if begin > ended or (begin < ended and skip > self._footer.group_rows[begin]) or (begin == ended and skip):
            problem = f"{self._path} has fewer rows than when the run was interrupted"
            remedy = "put the file back as it was, or remove the checkpoint to read it from the beginning"
            raise ApplicationError(self._error_place, problem, remedy)
        return self._blocks(begin, skip)

    def _blocks(self, begin: int, skip: int) -> Iterator[PlacedRows]:
        names = list(map(heading, self._schema))
        before = sum(self._footer.group_rows[:begin])
        with pq.ParquetFile(self._path) as file:
            for group in range(begin, len(self._footer.group_rows)):
                row = 0
                for batch in file.iter_batches(_ROWS, row_groups=[group], columns=self._names):
                    if row + batch.num_rows > skip:
                        rows = pa.Table.from_batches([batch]).select(self._names).rename_columns(names)
                        yield self._placed(rows, group, row, before, max(0, skip - row))
                    row += batch.num_rows
                before, skip = before + row, 0
        self.rejects.summarize()

    def _placed(self, rows: pa.Table, group: int, row: int, before: int, skip: int) -> PlacedRows:
        """Rows from number `row` of a row group on, without the first `skip`."""
        table, numbers = good_rows(rows_to_table(rows, self._schema), self._limits, self.rejects, before + row, skip)
        return PlacedRows(table, lambda at: {"group": group, "row": numbers[at] - before})
