"""Decomposes aggregate expressions into calls whose partial values can be merged: count, sum, avg, min, max, ...

Each row is first turned into partial values (1 for a count, v for sum(v)); from then on rows, panes and logged values
are merged by one function per column. Aggregates that cannot be decomposed are computed by `recompute.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import sqlglot
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StructField,
    StructType,
)
from pyspark.sql.window import WindowSpec
from sqlglot import exp

from headgate.runtime.spark.internals.empty_frame import empty_frame
from headgate.runtime.spark.internals.row_counts import nodes
from headgate.runtime.spark.stateful.frames import col, cols, private, user_fields
from headgate.sql.dialect import read_expression, sql_of
from headgate.sql.field_names import replacement_for
from headgate.sql.function_kinds import is_aggregate
from headgate.sql.schema import RELATION_STAMPS

_PARTIAL = re.compile(f"`({private('partial')}[0-9]+)`")
_MERGE = {"sum": F.sum, "min": F.min, "max": F.max}
# Function -> the call that it is a name for.
_CALLS = {name: name for name in ("count", "sum", "avg", "min", "max", "count_if", "bool_and", "bool_or")} | {
    "every": "bool_and",
    "some": "bool_or",
    "any": "bool_or",
    "mean": "avg",
}
# Functions whose value is the same in any order of the rows, to the last bit.
_ORDERLESS = frozenset(
    {*_CALLS, "approx_count_distinct", "bit_and", "bit_or", "bit_xor", "count_distinct", "median", "percentile"}
) - {"sum", "avg", "mean"}


@dataclass(frozen=True)
class PartialColumn:
    """A column of partial values: what a row contributes (Spark SQL text), and how values are merged."""

    name: str
    text: str
    merge: str  # sum, min, max
    type: DataType

    @property
    def ordered(self) -> bool:
        """Do the last bits of the merged value depend on the order?"""
        return self.merge == "sum" and isinstance(self.type, (DoubleType, FloatType))

    @property
    def exact_sum(self) -> bool:
        """Is it a sum that can be added and subtracted exactly?"""
        return self.merge == "sum" and not self.ordered

    def row(self) -> Column:
        """What one row contributes."""
        return F.expr(self.text).cast(self.type).alias(self.name)

    def merged(self, where: Column | None = None, name: str | None = None) -> Column:
        """The merged value of many rows, or of those that meet a condition."""
        value = col(self.name) if where is None else F.when(where, col(self.name))
        return _MERGE[self.merge](value).cast(self.type).alias(name or self.name)

    def weighed(self, times: Column) -> Column:
        """What this many equal rows add, or take away. Multiplying a decimal loses digits, so 1 and -1 are not
        multiplied by."""
        value = col(self.name)
        if not self.exact_sum:
            return value
        many = (value * times).cast(self.type)
        return F.when(times == 1, value).when(times == -1, (-value).cast(self.type)).otherwise(many)

    def running(self, frame: WindowSpec) -> Column:
        """The merged value over a window frame."""
        return _MERGE[self.merge](col(self.name)).over(frame).cast(self.type).alias(self.name)

    def field(self) -> StructField:
        """The column's field in a schema."""
        return StructField(self.name, self.type, True)


@dataclass
class AggregateCalls:
    """All values of an aggregate operator, as partial columns and final expressions over them."""

    partials: list[PartialColumn] = field(default_factory=list)
    finals: dict[str, tuple[str, DataType]] = field(default_factory=dict)  # output name -> (text over calls, type)
    calls: dict[str, str] = field(default_factory=dict)  # name of a call -> its value, as text over partial columns

    @property
    def ordered(self) -> list[str]:
        """The names of partial columns that must be merged in order."""
        return [p.name for p in self.partials if p.ordered]

    def valued(self, frame: DataFrame, where: Column, partials: Sequence[str], names: Sequence[str] = ()) -> DataFrame:
        """The frame with the values added, computed from the merged partial columns of these names.

        Only rows that meet `where` get values: an expression such as `1 / count(*)` may fail on the others.
        """
        mine = {p.name: f"`{name}`" for p, name in zip(self.partials, partials, strict=True)}
        texts = {name: _PARTIAL.sub(lambda found: mine[found[1]], text) for name, text in self.calls.items()}
        calls = frame.select("*", *[F.expr(text).alias(name) for name, text in texts.items()])
        named = zip(self.finals.values(), names or self.finals, strict=True)
        values = [F.when(where, F.expr(text)).cast(kind).alias(name) for (text, kind), name in named]
        return calls.select(*cols(frame.columns), *values)

    def results(self, frame: DataFrame, group: Sequence[str], stamps: Sequence[Column]) -> DataFrame:
        """Output rows from merged partial columns: groups under their output names, then values, then stamps."""
        groups = group_columns(len(group))
        kept = [private(f"stamp{i}") for i in range(len(stamps))]
        calls = frame.select(
            *cols(groups),
            *[F.expr(text).alias(name) for name, text in self.calls.items()],
            *[stamp.alias(name) for stamp, name in zip(stamps, kept, strict=True)],
        )
        return calls.select(
            *[col(mine).alias(name) for mine, name in zip(groups, group, strict=True)],
            *[F.expr(text).cast(kind).alias(name) for name, (text, kind) in self.finals.items()],
            *[
                col(mine).alias(name) for mine, name in zip(kept, RELATION_STAMPS, strict=False)
            ],  # a stream has only the first ones
        )


