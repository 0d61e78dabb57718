"""aggregate, the general way: at each instant with a change, the group's rows of that instant, aggregated by Spark.

Right for every aggregate that Spark has; it costs the rows of a group for each of its instants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow, windowed
from headgate.plan.operators import Aggregate
from headgate.plan.schema import ARRIVAL, CHANGE, FOREVER, RELATION_STAMPS, SEQUENCE, TIME, UNTIL
from headgate.runtime.spark.stateful.base import Limits, LogSpec, Stateful, Step
from headgate.runtime.spark.stateful.calls import group_columns
from headgate.runtime.spark.stateful.rows import (
    FROM,
    NOW,
    TO,
    Frames,
    as_relation,
    beginning,
    col,
    cols,
    in_range,
    log_schema,
    long,
    netted,
    private,
    renamed,
    repeated,
    same,
    sortable,
    user_fields,
)

_ONE = private("one")
_AT, _NEXT = private("at"), private("next")
_CAUSE, _LATEST = private("cause"), private("latest")
_EVENT = private("event")


class GeneralAggregate(Stateful):
    def __init__(self, operator: Aggregate, schema: StructType, flow: Flow, types: StructType, single: bool) -> None:
        self._operator = operator
        self._flow = flow
        self._frames = Frames(single)
        self._retracts = windowed(flow, operator.window, operator.id).retracts
        self._types = types
        sessions = {n: text for n, text in operator.group.items() if "session_window" in text.lower()}
        self._sessions = sessions  # found by Spark among the rows of an instant, not a column of each row
        self._plain = {n: text for n, text in operator.group.items() if n not in sessions}
        self._groups = group_columns(len(self._plain))
        self._keys = [*self._groups, _ONE]
        self._global = not operator.group
        fields = user_fields(schema)
        self._names = [f.name for f in fields]
        # A row of a relation that takes rows away is any of its equals: only values can say the order.
        stamps = [] if self._retracts else [TIME, SEQUENCE]
        self._order = [_AT, *stamps, *sortable(fields)]
        self.logs = {
            "rows": LogSpec(
                log_schema(fields, RELATION_STAMPS), expiry=UNTIL, events=(TIME, UNTIL), shrinks=self._retracts
            )
        }
        if self._global:
            self.logs["began"] = LogSpec(log_schema([], (SEQUENCE, TIME)), expiry=None, shrinks=True)

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: Limits) -> Step:
        names = self.logs["rows"].schema.names
        new = as_relation(inputs[0], self._operator.window, self._flow).select(*cols(names))
        rows = self._grouped(self._frames.bounded(self._frames.union(logs["rows"], new), bounds))
        instants = self._instants(rows, logs, bounds)
        kept = self._frames.bounded(new, bounds).where(col(UNTIL) > col(TO))
        grown = {"rows": kept.select(*cols(names))}
        if not self._global:
            return Step(self._results(self._valued(rows, instants)), grown)
        grown["began"] = beginning(new)
        return Step(self._results(self._with_empty(rows, instants)), grown)

    def compacted(self, name: str, log: DataFrame, bounds: Limits) -> DataFrame:
        if name == "began":
            return beginning(log)
        return netted(self._frames, log, bounds, self._names) if self.logs[name].shrinks else log

    def _grouped(self, beside: DataFrame) -> DataFrame:
        groups = [F.expr(text).alias(n) for n, text in zip(self._groups, self._plain.values(), strict=True)]
        alive = beside.where(col(UNTIL) > col(FROM))
        grouped = alive.select("*", *groups, col(SEQUENCE).bitwiseAND(0).alias(_ONE))
        return self._frames.expanded(grouped, self._plain.values())

    def _instants(self, rows: DataFrame, logs: Mapping[str, DataFrame], bounds: Limits) -> DataFrame:
        """The instants in range at which a group changes, and FROM, each with the one that follows it."""
        touched = rows.where(in_range(col(TIME)) | in_range(col(UNTIL)))
        nothing = F.lit(None).cast("bigint")
        came = F.struct(col(TIME).alias(_AT), col(ARRIVAL).alias(_CAUSE))
        went = F.struct(col(UNTIL).alias(_AT), nothing.alias(_CAUSE))
        found = [came, went]
        if not self._global:
            found.append(F.struct(col(FROM).alias(_AT), nothing.alias(_CAUSE)))
        kept = [*self._keys, SEQUENCE, FROM, TO, NOW]
        events = touched.select(*cols(kept), F.explode(F.array(*found)).alias(_EVENT))
        events = events.select(*cols(kept), f"{_EVENT}.*").where((col(_AT) >= col(FROM)) & (col(_AT) <= col(TO)))
        if self._global:
            began = self._frames.bounded(logs["began"], bounds).where(col(TIME) <= col(FROM))
            before = began.select(
                col(SEQUENCE).bitwiseAND(0).alias(_ONE),
                *cols([SEQUENCE, FROM, TO, NOW]),
                col(FROM).alias(_AT),
                nothing.alias(_CAUSE),
            )
            events = self._frames.union(events, before)
        distinct = events.groupBy(*cols([*self._keys, _AT])).agg(
            F.coalesce(F.max(_CAUSE), F.max(NOW)).alias(_CAUSE),
            F.max(SEQUENCE).alias(_LATEST),
            F.max(FROM).alias(FROM),
        )
        # What takes an old value away is the cause of the instant that follows.
        order = Window.partitionBy(*cols(self._keys)).orderBy(col(_AT))
        led = [F.lead(c).over(order).alias(private(f"next_{c}")) for c in (_AT, _CAUSE, _LATEST)]
        following = distinct.select("*", *led)
        old = col(_AT) == col(FROM)
        cause, latest = [F.when(old, col(private(f"next_{c}"))).otherwise(col(c)).alias(c) for c in (_CAUSE, _LATEST)]
        chosen = following.where(~old | col(private(f"next_{_AT}")).isNotNull())
        return chosen.select(
            *cols(self._keys),
            col(_AT),
            col(private(f"next_{_AT}")).alias(_NEXT),
            cause,
            F.when(old, long(1)).otherwise(long(0)).alias(_EVENT),
            latest,
        )

    def _valued(self, rows: DataFrame, instants: DataFrame) -> DataFrame:
        """The values of each group at each of its instants with rows."""
        other, fresh = renamed(instants, self._keys, "key")
        there = same(self._keys, fresh) & (col(TIME) <= col(_AT)) & (col(_AT) < col(UNTIL))
        pairs = self._frames.join(rows.drop(FROM, TO, NOW), other, there)
        moment = [_AT, _NEXT, _CAUSE, _EVENT, _LATEST]
        if self._retracts:
            each = pairs.groupBy(*cols([*self._names, *self._keys, *moment])).agg(F.sum(CHANGE).alias(CHANGE))
            pairs = each.where(col(CHANGE) > 0)
        if self._flow.relation:
            pairs = repeated(pairs, col(CHANGE))
        lined = self._frames.ordered(pairs, [*self._keys, _AT], self._order)
        by = [*cols([*self._keys, *moment]), *[F.expr(text).alias(n) for n, text in self._sessions.items()]]
        values = [F.expr(text).alias(name) for name, text in self._operator.values.items()]
        try:
            return lined.groupBy(*by).agg(*values, F.count(F.lit(1)).alias(private("rows")))
        except AnalysisException:
            # A value may speak of what is grouped by: then Spark must see the very expression among the keys.
            spoken = [F.expr(text).alias(private(f"spoken{i}")) for i, text in enumerate(self._plain.values())]
            return lined.groupBy(*by, *spoken).agg(*values, F.count(F.lit(1)).alias(private("rows")))

    def _with_empty(self, rows: DataFrame, instants: DataFrame) -> DataFrame:
        """Without groups: instants without rows have the values of an empty relation."""
        valued = self._valued(rows, instants)
        names = list(self._operator.values)
        # Sequence numbers are never negative: no row, but the optimiser cannot know.
        none = rows.where(col(SEQUENCE) < -1)
        values = [F.expr(text).alias(private(f"empty{i}")) for i, text in enumerate(self._operator.values.values())]
        empty = none.groupBy().agg(*values, F.coalesce(F.max(_ONE), long(0)).alias(private("zero")))
        found, fresh = renamed(valued.select(*cols([_AT, *names])), [_AT, *names], "found")
        # A flag of its own: a value that is null is no missing value.
        found = found.withColumn(private("there"), long(1))
        every = self._frames.join(instants, empty, col(_ONE) == col(private("zero")))
        joined = self._frames.join(every, found, col(_AT) == col(fresh[0]), "left")
        filled = [
            F.when(col(private("there")).isNotNull(), col(mine)).otherwise(col(private(f"empty{i}"))).alias(name)
            for i, (mine, name) in enumerate(zip(fresh[1:], names, strict=True))
        ]
        return joined.select(*cols([_AT, _NEXT, _CAUSE, _EVENT, _LATEST]), *filled)

    def _results(self, valued: DataFrame) -> DataFrame:
        old = col(_EVENT) == 1
        mine = dict(zip(self._plain, self._groups, strict=True))
        users: list[Column] = []
        for name in self._operator.group:
            users.append(col(mine.get(name, name)).cast(self._types[name].dataType).alias(name))
        for name in self._operator.values:
            users.append(col(name).cast(self._types[name].dataType).alias(name))
        return valued.select(
            *users,
            col(_CAUSE).alias(ARRIVAL),
            col(_LATEST).alias(SEQUENCE),
            F.when(old, col(_NEXT)).otherwise(col(_AT)).alias(TIME),
            F.when(old, long(FOREVER)).otherwise(F.coalesce(col(_NEXT), long(FOREVER))).alias(UNTIL),
            F.when(old, long(-1)).otherwise(long(1)).alias(CHANGE),
        )
