"""What will grow for as long as a query runs, told before it does."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.language.logical_tree import (
    AggregateNode,
    DistinctNode,
    JoinNode,
    LogicalNode,
    ProjectNode,
    ScanNode,
    SetNode,
    ToStreamNode,
    WindowNode,
    children,
)
from headgate.plan.windows import RowsWindow
from headgate.sql.dialect import sql_of

_REMEDY = "give it a window, such as [RANGE 1 HOUR]"


def growth_warnings(tree: LogicalNode) -> tuple[str, ...]:
    """One sentence for each piece of state that never shrinks."""
    return tuple(dict.fromkeys(_sentences(tree)))


def _sentences(node: LogicalNode) -> Iterator[str]:
    for child in children(node):
        yield from _sentences(child)
    match node:
        case JoinNode():
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if not _leaves(side):
                    yield f"the join with {_name(other)} keeps every row of {_name(side)} for ever; {_REMEDY}"
        case AggregateNode() if node.group and not _leaves(node.input):
            groups = ", ".join(sql_of(means).replace("`", "") for _, means in node.group)
            yield f"GROUP BY keeps a row for each value of {groups} for ever; {_REMEDY}"
        case DistinctNode() if not _leaves(node.input):
            yield f"DISTINCT keeps every row of {_name(node.input)} that differs for ever; {_REMEDY}"
        case SetNode() if node.kind != "union":
            for side in (node.left, node.right):
                if not _leaves(side):
                    yield f"{node.kind.upper()} keeps every row of {_name(side)} for ever; {_REMEDY}"
        case WindowNode() if isinstance(node.window, RowsWindow) and node.window.partition:
            columns = ", ".join(node.window.partition)
            yield f"[{node.window}] keeps {_rows(node.window.count)} for each value of {columns} for ever"
        case ToStreamNode() if node.mode == "dstream" and not _leaves(node.input):
            yield "DSTREAM gives nothing: no row ever leaves its relation; " + _REMEDY
        case ToStreamNode() if node.mode == "rstream" and not _leaves(node.input):
            yield f"RSTREAM gives out ever more rows, for {_name(node.input)} never loses any; {_REMEDY}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _leaves(node: LogicalNode) -> bool:
    """Can rows leave it, so that what is kept of it stays bounded?"""
    match node:
        case WindowNode():
            return isinstance(node.window, RowsWindow) or not node.window.unbounded
        case ScanNode():
            return node.source.flow.expires or node.source.flow.retracts
        case AggregateNode():
            return not node.group or _leaves(node.input)  # a single row, or the groups that still have rows
        case ToStreamNode():
            return False
        case JoinNode():
            return _leaves(node.left) or _leaves(node.right)
        case SetNode() if node.kind == "intersect":
            return _leaves(node.left) or _leaves(node.right)
        case SetNode() if node.kind == "union":
            return _leaves(node.left) and _leaves(node.right)
    return _leaves(next(children(node)))


def _name(node: LogicalNode) -> str:
    """What people call it: the stream or view that it comes from."""
    names = list(dict.fromkeys(_sources(node)))
    return " and ".join(f"'{name}'" for name in names)


def _sources(node: LogicalNode) -> Iterator[str]:
    if isinstance(node, ProjectNode) and node.outputs and all("." in name for name, _ in node.outputs):
        yield node.outputs[0][0].split(".")[0]
        return
    if isinstance(node, ScanNode):
        yield node.source.name
    for child in children(node):
        yield from _sources(child)