def group_columns(count: int) -> list[str]:
    """The private names of the columns that hold the groups."""
    return [private(f"group{i}") for i in range(count)]


def group_fields(names: Sequence[str], types: StructType) -> list[StructField]:
    """The fields of the group columns; `types` are the types of all results, groups first."""
    kinds = [f.dataType for f in types][: len(names)]
    return [StructField(name, kind, True) for name, kind in zip(names, kinds, strict=True)]


def group_values(names: Sequence[str], group: Mapping[str, str]) -> list[Column]:
    """The values of a row's group columns."""
    return [F.expr(text).alias(name) for name, text in zip(names, group.values(), strict=True)]


def columns_read(schema: StructType, texts: Sequence[str]) -> set[str]:
    """The columns that expressions may refer to: those whose name occurs anywhere in one."""
    words = {word.lower() for text in texts for word in re.findall(r"\w+", text)}
    whole = " ".join(texts).lower()
    return {
        f.name for f in schema if f.name.lower() in words or (not f.name.isidentifier() and f.name.lower() in whole)
    }


def value_types(
    session: SparkSession, schema: StructType, group: Mapping[str, str], values: Mapping[str, str]
) -> StructType:
    """The user columns of the output, with the types that Spark's analyzer gives the original expressions."""
    empty = empty_frame(session, StructType(user_fields(schema)))
    groups = [F.expr(text).alias(name) for name, text in group.items()]
    found = [F.expr(text).alias(name) for name, text in values.items()]
    if not found:
        return StructType(user_fields(empty.select(*groups).schema))
    return StructType(user_fields(empty.groupBy(*groups).agg(*found).schema))


def order_matters(text: str) -> bool:
    """Can the value of an aggregate depend on the order of the rows? Sums of reals do, in their last bits."""
    try:
        called = list(read_expression(text).find_all(exp.Func))
    except sqlglot.errors.SqlglotError:
        return True
    return not all(isinstance(f, exp.Anonymous) and f.name.lower() in _ORDERLESS for f in called)


def decompose(
    session: SparkSession,
    schema: StructType,
    group: Mapping[str, str],
    values: Mapping[str, str],
    types: StructType,
    signed: bool = False,
) -> AggregateCalls | None:
    """The calls of these values; None if some value must be computed from all rows at once.

    `signed`: rows will also be subtracted. Then all partial values must be exact sums, and each sum also counts its
    values.
    """
    try:
        groups = [read_expression(text) for text in group.values()]
        reader = _Decomposer(session, StructType(user_fields(schema)), groups, signed)
        for name, text in values.items():
            reader.take(name, text, types[name].dataType)
        reader.check(types)
        if signed and not all(partial.exact_sum for partial in reader.found.partials):
            return None
    except (_NotMergeable, sqlglot.errors.SqlglotError, PySparkException):
        return None
    return reader.found


class _NotMergeable(Exception):
    """The aggregate must be computed from all rows at once."""


