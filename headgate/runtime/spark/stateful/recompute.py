"""aggregate by recomputation: at each instant with a change, Spark aggregates the group's rows of that instant.

Works for every aggregate that Spark has; its cost is the number of rows in a group, summed over the group's instants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from headgate.plan.flows import Flow, windowed_flow
from headgate.plan.operators import Aggregate
from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import (
    TO,
    Frames,
    as_relation,
    col,
    cols,
    earliest,
    log_schema,
    long,
    net_rows,
    null_safe_equal,
    private,
    repeat_rows,
    sortable,
    user_fields,
    with_fresh_names,
)
from headgate.runtime.spark.stateful.partial_values import group_columns, order_matters
from headgate.runtime.spark.stateful.timeline import (
    BEGAN,
    FIRST,
    LAST,
    ONE,
    Timeline,
    moment_aggregates,
    result_stamps,
)
from headgate.sql.schema import CHANGE, RELATION_STAMPS, SEQUENCE, TIME, UNTIL

_NUMBER = private("number")  # of an instant
_PLACE = (private("time"), private("sequence"))  # TIME and SEQUENCE of a row of a stream


class RecomputeAggregate(Stateful):
    """Keeps the rows themselves; compaction drops those that were taken away."""

    def __init__(self, operator: Aggregate, schema: StructType, flow: Flow, types: StructType, single: bool) -> None:
        self._operator = operator
        self._flow = flow
        self._frames = Frames(single)
        self._retracts = windowed_flow(flow, operator.window, operator.id).retracts
        self._types = types
        sessions = {n: text for n, text in operator.group.items() if "session_window" in text.lower()}
        self._sessions = sessions  # Spark finds them among the rows of an instant; no column of a row
        self._plain = {n: text for n, text in operator.group.items() if n not in sessions}
        self._groups = group_columns(len(self._plain))
        self._global = not operator.group
        self._ordered = bool(sessions) or any(order_matters(text) for text in operator.values.values())
        fields = user_fields(schema)
        self._names = [f.name for f in fields]
        # In a relation that takes rows away, equal rows are interchangeable, so only values can define the order.
        places = () if self._retracts else _PLACE
        self._order = [_NUMBER, *places, *sortable(fields)]
        same_rows = [*fields, *[StructField(name, LongType(), False) for name in places]]
        self._timeline = Timeline(self._frames, [*self._groups, ONE], same_rows)
        self.logs = {
            "rows": LogSpec(
                log_schema(fields, RELATION_STAMPS), expiry=UNTIL, events=(TIME, UNTIL), shrinks=self._retracts
            )
        }
        if self._global:
            self.logs["began"] = BEGAN

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        names = self.logs["rows"].schema.names
        new = as_relation(inputs[0], self._operator.window, self._flow).select(*cols(names))
        grouped = self._grouped(self._frames.union(logs["rows"], new))
        bounded = self._frames.with_bounds(grouped, bounds)
        rows = self._timeline.number_instants(bounded, logs.get("began"), bounds)
        keys = self._timeline.keys
        instants = rows.groupBy(*cols([*keys, FIRST])).agg(*moment_aggregates()).withColumnRenamed(FIRST, _NUMBER)
        given = self._timeline.with_next_instant(instants, _NUMBER)
        kept = self._frames.with_bounds(new, bounds).where(col(UNTIL) > col(TO))
        grown = {"rows": kept.select(*cols(names))}
        valued, fresh = with_fresh_names(self._valued(rows), [*keys, _NUMBER], "mine")
        match = null_safe_equal([*keys, _NUMBER], fresh)
        if not self._global:
            return StepResult(self._results(self._frames.join(given, valued, match)), grown)
        grown["began"] = earliest(new)
        return StepResult(self._results(self._with_empty(grouped, given, valued, match)), grown)

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        if name == "began":
            return earliest(log)
        return net_rows(self._frames, log, bounds, self._names) if self.logs[name].shrinks else log

    def _grouped(self, rows: DataFrame) -> DataFrame:
        groups = [F.expr(text).alias(n) for n, text in zip(self._groups, self._plain.values(), strict=True)]
        places = [] if self._retracts else [col(c).alias(n) for c, n in zip((TIME, SEQUENCE), _PLACE, strict=True)]
        grouped = rows.select("*", *groups, col(SEQUENCE).bitwiseAND(0).alias(ONE), *places)
        return self._frames.restore_single_partition(grouped, self._plain.values())

    def _valued(self, rows: DataFrame) -> DataFrame:
        """The values of each group at each instant at which it has rows."""
        there = rows.where(col(CHANGE) > 0)
        numbers = F.sequence(col(FIRST), col(LAST) - 1)
        pairs = repeat_rows(there.withColumn(_NUMBER, F.explode(numbers)), col(CHANGE))
        keys = [*self._timeline.keys, _NUMBER]
        lined = self._frames.ordered(pairs, keys, self._order) if self._ordered else pairs
        by = [*cols(keys), *[F.expr(text).alias(n) for n, text in self._sessions.items()]]
        values = [F.expr(text).alias(name) for name, text in self._operator.values.items()]
        try:
            return lined.groupBy(*by).agg(*values, F.count(F.lit(1)).alias(private("rows")))
        except AnalysisException:
            # A value may refer to a grouping expression; then Spark must find that very expression among the keys.
            grouping = [F.expr(text).alias(private(f"grouping{i}")) for i, text in enumerate(self._plain.values())]
            return lined.groupBy(*by, *grouping).agg(*values, F.count(F.lit(1)).alias(private("rows")))

    def _with_empty(self, rows: DataFrame, instants: DataFrame, valued: DataFrame, match: Column) -> DataFrame:
        """Without groups, instants that have no rows get the values of an empty relation."""
        names = list(self._operator.values)
        # Sequence numbers are never negative, so this has no rows, but the optimizer cannot know that.
        none = rows.where(col(SEQUENCE) < -1)
        values = [F.expr(text).alias(private(f"empty{i}")) for i, text in enumerate(self._operator.values.values())]
        empty = none.groupBy().agg(*values, F.coalesce(F.max(ONE), long(0)).alias(private("zero")))
        every = self._frames.join(instants, empty, col(ONE) == col(private("zero")))
        # The count of rows tells a missing value from one that is null.
        joined = self._frames.join(every, valued, match, "left")
        filled = [
            F.when(col(private("rows")).isNotNull(), col(name)).otherwise(col(private(f"empty{i}"))).alias(name)
            for i, name in enumerate(names)
        ]
        return joined.select(*cols(instants.columns), *filled)

    def _results(self, valued: DataFrame) -> DataFrame:
        mine = dict(zip(self._plain, self._groups, strict=True))
        users: list[Column] = []
        for name in self._operator.group:
            users.append(col(mine.get(name, name)).cast(self._types[name].dataType).alias(name))
        for name in self._operator.values:
            users.append(col(name).cast(self._types[name].dataType).alias(name))
        stamps = zip(result_stamps(), RELATION_STAMPS, strict=True)
        return valued.select(*users, *[stamp.alias(name) for stamp, name in stamps])
