"""For queries that skip bad rows: moves expressions that may fail out of operators with state.

An operator that treats each row alone can skip the row that makes it fail. One with state cannot: it may fail long
after the row arrived. So whatever an aggregate computes per row is computed before it, and the conditions of a join
that may fail are evaluated after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

import sqlglot
from sqlglot import exp

from headgate.plan.operators import Aggregate, Project, Select, StreamJoin
from headgate.plan.operators.base import Operator, Port
from headgate.sql.dialect import column, read_expression, sql_of
from headgate.sql.function_kinds import aggregate_calls, is_aggregate, is_time_window

# What cannot fail, whatever the values: reading columns, comparisons, logic.
_SAFE = (
    exp.Column,
    exp.Identifier,
    exp.Literal,
    exp.Boolean,
    exp.Null,
    exp.Paren,
    exp.Star,
    exp.And,
    exp.Or,
    exp.Not,
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.GT,
    exp.GTE,
    exp.LT,
    exp.LTE,
    exp.Is,
    exp.Between,
    exp.In,
)


def split_risky_expressions(operators: Iterable[Operator]) -> tuple[list[Operator], dict[Port, Port]]:
    """Put risky expressions into operators of their own.

    Returns the operators, and for each port that now has a successor that port: see `redirect_inputs`.
    """
    found: list[Operator] = []
    instead: dict[Port, Port] = {}
    for operator in operators:
        parts: list[Operator] = [operator]
        with suppress(sqlglot.errors.SqlglotError):  # an unreadable expression is reported when it is checked
            if isinstance(operator, Aggregate):
                parts = _aggregate(operator)
            elif isinstance(operator, StreamJoin):
                parts = _join(operator)
        found += parts
        if parts[-1].id != operator.id:
            instead[Port(operator.id)] = Port(parts[-1].id)
    return found, instead


def redirect_inputs(operators: Iterable[Operator], instead: Mapping[Port, Port]) -> list[Operator]:
    """All operators, with the replaced ports in their inputs exchanged for their successors."""
    made = {port.node for port in instead.values()}
    return [
        one if one.id in made else replace(one, inputs=tuple(instead.get(port, port) for port in one.inputs))
        for one in operators
    ]


def _may_fail(tree: exp.Expr) -> bool:
    return any(not isinstance(node, _SAFE) for node in tree.walk())


def _join(join: StreamJoin) -> list[Operator]:
    """Move risky conditions of a join behind it; equalities stay, since rows are matched by them."""
    if not join.condition:
        return [join]
    tree = read_expression(join.condition)
    parts = list(tree.flatten()) if isinstance(tree, exp.And) else [tree]
    risky = [part for part in parts if _may_fail(part) and not isinstance(part.unnest(), exp.EQ)]
    if not risky:
        return [join]
    kept = [part for part in parts if part not in risky]
    condition, where = (" AND ".join(f"({sql_of(part)})" for part in some) for some in (kept, risky))
    inside = replace(join, condition=condition)
    return [inside, Select(id=f"{join.id}-where", inputs=(Port(join.id),), where=where)]


def _aggregate(aggregate: Aggregate) -> list[Operator]:
    """Move what an aggregate computes per row in front of it. (CQL never computes with its results inside it.)"""
    taken = {name.lower() for name in (*aggregate.group, *aggregate.values)}
    before: dict[str, str] = {}  # the columns computed in front: name -> expression

    def moved(tree: exp.Expr) -> exp.Expr:
        """The column that replaces an expression, if that may fail; otherwise the expression."""
        if is_time_window(tree) or not _may_fail(tree) or not tree.find(exp.Column):
            return tree
        name = f"in_{len(taken)}"
        while name in taken:
            name += "_"
        taken.add(name)
        before[name] = sql_of(tree)
        return column(name)

    group = {name: moved(read_expression(text)) for name, text in aggregate.group.items()}
    values = {name: _with_arguments(read_expression(text), moved) for name, text in aggregate.values.items()}
    if not before:
        return [aggregate]
    read = [found.parts[0].name for tree in (*group.values(), *values.values()) for found in tree.find_all(exp.Column)]
    passed = {name: sql_of(column(name)) for name in dict.fromkeys(read) if name not in before}
    first = Project(id=f"{aggregate.id}-in", inputs=aggregate.inputs, columns={**passed, **before})
    texts = ({name: sql_of(tree) for name, tree in some.items()} for some in (group, values))
    return [first, replace(aggregate, inputs=(Port(first.id),), group=next(texts), values=next(texts))]


def _with_arguments(value: exp.Expr, moved: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """An aggregate expression with the arguments and filters of its aggregates replaced by `moved`."""
    whole = exp.Paren(this=value)  # a node needs a parent to be replaced
    for call in list(aggregate_calls(value)):
        condition = next((node.expression for node in call.find_all(exp.Filter)), None)
        aggregate = next(node for node in call.walk() if is_aggregate(node))
        for argument in list(aggregate.expressions):
            for part in list(argument.expressions) if isinstance(argument, exp.Distinct) else [argument]:
                guarded = part
                if condition is not None and _may_fail(part):  # for other rows it must not be computed
                    guarded = read_expression(f"CASE WHEN {sql_of(condition)} THEN {sql_of(part)} END")
                instead = moved(guarded)
                if instead is not guarded:
                    part.replace(instead)
        if condition is not None and (instead := moved(condition)) is not condition:
            condition.replace(instead)
    return whole.this
