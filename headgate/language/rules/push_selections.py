"""Pushes selections down towards the streams, so that less is kept and less is joined.

A condition is split at its ANDs, and each part moves down as far as the columns it reads exist: through projections
(with columns replaced by their meanings), time windows, DISTINCT, both sides of UNION, EXCEPT and INTERSECT, the side
of a join that has the columns, and GROUP BY if it only reads grouping columns. A part that reads both sides of a join
becomes part of the join condition.

Never through ROWS windows, which count the tuples that a selection would drop; never into the table of a LEFT JOIN,
which would output nulls instead of dropping rows; and not through a UNION of different types, where the condition would
see a different value.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headgate.language.column_types import schema_of
from headgate.language.logical_tree import (
    AggregateNode,
    DistinctNode,
    FilterNode,
    JoinNode,
    LogicalNode,
    ProjectNode,
    SetNode,
    TableJoinNode,
    WindowNode,
    all_of,
    captures,
    columns_of,
    conjuncts,
    substitute,
    with_children,
)
from headgate.plan.windows import RangeWindow
from headgate.sql.dialect import column
from headgate.sql.function_kinds import is_time_window

Parts = list[exp.Expr]


def push_selections(tree: LogicalNode) -> LogicalNode:
    """The tree with every condition as far down as it may go."""
    return _down(tree, [])


def _down(node: LogicalNode, parts: Parts) -> LogicalNode:
    """The step with these conditions applied to its output, as far down as possible."""
    match node:
        case FilterNode():
            return _down(node.input, conjuncts(node.condition) + parts)
        case ProjectNode():
            return _through_project(node, parts)
        case DistinctNode():
            return replace(node, input=_down(node.input, parts))
        case WindowNode() if isinstance(node.window, RangeWindow):
            return replace(node, input=_down(node.input, parts))
        case JoinNode():
            return _through_join(node, parts)
        case TableJoinNode():
            return _through_table_join(node, parts)
        case AggregateNode():
            return _through_aggregate(node, parts)
        case SetNode():
            return _through_set(node, parts)
    return _above(with_children(node, push_selections), parts)


def _above(node: LogicalNode, parts: Parts) -> LogicalNode:
    condition = all_of(parts)
    return node if condition is None else FilterNode(input=node, condition=condition, view=node.view)


def _split(parts: Parts, columns: set[str]) -> tuple[Parts, Parts]:
    """The parts that read these columns alone (and at least one), and the others."""
    fit = [part for part in parts if (read := columns_of(part)) and read <= columns]
    return fit, [part for part in parts if not any(part is one for one in fit)]


def _through_project(node: ProjectNode, parts: Parts) -> LogicalNode:
    meanings = dict(node.outputs)
    below = [substitute(part, meanings) for part in parts if not captures(part, meanings)]
    return _above(replace(node, input=_down(node.input, below)), [p for p in parts if captures(p, meanings)])


def _through_join(node: JoinNode, parts: Parts) -> LogicalNode:
    left, rest = _split(parts, set(node.left.columns))
    right, rest = _split(rest, set(node.right.columns))
    both, above = _split(rest, set(node.columns))
    joined = replace(
        node,
        left=_down(node.left, left),
        right=_down(node.right, right),
        condition=all_of(conjuncts(node.condition) + both),
    )
    return _above(joined, above)


def _through_table_join(node: TableJoinNode, parts: Parts) -> LogicalNode:
    below, rest = _split(parts, set(node.input.columns))
    both, above = _split(rest, set(node.columns)) if node.how == "inner" else ([], rest)
    joined = replace(node, input=_down(node.input, below), condition=all_of(conjuncts(node.condition) + both))
    return _above(joined, above)


def _through_aggregate(node: AggregateNode, parts: Parts) -> LogicalNode:
    meanings = {name: means for name, means in node.group if not is_time_window(means)}
    below, above = _split(parts, set(meanings))
    above += [part for part in below if captures(part, meanings)]
    below = [substitute(part, meanings) for part in below if not captures(part, meanings)]
    return _above(replace(node, input=_down(node.input, below)), above)


def _through_set(node: SetNode, parts: Parts) -> LogicalNode:
    left, right = schema_of(node.left), schema_of(node.right)
    pairs = zip(left, right, strict=True)
    same: dict[str, exp.Expr] = {a.name: column(b.name) for a, b in pairs if a.type is not None and a.type == b.type}
    below, above = _split(parts, set(same))
    above += [part for part in below if captures(part, same)]
    below = [part for part in below if not captures(part, same)]
    renamed = [substitute(part, same) for part in below]
    return _above(replace(node, left=_down(node.left, below), right=_down(node.right, renamed)), above)
