"""Drops unused columns early: below joins, GROUP BY and ROWS windows, which remember their input.

A projection may pass any step that uses other columns only. So each step asks the one below it for the columns that are
needed above, and for those it uses itself. DISTINCT, EXCEPT, INTERSECT and the stream functions use whole rows; a
window [PARTITION BY c ROWS n] uses its columns c.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headgate.language.logical_tree import (
    AggregateNode,
    FilterNode,
    JoinNode,
    LogicalNode,
    NamedExpressions,
    ProjectNode,
    SetNode,
    TableJoinNode,
    WindowNode,
    all_of,
    columns_of,
    conjuncts,
    equal_columns,
    with_children,
)
from headgate.plan.windows import RowsWindow
from headgate.sql.dialect import column


def push_projections(tree: LogicalNode) -> LogicalNode:
    """The tree with unused columns dropped as early as possible."""
    return _keep(tree, set(tree.columns))


def _keep(node: LogicalNode, needed: set[str]) -> LogicalNode:
    """The step with at least the needed columns, in the same order."""
    match node:
        case FilterNode():
            return replace(node, input=_keep(node.input, needed | columns_of(node.condition)))
        case WindowNode() if isinstance(node.window, RowsWindow):
            return replace(node, input=_only(node.input, needed | set(node.window.partition)))
        case WindowNode():
            return replace(node, input=_keep(node.input, needed))
        case ProjectNode():
            outputs = tuple((n, means) for n, means in node.outputs if n in needed) or node.outputs[:1]
            return replace(node, outputs=outputs, input=_keep(node.input, _read(outputs)))
        case JoinNode():
            wanted = needed | _read_by(node.condition)
            left, right = wanted & set(node.left.columns), wanted & set(node.right.columns)
            return replace(node, left=_only(node.left, left), right=_only(node.right, right))
        case TableJoinNode():
            return _table_join(node, needed)
        case AggregateNode():
            values = tuple((n, means) for n, means in node.values if n in needed)
            if not node.group and not values:
                values = node.values[:1]
            below = _for_groups(node.input, _read((*node.group, *values)))
            return replace(node, values=values, input=below)
        case SetNode() if node.kind == "union":
            return _union(node, needed)
    return with_children(node, lambda child: _keep(child, set(child.columns)))


def _table_join(node: TableJoinNode, needed: set[str]) -> LogicalNode:
    """A column of the table that is only compared with a column of the input need not be in the output."""
    table = dict(node.outputs)
    mine = set(node.input.columns)
    parts = conjuncts(node.condition)
    pairs = list(node.pairs)
    rest: list[exp.Expr] = []
    for part in parts:
        others = [columns_of(other) for other in parts if other is not part]
        pair = equal_columns(part, mine, table)
        if pair is None or pair[1] in needed.union(*others) or pair[0] in dict(pairs):
            rest.append(part)
        else:
            pairs.append((pair[0], table[pair[1]]))
    condition = all_of(rest)
    wanted = needed | _read_by(condition)
    return replace(
        node,
        outputs=tuple((name, source) for name, source in node.outputs if name in wanted),
        pairs=tuple(pairs),
        condition=condition,
        input=_keep(node.input, (wanted & mine) | set(dict(pairs))),
    )


def _union(node: SetNode, needed: set[str]) -> LogicalNode:
    places = [i for i, name in enumerate(node.columns) if name in needed] or [0]
    sides = []
    for side in (node.left, node.right):
        wanted = [side.columns[i] for i in places]
        sides.append(_exactly(_keep(side, set(wanted)), wanted))
    return replace(node, left=sides[0], right=sides[1])


def _only(node: LogicalNode, wanted: set[str]) -> LogicalNode:
    """The step with exactly these columns, but at least one."""
    names = [name for name in node.columns if name in wanted] or list(node.columns[:1])
    return _exactly(_keep(node, set(names)), names)


def _exactly(node: LogicalNode, names: list[str]) -> LogicalNode:
    if node.columns == tuple(names):
        return node
    return ProjectNode(input=node, outputs=tuple((name, column(name)) for name in names), view=node.view)


def _for_groups(node: LogicalNode, wanted: set[str]) -> LogicalNode:
    """The input of GROUP BY. What a ROWS window keeps is small anyway, so another step would not pay off."""
    if isinstance(node, WindowNode) and isinstance(node.window, RowsWindow):
        return _keep(node, wanted)
    return _only(node, wanted)


def _read(named: NamedExpressions) -> set[str]:
    return set().union(*(columns_of(means) for _, means in named))


def _read_by(condition: exp.Expr | None) -> set[str]:
    return set() if condition is None else columns_of(condition)
