"""Operators as DataFrames: how Spark computes each kind of operator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from headgate.plan.arrow_types import arrow_schema
from headgate.plan.flows import Flow
from headgate.plan.operators import (
    Function,
    OnTime,
    Operator,
    Port,
    Project,
    Select,
    Split,
    TableJoin,
    TimeWindow,
    Union,
)
from headgate.runtime.spark.calls.table_versions import VALID_FROM, VALID_UNTIL
from headgate.runtime.spark.calls.user_functions import arrow_function
from headgate.runtime.spark.stateful.base import CallBounds, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import as_relation, on_time
from headgate.sql.schema import ARRIVAL, RELATION_STAMPS

Tables = Mapping[str, DataFrame]


class Composer:
    """Builds the DataFrame of each output of an operator from those of its inputs.

    `mark` turns a port into a condition that is always true; the plan keeps it as a filter, whose row count is the
    port's (see internals/row_counts.py). `single`: all inputs have one partition and the result must have one too, so
    joins avoid every exchange. `stateful` says how operators with state are computed.
    """

    def __init__(
        self,
        mark: Callable[[Port], Column],
        tables: Tables,
        flows: Mapping[Port, Flow],
        stateful: Mapping[str, Stateful],
        single: bool,
    ) -> None:
        self._mark = mark
        self._tables = tables
        self._flows = flows
        self._stateful = stateful
        self._single = single

    def step(
        self, operator: Operator, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds
    ) -> StepResult:
        """The output of an operator with state, and the rows that it adds to its logs."""
        step = self._stateful[operator.id].step(inputs, logs, bounds)
        return StepResult(step.output.where(self._mark(Port(operator.id))), step.grown, step.joint)

    def outputs(self, operator: Operator, inputs: Sequence[DataFrame]) -> dict[Port, DataFrame]:
        """The outputs of an operator without state, which treats each row by itself."""
        match operator:
            case Select():
                return self._single_output(
                    operator, self._filtered(inputs[0], F.expr(operator.where), Port(operator.id))
                )
            case Project():
                columns = [F.expr(text).alias(name) for name, text in operator.columns.items()]
                return self._single_output(operator, inputs[0].select(*columns, *stamps_of(inputs[0])))
            case TimeWindow():
                flow = self._flows[operator.inputs[0]]
                frame = as_relation(inputs[0], operator.window, flow)
                return self._single_output(operator, frame.where(self._mark(Port(operator.id))))
            case OnTime():
                return self._single_output(operator, self._filtered(inputs[0], on_time(), Port(operator.id)))
            case Union():
                return self._single_output(operator, self._united(inputs))
            case Split():
                return self._split(operator, inputs[0])
            case TableJoin():
                return self._single_output(operator, self._joined(operator, inputs[0]))
            case Function():
                return self._single_output(operator, self._called(operator, inputs[0]))
        raise TypeError(f"Spark cannot run an operator of kind {operator.kind}")

    def _single_output(self, operator: Operator, frame: DataFrame) -> dict[Port, DataFrame]:
        return {Port(operator.id): frame}

    def _filtered(self, frame: DataFrame, condition: Column, port: Port) -> DataFrame:
        return frame.where(condition & self._mark(port))

    def _united(self, inputs: Sequence[DataFrame]) -> DataFrame:
        return self.one_partition(reduce(DataFrame.union, inputs))

    def one_partition(self, frame: DataFrame) -> DataFrame:
        """The frame in one partition, if everything must be."""
        return frame.coalesce(1) if self._single else frame

    def _split(self, operator: Split, frame: DataFrame) -> dict[Port, DataFrame]:
        conditions = [F.expr(text) for text in operator.conditions.values()]
        if operator.match == "first":
            # CASE stops at the first true condition, so a later one is never evaluated on rows of an earlier one.
            chosen = F.when(conditions[0], 0)
            for number, condition in enumerate(conditions[1:], start=1):
                chosen = chosen.when(condition, number)
            conditions = [chosen == number for number in range(len(conditions))]
        ports = operator.ports
        return {port: self._filtered(frame, fits, port) for port, fits in zip(ports, conditions, strict=True)}

    def _joined(self, operator: TableJoin, frame: DataFrame) -> DataFrame:
        # The table's columns get names that no stream has, so that none is ambiguous. Columns of the output are there
        # a second time under their output names, for the condition.
        prefix = f"\x1f{operator.table}\x1f"
        table = self._tables[operator.table]
        named = {c.lower(): F.col(f"`{c}`") for c in table.columns}
        keep = operator.keep or {}
        renamed = table.select(
            *[source.alias(prefix + name) for name, source in named.items()],
            *[named[source.lower()].alias(name) for name, source in keep.items()],
        )
        match = [F.col(f"`{mine}`") == F.col(f"`{prefix}{theirs.lower()}`") for mine, theirs in operator.on.items()]
        if match:
            renamed = renamed.hint("shuffle_hash" if self._single else "broadcast")
        if VALID_FROM in table.columns:
            arrival = F.col(f"`{ARRIVAL}`")
            match += [arrival >= F.col(f"`{prefix}{VALID_FROM}`"), arrival < F.col(f"`{prefix}{VALID_UNTIL}`")]
        if operator.condition:
            match.append(F.expr(operator.condition))
        joined = frame.join(renamed, reduce(lambda a, b: a & b, match, F.lit(True)), operator.how)
        mine = [c for c in frame.columns if c not in RELATION_STAMPS]
        if operator.keep is not None:
            theirs = [F.col(f"`{name}`") for name in keep]
        else:
            theirs = [F.col(f"`{prefix}{c.name.lower()}`").alias(c.name) for c in operator.table_columns]
        kept = joined.select(*[F.col(f"`{c}`") for c in mine], *theirs, *stamps_of(frame))
        return kept.where(self._mark(Port(operator.id)))

    def _called(self, operator: Function, frame: DataFrame) -> DataFrame:
        columns = arrow_schema(operator.schema, stamps=False)
        stamps = stamps_of(frame)
        schema = StructType([*from_arrow_schema(columns).fields, *[frame.schema[name] for name in stamps]])
        called: Any = arrow_function(operator.target, columns, stamps, operator.time_limit_s)
        return frame.mapInArrow(called, schema).where(self._mark(Port(operator.id)))


def stamps_of(frame: DataFrame) -> tuple[str, ...]:
    """The stamp columns of a frame, in their fixed order."""
    return tuple(name for name in RELATION_STAMPS if name in frame.columns)
