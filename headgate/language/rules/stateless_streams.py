"""Removes stream functions that need no state: ISTREAM of a stream is the stream, RSTREAM over [NOW] the one below it.

A row of S [NOW] is in the relation only at the instant of its tuple, so the relation at all instants together is every
tuple once, at its own time; selections, projections and table joins preserve that. For ISTREAM over [NOW] this holds
only if the time column is among the results: otherwise equal rows at neighboring ticks would cancel out. Nothing ever
leaves an unbounded stream, so the rows added to it are its tuples. Tuples that are too late for a window are dropped
here as well.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headgate.language.logical_tree import (
    FilterNode,
    LogicalNode,
    OnTimeNode,
    ProjectNode,
    ScanNode,
    TableJoinNode,
    ToStreamNode,
    WindowNode,
    clock_of,
    with_children,
)
from headgate.plan.windows import NOW, Clock


def stateless_streams(tree: LogicalNode) -> LogicalNode:
    """The tree without stream functions that need no state."""
    node = with_children(tree, stateless_streams)
    if not isinstance(node, ToStreamNode) or node.mode == "dstream":
        return node
    if not node.input.relation:
        return node.input if node.mode == "istream" else node
    below = _without_now(node.input)
    if below is None or (node.mode == "istream" and not _shows_time(below)):
        return node
    return below if clock_of(below) is Clock.ARRIVAL else OnTimeNode(input=below, view=node.view)


def _without_now(node: LogicalNode) -> LogicalNode | None:
    """The same steps without the window [NOW]; None if there is anything else than stateless steps."""
    if isinstance(node, WindowNode):
        return node.input if node.window == NOW else None
    if isinstance(node, (FilterNode, ProjectNode, TableJoinNode)):
        below = _without_now(node.input)
        return None if below is None else replace(node, input=below)
    return None


def _shows_time(node: LogicalNode) -> bool:
    return bool(_times(node))


def _times(node: LogicalNode) -> set[str]:
    """The columns that hold the time of the stream, unchanged."""
    if isinstance(node, ScanNode):
        time = node.source.time
        return {name for name in node.columns if time is not None and name.lower() == time.lower()}
    if isinstance(node, ProjectNode):
        times = _times(node.input)
        return {name for name, means in node.outputs if isinstance(means, exp.Column) and means.name in times}
    if isinstance(node, (FilterNode, TableJoinNode)):
        return _times(node.input)
    return set()
