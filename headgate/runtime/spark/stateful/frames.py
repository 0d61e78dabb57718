"""Helpers that the operators with state share: columns, windows on rows, the bounds of a call, joins and unions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, MapType, StructField, StructType

from headgate.plan.flows import Flow
from headgate.plan.windows import UNBOUNDED, RangeWindow
from headgate.runtime.spark.stateful.base import CallBounds, Instants
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, LATE, RELATION_STAMPS, SEQUENCE, STAMPS, TIME, UNTIL

FROM, TO, NOW = "\x1ffrom", "\x1fto", "\x1fnow"  # the bounds of a call as columns; no user column has these names
_ZERO = "\x1fzero"


def private(name: str) -> str:
    """A column name that no user column can have."""
    return f"\x1f{name}"


def col(name: str) -> Column:
    """A column by its exact name, whatever characters the name has."""
    return F.col("`" + name.replace("`", "``") + "`")


def cols(names: Iterable[str]) -> list[Column]:
    """Columns by their exact names."""
    return [col(name) for name in names]


def long(value: int) -> Column:
    """A BIGINT constant."""
    return F.lit(value).cast("bigint")


def user_fields(schema: StructType) -> list[StructField]:
    """The fields of the user's columns, all nullable, whatever the input declares."""
    return [StructField(f.name, f.dataType, True) for f in schema if f.name not in RELATION_STAMPS]


def log_schema(fields: Sequence[StructField], longs: Sequence[str]) -> StructType:
    """The schema of a log: some fields, then BIGINT columns without nulls."""
    return StructType([*fields, *[StructField(name, LongType(), False) for name in longs]])


def sortable(fields: Iterable[StructField]) -> list[str]:
    """Names of the columns that Spark can order by."""
    return [f.name for f in fields if not isinstance(f.dataType, MapType)]


def ceiling(time: Column, step: int) -> Column:
    """The first multiple of `step` that is not before `time`."""
    return time if step == 1 else time + F.pmod(-time, long(step))


def floor(time: Column, step: int) -> Column:
    """The last multiple of `step` that is not after `time`."""
    return time if step == 1 else time - F.pmod(time, long(step))


def as_relation(frame: DataFrame, window: RangeWindow | None, flow: Flow) -> DataFrame:
    """Rows of an input as rows of a relation: the user's columns, then all five stamps. Late rows are dropped."""
    users = [c for c in frame.columns if c not in RELATION_STAMPS]
    time = col(TIME)
    placed = frame.where(on_time())
    if flow.relation:
        return placed.where(time < col(UNTIL)).select(*cols(users), *cols(RELATION_STAMPS))
    window = window or UNBOUNDED
    length, slide = window.length_ticks(flow.clock), window.slide_ticks(flow.clock)
    start = ceiling(time, slide or 1)
    until = long(FOREVER) if length is None else ceiling(time + long(length), slide or 1)
    stamps = [col(ARRIVAL), col(SEQUENCE), start.alias(TIME), until.alias(UNTIL), long(1).alias(CHANGE)]
    rows = placed.select(*cols(users), *stamps)
    # A tuple that enters and leaves between two evaluations is never seen.
    return rows.where(col(TIME) < col(UNTIL)) if length is not None and slide is not None else rows


def expiry_of(flow: Flow, window: RangeWindow | None) -> tuple[str | None, int]:
    """When a row that `as_relation` reads expires: the column with its expiry, and the ticks to add to it."""
    if flow.relation:
        return UNTIL, 0
    window = window or UNBOUNDED
    length, slide = window.length_ticks(flow.clock), window.slide_ticks(flow.clock)
    return (None, 0) if length is None else (TIME, length + (slide or 1) - 1)


def earliest(rows: DataFrame) -> DataFrame:
    """One row with the earliest TIME and the latest SEQUENCE; no row if there are no rows."""
    first = rows.groupBy().agg(F.max(SEQUENCE).alias(SEQUENCE), F.min(TIME).alias(TIME))
    return first.where(col(TIME).isNotNull())


def stream_rows(frame: DataFrame) -> DataFrame:
    """The rows of a stream that have a place in time."""
    users = [c for c in frame.columns if c not in RELATION_STAMPS]
    return frame.where(on_time()).select(*cols(users), *cols(STAMPS))


def on_time() -> Column:
    """Does the row have a time, and did it arrive in time?"""
    return col(TIME).isNotNull() & (col(SEQUENCE) < long(LATE))


