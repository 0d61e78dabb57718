"""rstream: the whole relation, repeated with each tuple of its streams and at each multiple of its slides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow, windowed_flow
from headgate.plan.operators import RStream
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    FROM,
    NOW,
    TO,
    Frames,
    as_relation,
    ceiling,
    col,
    cols,
    floor,
    in_range,
    log_schema,
    long,
    net_rows,
    private,
    repeat_rows,
    user_fields,
)
from headgate.runtime.spark.stateful.timeline import with_ends
from headgate.sql.schema import ARRIVAL, CHANGE, RELATION_STAMPS, SEQUENCE, STAMPS, TIME, UNTIL

_AT = private("at")
_CAUSE = private("cause")  # the latest arrival among the tuples of the instant


class StatefulRStream(Stateful):
    """The multiples of a slide are enumerated for each row, so times without rows cost nothing."""

    def __init__(self, operator: RStream, schemas: Sequence[StructType], flows: Sequence[Flow], single: bool) -> None:
        self._operator = operator
        self._flow = flows[0]
        self._frames = Frames(single)
        self._slides = sorted({flows[0].clock.ticks(span) for span in operator.slides})
        self._retracts = windowed_flow(flows[0], operator.window, operator.id).retracts
        fields = user_fields(schemas[0])
        self._names = [f.name for f in fields]
        self._asked = len(schemas) > 1
        rows = log_schema(fields, RELATION_STAMPS)
        self.logs = {"rows": LogSpec(rows, expiry=UNTIL, shrinks=self._retracts)}
        if self._asked:
            self.logs["instants"] = LogSpec(log_schema([], STAMPS), expiry=TIME, events=(TIME,))
        if self._slides:
            self.slide = gcd(*self._slides)

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        new = as_relation(inputs[0], self._operator.window, self._flow)
        rows = self._frames.union(logs["rows"], new)
        if self._retracts:  # otherwise each instant would look at all rows that ever were
            rows = with_ends(rows)
        parts = []
        kept = self._frames.with_bounds(new, bounds).where(col(UNTIL) > col(TO))
        grown = {"rows": kept.select(*cols(self.logs["rows"].schema.names))}
        if self._slides:
            parts.append(self._at_multiples(self._frames.with_bounds(rows, bounds)))
        if self._asked:
            tuples = self._frames.union(*[i.where(col(TIME).isNotNull()).select(*cols(STAMPS)) for i in inputs[1:]])
            parts.append(self._at_tuples(rows, self._frames.union(logs["instants"], tuples), bounds))
            later = self._frames.with_bounds(tuples, bounds).where(col(TIME) > col(TO))
            grown["instants"] = later.select(*cols(STAMPS))
        if not parts:  # neither tuples nor slides: there is no output
            parts.append(self._at_multiples(self._frames.with_bounds(rows, bounds).where(col(SEQUENCE) < 0), (1,)))
        return StepResult(self._results(self._frames.union(*parts)), grown)

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        return net_rows(self._frames, log, bounds, self._names) if self.logs[name].shrinks else log

    def _at_multiples(self, bounded: DataFrame, slides: Sequence[int] = ()) -> DataFrame:
        """Each row with each multiple in range at which it is present."""
        begin = F.greatest(col(TIME), col(FROM) + 1)
        end = F.least(col(UNTIL) - 1, col(TO))
        lists = [_multiples(begin, end, slide) for slide in slides or self._slides]
        instants = lists[0] if len(lists) == 1 else F.array_distinct(F.concat(*lists))
        there = bounded.where(begin <= end)
        cause = F.when(col(TIME) == col(_AT), col(ARRIVAL)).otherwise(col(NOW))
        exploded = there.withColumn(_AT, F.explode(instants)).withColumn(_CAUSE, cause)
        return exploded.select(*cols([*self._names, CHANGE, SEQUENCE, _AT, _CAUSE]))

    def _at_tuples(self, rows: DataFrame, tuples: DataFrame, bounds: CallBounds) -> DataFrame:
        """Each row with each instant in range at which it is present and a tuple arrived; multiples are excluded."""
        asked = self._frames.with_bounds(tuples, bounds).where(in_range(col(TIME)))
        for slide in self._slides:
            asked = asked.where(F.pmod(col(TIME), long(slide)) != 0)
        instants = asked.groupBy(col(TIME).alias(_AT)).agg(F.max(ARRIVAL).alias(_CAUSE))
        there = (col(TIME) <= col(_AT)) & (col(_AT) < col(UNTIL))
        # One side has only the few instants of a call; hashing does not help with an inequality.
        paired = rows.join(instants, there)
        cause = F.when(col(TIME) == col(_AT), F.greatest(col(ARRIVAL), col(_CAUSE))).otherwise(col(_CAUSE))
        found = paired.withColumn(_CAUSE, cause).select(*cols([*self._names, CHANGE, SEQUENCE, _AT, _CAUSE]))
        return found.coalesce(1) if self._frames.single else found

    def _results(self, found: DataFrame) -> DataFrame:
        if self._retracts:
            found = found.groupBy(*cols([*self._names, _AT])).agg(
                F.sum(CHANGE).alias(CHANGE), F.max(SEQUENCE).alias(SEQUENCE), F.max(_CAUSE).alias(_CAUSE)
            )
            found = found.where(col(CHANGE) > 0)
        if self._flow.relation:
            found = repeat_rows(found, col(CHANGE))
        return found.select(*cols(self._names), col(_CAUSE).alias(ARRIVAL), col(SEQUENCE), col(_AT).alias(TIME))


def _multiples(begin: Column, end: Column, slide: int) -> Column:
    first, last = ceiling(begin, slide), floor(end, slide)
    nothing = F.array().cast("array<bigint>")
    return F.when(first <= last, F.sequence(first, last, long(slide))).otherwise(nothing)
