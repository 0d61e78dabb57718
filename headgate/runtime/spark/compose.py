"""Operators as DataFrames: how Spark computes each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from headgate.flow.types import arrow_schema
from headgate.plan.operators import Function, Operator, Port, Project, Select, Split, TableJoin, Union
from headgate.plan.schema import ARRIVAL, SEQUENCE
from headgate.runtime.spark.functions import arrow_function

Tables = Mapping[str, DataFrame]


class Composer:
    """Builds the DataFrame of each output of an operator from those of its inputs.

    `mark` turns a port into a condition that is always true and that the plan keeps as a filter of its own, whose
    row count is the port's (see markers.py). `single` says that all inputs have one partition and that the result
    must have one too: joins then avoid every exchange.
    """

    def __init__(self, mark: Callable[[Port], Column], tables: Tables, single: bool) -> None:
        self._mark = mark
        self._tables = tables
        self._single = single

    def outputs(self, operator: Operator, inputs: Sequence[DataFrame]) -> dict[Port, DataFrame]:
        match operator:
            case Select():
                return self._only(operator, self._kept(inputs[0], F.expr(operator.where), Port(operator.id)))
            case Project():
                columns = [F.expr(text).alias(name) for name, text in operator.columns.items()]
                return self._only(operator, inputs[0].select(*columns, ARRIVAL, SEQUENCE))
            case Union():
                return self._only(operator, self._united(inputs))
            case Split():
                return self._split(operator, inputs[0])
            case TableJoin():
                return self._only(operator, self._joined(operator, inputs[0]))
            case Function():
                return self._only(operator, self._called(operator, inputs[0]))
        raise TypeError(f"Spark cannot run an operator of kind {operator.kind}")

    def _only(self, operator: Operator, frame: DataFrame) -> dict[Port, DataFrame]:
        return {Port(operator.id): frame}

    def _kept(self, frame: DataFrame, condition: Column, port: Port) -> DataFrame:
        return frame.where(condition & self._mark(port))

    def _united(self, inputs: Sequence[DataFrame]) -> DataFrame:
        return self.one_partition(reduce(DataFrame.union, inputs))

    def one_partition(self, frame: DataFrame) -> DataFrame:
        return frame.coalesce(1) if self._single else frame

    def _split(self, operator: Split, frame: DataFrame) -> dict[Port, DataFrame]:
        conditions = [F.expr(text) for text in operator.conditions.values()]
        if operator.match == "first":
            # CASE stops at the first true condition, so a later one never sees what an earlier one has taken.
            chosen = F.when(conditions[0], 0)
            for number, condition in enumerate(conditions[1:], start=1):
                chosen = chosen.when(condition, number)
            conditions = [chosen == number for number in range(len(conditions))]
        ports = operator.ports
        return {port: self._kept(frame, fits, port) for port, fits in zip(ports, conditions, strict=True)}

    def _joined(self, operator: TableJoin, frame: DataFrame) -> DataFrame:
        # The table's columns get names that no stream has, so that nothing is ambiguous.
        prefix = f"\x1f{operator.table}\x1f"
        table = self._tables[operator.table]
        renamed = table.select(*[F.col(f"`{c}`").alias(prefix + c.lower()) for c in table.columns])
        renamed = renamed.hint("shuffle_hash" if self._single else "broadcast")
        match = [F.col(f"`{mine}`") == F.col(f"`{prefix}{theirs.lower()}`") for mine, theirs in operator.on.items()]
        joined = frame.join(renamed, reduce(lambda a, b: a & b, match), operator.how)
        mine = [c for c in frame.columns if c not in (ARRIVAL, SEQUENCE)]
        theirs = [F.col(f"`{prefix}{c.name.lower()}`").alias(c.name) for c in operator.table_columns]
        kept = joined.select(*[F.col(f"`{c}`") for c in mine], *theirs, ARRIVAL, SEQUENCE)
        return kept.where(self._mark(Port(operator.id)))

    def _called(self, operator: Function, frame: DataFrame) -> DataFrame:
        schema = from_arrow_schema(arrow_schema(operator.schema))
        called: Any = arrow_function(operator.target, operator.schema.names)
        return frame.mapInArrow(called, schema).where(self._mark(Port(operator.id)))
