"""Moves time windows up over selections, projections and table joins, to the operator that keeps state.

A time window only says until when a row counts, and these steps treat each row alone, so either may come first. On
top of them the window costs nothing: the operator above applies it to its input.
"""

from __future__ import annotations

from dataclasses import replace

from headgate.language.logical_tree import (
    FilterNode,
    LogicalNode,
    ProjectNode,
    TableJoinNode,
    WindowNode,
    with_children,
)
from headgate.plan.windows import RangeWindow


def lift_windows(tree: LogicalNode) -> LogicalNode:
    """The tree with every time window as far up as it may go."""
    node = with_children(tree, lift_windows)
    if isinstance(node, (FilterNode, ProjectNode, TableJoinNode)):
        below = node.input
        if isinstance(below, WindowNode) and isinstance(below.window, RangeWindow):
            return replace(below, input=replace(node, input=below.input), view=node.view)
    return node