class Frames:
    """Joins and unions that, when `single`, stay in one partition without an exchange."""

    def __init__(self, single: bool) -> None:
        self.single = single

    def union(self, *frames: DataFrame) -> DataFrame:
        """The rows of all frames; columns are matched by position."""
        united = reduce(DataFrame.union, frames)
        return united.coalesce(1) if self.single and len(frames) > 1 else united

    def with_bounds(self, frame: DataFrame, bounds: CallBounds, by: str = SEQUENCE) -> DataFrame:
        """Each row with the bounds of the call (FROM, TO, NOW). `by` is any BIGINT column without nulls.

        Bounds from a leaf are added by a hash join on a key that is always 0, which the optimizer cannot know. Unlike a
        nested loop, such a join becomes part of the code generated for its neighbors.
        """
        if isinstance(bounds, Instants):
            return frame.select(
                "*", *[long(value).alias(name) for value, name in zip(bounds, (FROM, TO, NOW), strict=True)]
            )
        named = bounds.select(col("_from").alias(FROM), col("_to").alias(TO), col("_now").alias(NOW))
        keyed = named.withColumn(_ZERO, col(TO).bitwiseAND(0)).hint("shuffle_hash")
        return frame.join(keyed, col(by).bitwiseAND(0) == col(_ZERO)).drop(_ZERO)

    def join(self, left: DataFrame, right: DataFrame, on: Column, how: str = "inner") -> DataFrame:
        """A join whose right side is the smaller one.

        The planner does not know that the result of a join is one partition, so a coalesce says so before each join.
        """
        if not self.single:
            return left.join(right, on, how)
        return left.coalesce(1).join(self.hash_side(right.coalesce(1)), on, how)

    def restore_single_partition(self, frame: DataFrame, texts: Iterable[str]) -> DataFrame:
        """A frame after these expressions were computed. `window` may make several rows of one, after which the planner
        no longer knows that there is one partition."""
        return frame.coalesce(1) if self.single and any("window" in text.lower() for text in texts) else frame

    def hash_side(self, frame: DataFrame) -> DataFrame:
        """The side of a join from which Spark is to build the hash table."""
        return frame.hint("shuffle_hash") if self.single else frame

    def semi_join(self, frame: DataFrame, keys: DataFrame, on: Column) -> DataFrame:
        """The rows whose key is among `keys`, which are distinct. Spark's own semi join would need an exchange."""
        return self.join(frame, keys, on).select(*cols(frame.columns))

    def colocated(self, frame: DataFrame, *keys: str) -> DataFrame:
        """Rows with equal keys in the same partition, so that what follows can order them."""
        if self.single:
            return frame
        return frame.repartition(*cols(keys)) if keys else frame.coalesce(1)

    def ordered(self, frame: DataFrame, keys: Sequence[str], order: Sequence[str]) -> DataFrame:
        """Rows in order within each group of equal keys, for folds whose result depends on it."""
        return self.colocated(frame, *keys).sortWithinPartitions(*cols(order))


def in_range(time: Column) -> Column:
    """Does this call evaluate the instant?"""
    return (time > col(FROM)) & (time <= col(TO))


def null_safe_equal(left: Sequence[str], right: Sequence[str]) -> Column:
    """Are the columns equal in pairs, with null equal to null?"""
    pairs = [col(a).eqNullSafe(col(b)) for a, b in zip(left, right, strict=True)]
    return reduce(lambda a, b: a & b, pairs)


def with_fresh_names(frame: DataFrame, names: Sequence[str], prefix: str) -> tuple[DataFrame, list[str]]:
    """The frame with some columns under new, unique names, for a join; and those names."""
    fresh = [private(f"{prefix}{i}") for i in range(len(names))]
    mapping = dict(zip(names, fresh, strict=True))
    return frame.select(*[col(c).alias(mapping.get(c, c)) for c in frame.columns]), fresh


def repeat_rows(frame: DataFrame, times: Column) -> DataFrame:
    """Each row `times` times."""
    copy = private("copy")
    return frame.withColumn(copy, F.explode(F.array_repeat(F.lit(0), times.cast("int")))).drop(copy)


def net_rows(frames: Frames, log: DataFrame, bounds: CallBounds, keys: Sequence[str]) -> DataFrame:
    """A log of relation rows in which equal rows are merged and rows that cancel each other are dropped.

    Everything up to `_to` has been evaluated, so of a row only what happens after `_to` matters: when it leaves.
    """
    bounded = frames.with_bounds(log, bounds)
    moment = private("moment")
    marked = bounded.withColumn(moment, F.greatest(col(TIME), col(TO)))
    merged = marked.groupBy(*cols(keys), col(UNTIL), col(moment)).agg(
        F.max(ARRIVAL).alias(ARRIVAL),
        F.max(SEQUENCE).alias(SEQUENCE),
        F.max(TIME).alias(TIME),
        F.sum(CHANGE).alias(CHANGE),
    )
    return merged.where(col(CHANGE) != 0).select(*cols(log.columns))
