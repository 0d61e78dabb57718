"""Warns, before a query runs, about state that will keep growing while it does."""

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
    """One sentence for each piece of state that can grow without bound."""
    return tuple(dict.fromkeys(_sentences(tree)))


def _sentences(node: LogicalNode) -> Iterator[str]:
    for child in children(node):
        yield from _sentences(child)
    match node:
        case JoinNode():
            for side, other in ((node.left, node.right), (node.right, node.left)):
                if not _can_lose_rows(side):
                    yield f"the join with {_name(other)} keeps every row of {_name(side)} forever; {_REMEDY}"
        case AggregateNode() if node.group and not _can_lose_rows(node.input):
            groups = ", ".join(sql_of(means).replace("`", "") for _, means in node.group)
            yield f"GROUP BY keeps a row for each value of {groups} forever; {_REMEDY}"
        case DistinctNode() if not _can_lose_rows(node.input):
            yield f"DISTINCT keeps every distinct row of {_name(node.input)} forever; {_REMEDY}"
        case SetNode() if node.kind != "union":
            for side in (node.left, node.right):
                if not _can_lose_rows(side):
                    yield f"{node.kind.upper()} keeps every row of {_name(side)} forever; {_REMEDY}"
        case WindowNode() if isinstance(node.window, RowsWindow) and node.window.partition:
            columns = ", ".join(node.window.partition)
            yield f"[{node.window}] keeps {_rows(node.window.count)} for each value of {columns} forever"
        case ToStreamNode() if node.mode == "dstream" and not _can_lose_rows(node.input):
            yield "DSTREAM outputs nothing: no row ever leaves its relation; " + _REMEDY
        case ToStreamNode() if node.mode == "rstream" and not _can_lose_rows(node.input):
            yield f"RSTREAM outputs more and more rows, since {_name(node.input)} never loses any; {_REMEDY}"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"


def _can_lose_rows(node: LogicalNode) -> bool:
    """Can rows leave it, so that what is kept of them stays bounded?"""
    match node:
        case WindowNode():
            return isinstance(node.window, RowsWindow) or not node.window.unbounded
        case ScanNode():
            return node.source.flow.expires or node.source.flow.retracts
        case AggregateNode():
            return not node.group or _can_lose_rows(node.input)  # a single row, or only groups that still have rows
        case ToStreamNode():
            return False
        case JoinNode():
            return _can_lose_rows(node.left) or _can_lose_rows(node.right)
        case SetNode() if node.kind == "intersect":
            return _can_lose_rows(node.left) or _can_lose_rows(node.right)
        case SetNode() if node.kind == "union":
            return _can_lose_rows(node.left) and _can_lose_rows(node.right)
    return _can_lose_rows(next(children(node)))


def _name(node: LogicalNode) -> str:
    """Its name for people: the streams or views that it comes from."""
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
