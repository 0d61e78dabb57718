"""A relation within a call: the instants, by number, at which each row is present.

New rows are matched with those that take them away. So a row costs only the instants at which it is present, however
many changes there were before. The instants at which a group changes are numbered, so that rows and instants can be
joined by number; otherwise every row would be compared with every instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from headgate.runtime.spark.stateful.base import CallBounds, LogSpec
from headgate.runtime.spark.stateful.frames import (
    FROM,
    NOW,
    TO,
    Frames,
    col,
    cols,
    in_range,
    log_schema,
    long,
    null_safe_equal,
    on_time,
    private,
    with_fresh_names,
)
from headgate.sql.schema import ARRIVAL, CHANGE, FOREVER, RELATION_STAMPS, SEQUENCE, TIME, UNTIL

ONE = private("one")  # a key with one value for all rows: without GROUP BY there is one group
AT = private("at")  # an instant
FIRST, LAST = private("first"), private("end")  # a row's first instant, and the first one without it, by number
COUNT = private("count")  # the number of the group's instants in this call
_BEGAN = private("began")  # 1: not a row; it says that the only group existed before the call
_EVENT, _CAUSE = private("event"), private("cause")
_NEXT, _NEXT_CAUSE, _NEXT_LATEST = private("next"), private("next_cause"), private("next_latest")
_FOLLOWING = ((AT, _NEXT), (ARRIVAL, _NEXT_CAUSE), (SEQUENCE, _NEXT_LATEST))
MOMENT = (AT, ARRIVAL, SEQUENCE, FROM)  # the data of an instant

BEGAN = LogSpec(log_schema([], (SEQUENCE, TIME)), expiry=None, shrinks=True)  # when a group without keys began


@dataclass(frozen=True)
class Timeline:
    """`keys` identify the group of a row (ONE is among them); rows with equal `values` are the same."""

    frames: Frames
    keys: Sequence[str]
    values: Sequence[StructField]

    def number_instants(self, bounded: DataFrame, began: DataFrame | None, bounds: CallBounds) -> DataFrame:
        """Rows, given with the bounds of the call, as rows that are present CHANGE times at the instants FIRST to
        LAST - 1 of their group.

        Only groups that change are included. Rows with a CHANGE of 0 mark where something ended. AT is the time of the
        first instant, with the arrival and sequence number of its cause. `began` is the log of that name, for the case
        of a single group, which exists from its first row on even while it has no rows.
        """
        events = self._events(self._touched(bounded))
        if began is not None:
            events = self.frames.union(events, self._before(began, bounds, events))
        names = [f.name for f in self.values]
        flags = [] if began is None else [_BEGAN]
        summed = events.groupBy(*cols([*self.keys, *names, *flags, AT])).agg(
            F.sum(CHANGE).alias(CHANGE), *[F.max(c).alias(c) for c in (_CAUSE, SEQUENCE, FROM, NOW)]
        )
        row = Window.partitionBy(*cols(self.keys), *self._comparable(), *cols(flags)).orderBy(col(AT))
        group = Window.partitionBy(*cols(self.keys)).orderBy(col(AT))
        there = F.sum(CHANGE).over(row.rowsBetween(Window.unboundedPreceding, 0)).alias(CHANGE)
        kept = [*self.keys, *names, *flags, AT, _CAUSE, SEQUENCE, FROM, NOW]
        counted = summed.select(*cols(kept), there)
        placed = counted.select("*", (F.dense_rank().over(group) - 1).alias(FIRST))
        whole = Window.partitionBy(*cols(self.keys))
        all_of = placed.select("*", (F.max(FIRST).over(whole) + 1).alias(COUNT))
        last = F.coalesce(F.lead(FIRST).over(row), col(COUNT)).alias(LAST)
        arrival = F.coalesce(col(_CAUSE), col(NOW)).alias(ARRIVAL)
        return all_of.select(*cols([*self.keys, *names, AT, SEQUENCE, FROM, CHANGE, FIRST, COUNT]), last, arrival)

    def with_next_instant(self, instants: DataFrame, number: str) -> DataFrame:
        """Instants, one row each, with the next instant of their group; only those that yield results."""
        order = Window.partitionBy(*cols(self.keys)).orderBy(col(number))
        led = instants.select("*", *[F.lead(c).over(order).alias(n) for c, n in _FOLLOWING])
        return led.where((col(AT) > col(FROM)) | col(_NEXT).isNotNull())

    def _touched(self, bounded: DataFrame) -> DataFrame:
        """The rows of groups that change in this call."""
        alive = bounded.where((col(UNTIL) > col(FROM)) & (col(TIME) <= col(TO)))
        if len(self.keys) == 1:
            return alive
        happens = alive.where(in_range(col(TIME)) | in_range(col(UNTIL)))
        groups, fresh = with_fresh_names(happens.select(*cols(self.keys)).distinct(), self.keys, "touched")
        return self.frames.semi_join(alive, groups, null_safe_equal(self.keys, fresh))

    def _events(self, alive: DataFrame) -> DataFrame:
        """The events of rows: each appears, or was there before the call, and goes."""
        names = [f.name for f in self.values]
        kept = [*self.keys, *names, SEQUENCE, FROM, TO, NOW]
        cause = F.when(col(TIME) > col(FROM), col(ARRIVAL))
        came = F.struct(F.greatest(col(TIME), col(FROM)).alias(AT), col(CHANGE).alias(CHANGE), cause.alias(_CAUSE))
        nothing = F.lit(None).cast("bigint")
        went = F.struct(col(UNTIL).alias(AT), (-col(CHANGE)).alias(CHANGE), nothing.alias(_CAUSE))
        exploded = alive.select(*cols(kept), F.explode(F.array(came, went)).alias(_EVENT))
        flat = exploded.select(*cols(kept), f"{_EVENT}.*", F.lit(0).alias(_BEGAN))
        return flat.where(col(AT) <= col(TO))

    def _before(self, began: DataFrame, bounds: CallBounds, events: DataFrame) -> DataFrame:
        known = self.frames.with_bounds(began, bounds).where(col(TIME) <= col(FROM))
        given = {
            ONE: col(SEQUENCE).bitwiseAND(0),
            AT: col(FROM),
            CHANGE: long(0),
            _BEGAN: F.lit(1),
            **{c: col(c) for c in (SEQUENCE, FROM, TO, NOW)},
        }
        return known.select(*[given.get(f.name, F.lit(None).cast(f.dataType)).alias(f.name) for f in events.schema])

    def _comparable(self) -> list[Column]:
        return [_comparable(col(f.name), f.dataType) for f in self.values]


def moment_aggregates() -> list[Column]:
    """Aggregates that give the data of an instant, from the rows that begin or end there."""
    return [F.max(c).alias(c) for c in MOMENT]


def result_stamps() -> list[Column]:
    """The stamps of the value that a group has from an instant on (see `with_next_instant`). The value from before the
    call, at FROM, is taken back at the first instant of the call, with that instant's cause."""
    old = col(AT) <= col(FROM)
    return [
        F.when(old, col(_NEXT_CAUSE)).otherwise(col(ARRIVAL)),
        F.when(old, col(_NEXT_LATEST)).otherwise(col(SEQUENCE)),
        F.when(old, col(_NEXT)).otherwise(col(AT)),
        F.when(old, long(FOREVER)).otherwise(F.coalesce(col(_NEXT), long(FOREVER))),
        F.when(old, long(-1)).otherwise(long(1)),
    ]


