"""The logical tree of a query: streams at the leaves, one node per step. Rules rewrite it, lower.py makes operators.

Expressions are sqlglot's, with every column called by its single full name (see scope.py). Nodes are frozen and compare
by value, so that a view that is used twice is recognized and computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeVar

from sqlglot import exp

from headgate.plan.flows import Flow
from headgate.plan.operators.base import Port
from headgate.plan.operators.relation_to_stream import Mode
from headgate.plan.windows import Clock, RowsWindow, Span, Window
from headgate.sql.field_names import replacement_for
from headgate.sql.schema import Schema

NamedExpressions = tuple[tuple[str, exp.Expr], ...]  # output name, expression
Kind = TypeVar("Kind", bound="LogicalNode")


@dataclass(frozen=True, kw_only=True)
class LogicalNode:
    """One step. `view` names the view of WITH that it belongs to; it becomes part of the operator's name."""

    view: str = field(default="", compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output columns. Default: those of the input."""
        return next(children(self)).columns

    @property
    def relation(self) -> bool:
        """Is the output a relation, rather than a stream? Default: as the input."""
        return next(children(self)).relation


@dataclass(frozen=True)
class Readable:
    """What FROM may name: a stream, or the result of another query of the application.

    `triggers` and `slides` say when it has input; an RSTREAM above it needs that.
    """

    name: str
    port: Port
    schema: Schema
    flow: Flow
    time: str | None = None  # the column that holds its time, if there is one
    triggers: tuple[Trigger, ...] = ()
    slides: tuple[Span, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ScanNode(LogicalNode):
    """Reads a stream or the result of another query."""

    source: Readable

    @property
    def columns(self) -> tuple[str, ...]:
        return self.source.schema.names

    @property
    def relation(self) -> bool:
        return self.source.flow.relation


@dataclass(frozen=True, kw_only=True)
class ViewNode(LogicalNode):
    """A view of WITH that is read more than once. Rules rewrite its inside, but move nothing into it."""

    input: LogicalNode
    name: str


@dataclass(frozen=True, kw_only=True)
class WindowNode(LogicalNode):
    """A window on a stream."""

    input: LogicalNode
    window: Window

    @property
    def relation(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class FilterNode(LogicalNode):
    """WHERE or HAVING."""

    input: LogicalNode
    condition: exp.Expr


@dataclass(frozen=True, kw_only=True)
class ProjectNode(LogicalNode):
    """Computes the output columns, row by row."""

    input: LogicalNode
    outputs: NamedExpressions

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.outputs)


@dataclass(frozen=True, kw_only=True)
class JoinNode(LogicalNode):
    """Every matching pair of rows; the two sides have no column names in common."""

    left: LogicalNode
    right: LogicalNode
    condition: exp.Expr | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.left.columns, *self.right.columns)

    @property
    def relation(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class TableJoinNode(LogicalNode):
    """A join with a stored table."""

    input: LogicalNode
    table: str
    table_schema: Schema
    outputs: tuple[tuple[str, str], ...]  # output name, column of the table
    pairs: tuple[tuple[str, str], ...] = ()  # column of the input = column of the table that is not in the output
    condition: exp.Expr | None = None
    how: Literal["inner", "left"] = "inner"

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.input.columns, *(name for name, _ in self.outputs))


@dataclass(frozen=True, kw_only=True)
class AggregateNode(LogicalNode):
    """GROUP BY: the grouping expressions, then the aggregates."""

    input: LogicalNode
    group: NamedExpressions
    values: NamedExpressions

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in (*self.group, *self.values))

    @property
    def relation(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class DistinctNode(LogicalNode):
    """SELECT DISTINCT, or UNION without ALL."""

    input: LogicalNode

    @property
    def relation(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class SetNode(LogicalNode):
    """UNION ALL, EXCEPT or INTERSECT; the left side names the columns. `all` keeps duplicates."""

    left: LogicalNode
    right: LogicalNode
    kind: Literal["union", "except", "intersect"]
    all: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.left.columns

    @property
    def relation(self) -> bool:
        return self.kind != "union" or self.left.relation or self.right.relation


@dataclass(frozen=True, kw_only=True)
class ToStreamNode(LogicalNode):
    """ISTREAM, DSTREAM or RSTREAM. `triggers` and `slides` are only for RSTREAM: they say when it outputs."""

    input: LogicalNode
    mode: Mode | Literal["rstream"]
    triggers: tuple[Trigger, ...] = ()
    slides: tuple[Span, ...] = ()

    @property
    def relation(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class OnTimeNode(LogicalNode):
    """Drops the tuples of a stream that come too late for a window."""

    input: LogicalNode


Trigger = Port | WindowNode  # a stream whose tuples trigger an RSTREAM, or a ROWS .. SLIDE window whose evaluations do


def children(node: LogicalNode) -> Iterator[LogicalNode]:
    """The inputs of a step; without the triggers of an RSTREAM, which no rule may touch."""
    for name in ("input", "left", "right"):
        child = getattr(node, name, None)
        if child is not None:
            yield child


def clock_of(node: LogicalNode) -> Clock:
    """What time is measured by; all streams of a query share one clock."""
    while not isinstance(node, ScanNode):
        node = next(children(node))
    return node.source.flow.clock


def with_children(node: Kind, change: Callable[[LogicalNode], LogicalNode]) -> Kind:
    """The same step with its inputs changed."""
    own = {f.name for f in fields(node)} & {"input", "left", "right"}
    return replace(node, **{name: change(getattr(node, name)) for name in own})  # type: ignore[arg-type]


def triggers_of(node: LogicalNode) -> tuple[tuple[Trigger, ...], tuple[Span, ...]]:
    """What an RSTREAM over this step is triggered by: tuples of these streams, and multiples of these slides."""
    triggers: list[Trigger] = []
    slides: list[Span] = []
    if isinstance(node, ScanNode):
        triggers += node.source.triggers
        slides += node.source.slides
    elif isinstance(node, WindowNode) and isinstance(node.window, RowsWindow) and node.window.slide > 1:
        triggers.append(node)
    elif isinstance(node, WindowNode) and not isinstance(node.window, RowsWindow) and node.window.slide is not None:
        slides.append(node.window.slide)
    else:
        for child in children(node):
            more, spans = triggers_of(child)
            triggers += more
            slides += spans
    return tuple(dict.fromkeys(triggers)), tuple(dict.fromkeys(slides))


def columns_of(expression: exp.Expr) -> set[str]:
    """The columns that an expression reads."""
    return {node.name for node in expression.find_all(exp.Column)}


def substitute(expression: exp.Expr, meanings: dict[str, exp.Expr]) -> exp.Expr:
    """The expression with columns replaced by their meanings."""

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name in meanings:
            return replacement_for(node, meanings[node.name].copy())
        return node

    return expression.transform(replaced)


def captures(expression: exp.Expr, meanings: dict[str, exp.Expr]) -> bool:
    """Would a lambda variable in the expression hide a column that `substitute` puts in?"""
    variables = {v.name.lower() for found in expression.find_all(exp.Lambda) for v in found.expressions}
    if not variables:
        return False
    read = [columns_of(meanings[name]) for name in columns_of(expression) if name in meanings]
    return any(name.lower() in variables for names in read for name in names)


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The list of conditions in `a AND b AND c`."""
    if condition is None:
        return []
    bare = condition.unnest()
    if isinstance(bare, exp.And):
        return [*conjuncts(bare.left), *conjuncts(bare.right)]
    return [bare]


def all_of(parts: list[exp.Expr]) -> exp.Expr | None:
    """The conditions joined by AND; None if there are none."""
    if not parts:
        return None
    wrapped = [exp.paren(part) if isinstance(part, (exp.Or, exp.Lambda)) else part.copy() for part in parts]
    result = wrapped[0]
    for part in wrapped[1:]:
        result = exp.And(this=result, expression=part)
    return result if len(parts) > 1 else parts[0].copy()


def equal_columns(part: exp.Expr, mine: Collection[str], theirs: Collection[str]) -> tuple[str, str] | None:
    """The two columns of `mine = theirs`, in this order; None if the condition is something else."""
    if not (isinstance(part, exp.EQ) and isinstance(part.left, exp.Column) and isinstance(part.right, exp.Column)):
        return None
    left, right = part.left.name, part.right.name
    if left in theirs:
        left, right = right, left
    return (left, right) if left in mine and right in theirs else None