class _Decomposer:
    """Collects the calls of one operator's values. Raises _NotMergeable where one cannot be decomposed."""

    def __init__(self, session: SparkSession, schema: StructType, groups: list[exp.Expr], signed: bool) -> None:
        self._empty = empty_frame(session, schema)
        self._session = session
        self._signed = signed
        self._groups = dict(zip(groups, group_columns(len(groups)), strict=True))
        self.found = AggregateCalls()

    def take(self, name: str, text: str, kind: DataType) -> None:
        """Decompose one value, given as Spark SQL."""
        tree = read_expression(text).transform(self._replaced)
        placed = {*self.found.calls, *self._groups.values()}
        if any(column.name not in placed for column in tree.find_all(exp.Column)):
            raise _NotMergeable
        self.found.finals[name] = (sql_of(tree), kind)

    def check(self, types: StructType) -> None:
        """Check that Spark gives the final expressions the original types and finds no aggregate left in them."""
        group_types = [f.dataType for f in types][: len(self._groups)]
        fields = [StructField(n, t) for n, t in zip(group_columns(len(self._groups)), group_types, strict=True)]
        merged = empty_frame(self._session, StructType([*fields, *[p.field() for p in self.found.partials]]))
        calls = merged.select(
            *[col(f.name) for f in fields], *[F.expr(text).alias(n) for n, text in self.found.calls.items()]
        )
        final = calls.select(*[F.expr(text).alias(n) for n, (text, _) in self.found.finals.items()])
        analyzed = final._jdf.queryExecution().analyzed()
        if any(node.getClass().getSimpleName() in ("Aggregate", "Window", "Generate") for node in nodes(analyzed)):
            raise _NotMergeable
        for column in final.schema:
            if column.dataType != types[column.name].dataType:
                raise _NotMergeable

    def _replaced(self, node: exp.Expr) -> exp.Expr:
        if name := self._groups.get(node):
            return replacement_for(node, exp.column(exp.to_identifier(name, quoted=True)))
        condition = None
        call = node
        if isinstance(node, exp.Filter):
            call, condition = node.this, sql_of(node.expression)
        kind, arguments = _called(call)
        if kind is None:
            if is_aggregate(call) or condition is not None:
                raise _NotMergeable
            return node
        text = self._call(kind, arguments, condition)
        name = private(f"call{len(self.found.calls)}")
        self.found.calls[name] = text
        return replacement_for(node, exp.column(exp.to_identifier(name, quoted=True)))

    def _call(self, kind: str, arguments: list[str], condition: str | None) -> str:
        """Add the partial columns of a call; returns its value, as text over them."""
        if kind == "count":
            tests = [] if arguments == ["*"] else [f"({a}) IS NOT NULL" for a in arguments]
            return f"coalesce(`{self._counted(tests, condition)}`, 0L)"
        if len(arguments) != 1:
            raise _NotMergeable
        argument = arguments[0]
        if kind == "count_if":
            return f"coalesce(`{self._counted([f'({argument})'], condition)}`, 0L)"
        given = self._type(argument)
        if kind in ("bool_and", "bool_or"):
            if not isinstance(given, BooleanType):
                raise _NotMergeable
            return self._one(argument, condition, "min" if kind == "bool_and" else "max", given)
        if kind in ("min", "max"):
            return self._one(argument, condition, kind, given)
        if not isinstance(given, NumericType):
            raise _NotMergeable
        if kind == "sum" and not self._signed:
            return self._one(argument, condition, "sum", _sum_type(given))
        count = self._counted([f"({argument}) IS NOT NULL"], condition)
        if kind == "sum":
            return f"CASE WHEN `{count}` > 0 THEN {self._one(argument, condition, 'sum', _sum_type(given))} END"
        if isinstance(given, DecimalType):  # Spark rounds averages of decimals in a special way
            raise _NotMergeable
        # Short integers add up exactly, so their order does not matter, and the sum is the same as Spark's own.
        short = isinstance(given, (ByteType, ShortType, IntegerType))
        total = self._one(argument, condition, "sum", LongType() if short else DoubleType())
        return f"CASE WHEN `{count}` > 0 THEN CAST({total} AS DOUBLE) / `{count}` END"

    def _counted(self, tests: list[str], condition: str | None) -> str:
        tests = [*([f"({condition})"] if condition else []), *tests]
        text = f"CASE WHEN {' AND '.join(tests)} THEN 1L ELSE 0L END" if tests else "1L"
        return self._partial(text, "sum", LongType())

    def _one(self, argument: str, condition: str | None, merge: str, kind: DataType) -> str:
        text = f"CASE WHEN ({condition}) THEN ({argument}) END" if condition else f"({argument})"
        return f"`{self._partial(text, merge, kind)}`"

    def _partial(self, text: str, merge: str, kind: DataType) -> str:
        """The name of this partial column; calls that need the same column share it."""
        for partial in self.found.partials:
            if (partial.text, partial.merge, partial.type) == (text, merge, kind):
                return partial.name
        partial = PartialColumn(private(f"partial{len(self.found.partials)}"), text, merge, kind)
        self.found.partials.append(partial)
        return partial.name

    def _type(self, argument: str) -> DataType:
        frame = self._empty.select(F.expr(argument).alias("x"))
        if any(
            node.getClass().getSimpleName() == "Aggregate" for node in nodes(frame._jdf.queryExecution().analyzed())
        ):
            raise _NotMergeable
        return frame.schema[0].dataType


def _sum_type(given: DataType) -> DataType:
    if isinstance(given, DecimalType):
        return DecimalType(min(38, given.precision + 10), given.scale)
    return DoubleType() if isinstance(given, (FloatType, DoubleType)) else LongType()


def _called(node: exp.Expr) -> tuple[str | None, list[str]]:
    """The call that a node is, and its arguments; (None, []) if it is none."""
    if not isinstance(node, exp.Anonymous) or node.name.lower() not in _CALLS:
        return None, []
    opening, *others = node.args["words"]
    if not opening.endswith("(") or any(word not in (",", ")") for word in others):  # DISTINCT, FILTER and the like
        raise _NotMergeable
    return _CALLS[node.name.lower()], [sql_of(part) for part in node.expressions]
