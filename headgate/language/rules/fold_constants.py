"""Folds constants: TRUE AND x = x, FALSE OR x = x, 1 + 1 = 2, and a selection by TRUE disappears.

Only where Spark certainly agrees: truth values, and whole numbers that stay in the range of INT. Dates, decimals,
casts and strings are left alone, as is division, whose type Spark decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from headgate.language.logical_tree import (
    AggregateNode,
    FilterNode,
    JoinNode,
    LogicalNode,
    NamedExpressions,
    ProjectNode,
    TableJoinNode,
    with_children,
)

_INT = range(-(2**31), 2**31)
_COMPARE: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.EQ: lambda a, b: a == b,
    exp.NEQ: lambda a, b: a != b,
    exp.LT: lambda a, b: a < b,
    exp.LTE: lambda a, b: a <= b,
    exp.GT: lambda a, b: a > b,
    exp.GTE: lambda a, b: a >= b,
}
_COMPUTE: dict[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
}


def fold_constants(tree: LogicalNode) -> LogicalNode:
    """The tree with constants folded in all its expressions except those in GROUP BY."""
    node = with_children(tree, fold_constants)
    match node:
        case FilterNode():
            condition = folded(node.condition)
            return node.input if _truth(condition) is True else replace(node, condition=condition)
        case ProjectNode():
            return replace(node, outputs=_all(node.outputs))
        case AggregateNode():
            return replace(node, values=_all(node.values))
        case JoinNode() | TableJoinNode() if node.condition is not None:
            condition = folded(node.condition)
            return replace(node, condition=None if _truth(condition) is True else condition)
    return node


def _all(named: NamedExpressions) -> NamedExpressions:
    return tuple((name, folded(means)) for name, means in named)


def folded(expression: exp.Expr) -> exp.Expr:
    """The expression with constant parts computed."""
    copy = expression.copy()
    for node in reversed(list(copy.walk())):  # the inner parts first
        new = _step(node)
        if new is not node:
            if node is copy:
                copy = new
            else:
                node.replace(new)
    return copy


def _step(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Paren) and (isinstance(node.this, exp.Literal) or _truth(node.this) is not None):
        return node.this
    if isinstance(node, (exp.And, exp.Or)):
        return _logic(node)
    if isinstance(node, exp.Not) and _truth(node.this) is not None:
        return exp.Boolean(this=not _truth(node.this))
    if isinstance(node, exp.Binary) and (type(node) in _COMPARE or type(node) in _COMPUTE):
        left, right = _number(node.left), _number(node.right)
        if left is not None and right is not None:
            if type(node) in _COMPARE:
                return exp.Boolean(this=_COMPARE[type(node)](left, right))
            result = _COMPUTE[type(node)](left, right)
            return _literal(result) if result in _INT else node
    return node


def _logic(node: exp.And | exp.Or) -> exp.Expr:
    """x AND FALSE is FALSE even when x is null, and x OR TRUE is TRUE."""
    decides = isinstance(node, exp.Or)
    for side, other in ((node.left, node.right), (node.right, node.left)):
        truth = _truth(side)
        if truth is not None:
            return side if truth == decides else other
    return node


def _truth(node: exp.Expr) -> bool | None:
    return bool(node.this) if isinstance(node, exp.Boolean) else None


def _number(node: exp.Expr) -> int | None:
    if isinstance(node, exp.Paren):
        return _number(node.this)
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and int(node.name) in _INT:
        return int(node.name)
    return None


def _literal(value: int) -> exp.Expr:
    number = exp.Literal.number(abs(value))
    return number if value >= 0 else exp.Paren(this=exp.Neg(this=number))
