"""References to rows of parquet files, for executors that read the files themselves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headgate.connect.sources.base import without_stamps
from headgate.connect.sources.kind import SourceContext
from headgate.connect.sources.limits import make_limits
from headgate.connect.sources.time_jumps import JumpLimit
from headgate.plan.arrow_values import is_in_range
from headgate.plan.windows import Clock
from headgate.scheduling.reference import Reference, refer
from headgate.sql.schema import CHANGE

MOST_FILES = 16  # of a reference: each is a part of the plan of every call over it
_UNSAFE = frozenset("*?[]{}\\%")  # in a name, Spark would not take them as they are


@dataclass(frozen=True)
class ReadableFile:
    """A file that executors read as the driver would: its columns have the very types of the stream."""

    path: Path
    group_rows: tuple[int, ...]  # of each row group
    bytes: int

    @property
    def rows(self) -> int:
        """In all row groups."""
        return sum(self.group_rows)

    def row_at(self, group: int, row: int) -> int:
        """The number in the file of a row of a row group."""
        return sum(self.group_rows[:group]) + row


def readable_file(path: Path, context: SourceContext) -> ReadableFile | None:
    """What a file says about itself. None: its rows must pass the driver, which can convert and refuse values."""
    schema, stream = context.schema, context.stream
    if CHANGE in schema.names or not _UNSAFE.isdisjoint(str(path)):
        return None
    if any(not isinstance(limit, JumpLimit) for limit in make_limits(stream)):
        return None  # such as NOT NULL, or the length of a text: whether a row keeps to it is seen row by row
    if stream.max_jump_s is not None and stream.clock is Clock.LOGICAL:
        return None  # whether a time is too far ahead depends on the tuples before
    try:
        with pq.ParquetFile(path) as file:
            found, columns = file.metadata, file.schema_arrow
    except (pa.ArrowException, OSError):
        return None  # whoever reads it in the driver reports it
    for field in without_stamps(schema):
        at = columns.get_field_index(field.name)
        last = _now(field.type) if field.name == context.time_column and stream.max_jump_s is not None else None
        if at < 0 or columns.field(at).type != field.type or not _in_range(found, field, last):
            return None
    groups = [found.row_group(at) for at in range(found.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    return ReadableFile(path.absolute(), tuple(group.num_rows for group in groups), size)


def refer_to_files(
    stream: str, files: Sequence[ReadableFile], first_row: int, now: float, sequence: int, least: int, most: int
) -> Reference | None:
    """A reference to the rows of these files, in order, from a row of the first one on. None: there are too few.

    It ends with a file: Spark would read all of it for each part. So it may have more rows than `most`.
    """
    places: dict[str, tuple[int, int]] = {}
    rows = size = 0
    for file in files[:MOST_FILES]:
        start = 0 if places else first_row
        places[f"file://{file.path}"] = (start, file.rows - start)
        rows, size = rows + file.rows - start, size + file.bytes * (file.rows - start) // max(1, file.rows)
        if rows >= most:
            break
    if rows < least:
        return None
    return refer(stream, "parquet", places, round(now * 1e6), sequence, size)


def _in_range(found: pq.FileMetaData, field: pa.Field, last: pa.Scalar | None) -> bool:
    """Do the statistics show that no row would be put aside for a time beyond the years 1 to 9999, or beyond `last`?"""
    if not (pa.types.is_timestamp(field.type) or pa.types.is_date(field.type)):
        return not pa.types.is_nested(field.type)  # of what is nested nobody has looked at the parts
    return all(_group_in_range(found.row_group(at), field, last) for at in range(found.num_row_groups))


def _group_in_range(group: pq.RowGroupMetaData, field: pa.Field, last: pa.Scalar | None) -> bool:
    columns = [group.column(at) for at in range(group.num_columns)]
    found = next((column.statistics for column in columns if column.path_in_schema == field.name), None)
    if found is None:
        return False
    if not found.has_min_max:
        return bool(found.null_count == group.num_rows)
    try:
        ends = pa.array([found.min, found.max], field.type)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):  # beyond the years that Python knows
        return False
    return is_in_range(ends) and (last is None or pc.less_equal(ends[1], last).as_py())


def _now(kind: pa.DataType) -> pa.Scalar:
    """Up to now no time is too far ahead, whatever came before (see `time_jumps`)."""
    return pa.scalar(time.time_ns() // 1000, pa.int64()).cast(kind)