def with_ends(rows: DataFrame) -> DataFrame:
    """The same relation, in which rows that other rows take away have an end instead."""
    fields = [f for f in rows.schema if f.name not in RELATION_STAMPS]
    names = [f.name for f in fields]
    placed = rows.where(on_time())
    came = F.struct(col(TIME).alias(AT), col(CHANGE).alias(CHANGE))
    went = F.struct(col(UNTIL).alias(AT), (-col(CHANGE)).alias(CHANGE))
    exploded = placed.select(*cols([*names, ARRIVAL, SEQUENCE]), F.explode(F.array(came, went)).alias(_EVENT))
    events = exploded.select(*cols([*names, ARRIVAL, SEQUENCE]), f"{_EVENT}.*").where(col(AT) < FOREVER)
    summed = events.groupBy(*cols([*names, AT])).agg(
        *[F.max(c).alias(c) for c in (ARRIVAL, SEQUENCE)], F.sum(CHANGE).alias(CHANGE)
    )
    # Without columns all rows are equal.
    whose = [_comparable(col(f.name), f.dataType) for f in fields] or [col(SEQUENCE).bitwiseAND(0)]
    row = Window.partitionBy(*whose).orderBy(col(AT))
    there = F.sum(CHANGE).over(row.rowsBetween(Window.unboundedPreceding, 0))
    until = F.coalesce(F.lead(AT).over(row), long(FOREVER))
    spans = summed.select(
        *cols([*names, ARRIVAL, SEQUENCE]), col(AT).alias(TIME), until.alias(UNTIL), there.alias(CHANGE)
    )
    return spans.where(col(CHANGE) != 0).select(*cols(rows.columns))


def _comparable(value: Column, kind: DataType) -> Column:
    """The value in a form by which windows can be partitioned: maps as sorted entries."""
    if "map<" not in kind.simpleString():
        return value
    match kind:
        case MapType():
            entries = F.transform(
                F.map_entries(value),
                lambda e: F.struct(_comparable(e["key"], kind.keyType), _comparable(e["value"], kind.valueType)),
            )
            return F.array_sort(entries)
        case ArrayType():
            return F.transform(value, lambda e: _comparable(e, kind.elementType))
        case StructType():
            parts = [_comparable(value.getField(f.name), f.dataType).alias(f.name) for f in kind]
            return F.when(value.isNotNull(), F.struct(*parts))
    raise TypeError(f"a {kind.simpleString()} cannot contain a map")
