"""Lowers the logical tree of a query to the operators of a plan.

A time window directly below a step with state becomes that operator's own window; elsewhere it is an operator of its
own. A step that the query needs twice (a view read twice) becomes one operator with two readers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from headgate.language.logical_tree import (
    AggregateNode,
    DistinctNode,
    FilterNode,
    JoinNode,
    LogicalNode,
    OnTimeNode,
    ProjectNode,
    ScanNode,
    SetNode,
    TableJoinNode,
    ToStreamNode,
    Trigger,
    ViewNode,
    WindowNode,
    all_of,
    children,
    conjuncts,
    equal_columns,
)
from headgate.plan.operators import (
    Aggregate,
    Changes,
    Distinct,
    Except,
    Intersect,
    OnTime,
    Operator,
    Project,
    RowWindow,
    RStream,
    Select,
    StreamJoin,
    TableJoin,
    TimeWindow,
    Union,
)
from headgate.plan.operators.aggregate import Emits
from headgate.plan.operators.base import Port
from headgate.plan.windows import UNBOUNDED, RangeWindow, RowsWindow
from headgate.sql.dialect import column, sql_of


def lower(name: str, tree: LogicalNode) -> tuple[list[Operator], Port]:
    """The operators of query `name`, inputs first, and the port of its result."""
    lowering = _Lowering(name, _readers(tree))
    root = lowering.port(tree)
    if root.node not in {operator.id for operator in lowering.operators}:
        # The query passes on what it reads, but it still needs an operator, since sinks attach to operators.
        same = {c: sql_of(column(c)) for c in tree.columns}
        root = lowering.add("select", tree, Project, inputs=(root,), columns=same)
    return lowering.operators, root


class _Lowering:
    """The operators of one query so far."""

    def __init__(self, query: str, readers: Mapping[LogicalNode, int]) -> None:
        self._readers = readers
        self.operators: list[Operator] = []
        self._query = query
        self._known: dict[LogicalNode, Port] = {}
        self._ids: set[str] = set()

    def port(self, node: LogicalNode) -> Port:
        """The output port of a step; its operators are made on first use."""
        if node not in self._known:
            self._known[node] = _MAKERS[type(node)](self, node)
        return self._known[node]

    def add(self, name: str, node: LogicalNode, kind: type[Operator], **parameters: Any) -> Port:
        operator = kind(id=self._id(name, node.view), **parameters)
        self.operators.append(operator)
        return Port(operator.id)

    def _id(self, name: str, view: str) -> str:
        first = f"{self._query}/{view}-{name}" if view else f"{self._query}/{name}"
        first = first.replace(".", "-")
        candidate, number = first, 2
        while candidate in self._ids:
            candidate, number = f"{first}{number}", number + 1
        self._ids.add(candidate)
        return candidate

    # One method per kind of step ----------------------------------------------------------------------------------

    def scan(self, node: ScanNode) -> Port:
        return node.source.port

    def view(self, node: ViewNode) -> Port:
        return self.port(node.input)

    def window(self, node: WindowNode) -> Port:
        below = self.port(node.input)
        if isinstance(node.window, RowsWindow):
            return self.add("rows", node, RowWindow, inputs=(below,), window=node.window)
        return self.add("window", node, TimeWindow, inputs=(below,), window=node.window)

    def filter(self, node: FilterNode) -> Port:
        below = node.input.input if isinstance(node.input, ToStreamNode) else node.input
        name = "having" if isinstance(below, AggregateNode) else "where"
        return self.add(name, node, Select, inputs=(self.port(node.input),), where=sql_of(node.condition))

    def project(self, node: ProjectNode) -> Port:
        columns = {name: sql_of(means) for name, means in node.outputs}
        return self.add("select", node, Project, inputs=(self.port(node.input),), columns=columns)

    def on_time(self, node: OnTimeNode) -> Port:
        return self.add("ontime", node, OnTime, inputs=(self.port(node.input),))

    def join(self, node: JoinNode) -> Port:
        left_window, left_names, left = _side(node.left)
        right_window, right_names, right = _side(node.right)
        return self.add(
            "join",
            node,
            StreamJoin,
            inputs=(self.port(left), self.port(right)),
            left=left_names,
            right=right_names,
            condition="" if node.condition is None else sql_of(node.condition),
            left_window=left_window,
            right_window=right_window,
        )

    def table_join(self, node: TableJoinNode) -> Port:
        pairs, rest = _pairs(node)
        condition = all_of(rest)
        return self.add(
            "join",
            node,
            TableJoin,
            inputs=(self.port(node.input),),
            table=node.table,
            table_schema=node.table_schema,
            on=pairs,
            how=node.how,
            condition="" if condition is None else sql_of(condition),
            keep=dict(node.outputs),
        )

    def aggregate(self, node: AggregateNode, emits: Emits = "relation") -> Port:
        window, below = _window_below(node.input)
        below = _unpruned(below)
        return self.add(
            "group",
            node,
            Aggregate,
            inputs=(self.port(below),),
            group={name: sql_of(means) for name, means in node.group},
            values={name: sql_of(means) for name, means in node.values},
            window=window,
            emits=emits,
        )

    def distinct(self, node: DistinctNode) -> Port:
        window, below = _window_below(node.input)
        return self.add("distinct", node, Distinct, inputs=(self.port(below),), window=window)

    def set_operation(self, node: SetNode) -> Port:
        if node.kind == "union":
            return self._union(node)
        left_window, left = _window_below(node.left)
        right_window, right = _window_below(node.right)
        return self.add(
            node.kind,
            node,
            Except if node.kind == "except" else Intersect,
            inputs=(self.port(left), self.port(right)),
            all=node.all,
            left_window=left_window,
            right_window=right_window,
        )

    def _union(self, node: SetNode) -> Port:
        sides = _sides(node)
        if node.relation:  # a stream beside relations counts as a relation that never loses rows
            sides = [
                side if side.relation else WindowNode(input=side, window=UNBOUNDED, view=side.view) for side in sides
            ]
        return self.add("union", node, Union, inputs=tuple(self.port(side) for side in sides))

    def to_stream(self, node: ToStreamNode) -> Port:
        if isinstance(node.input, AggregateNode) and self._only_here(node.input) and _at_boundaries(node, node.input):
            return self.aggregate(node.input, node.mode)
        if (above := self._above_aggregate(node)) is not None:
            return self.port(above)
        window, below = _window_below(node.input)
        inputs = [self.port(below)]
        if node.mode != "rstream":
            return self.add(node.mode, node, Changes, inputs=tuple(inputs), mode=node.mode, window=window)
        inputs += [self._trigger(trigger) for trigger in node.triggers]
        return self.add("rstream", node, RStream, inputs=tuple(inputs), window=window, slides=node.slides)

    def _only_here(self, node: LogicalNode) -> bool:
        """Is this the only reader? Otherwise all readers share one operator that outputs the relation."""
        return self._readers.get(node, 1) == 1

    def _above_aggregate(self, node: ToStreamNode) -> LogicalNode | None:
        """The step with selections (for RSTREAM also projections) moved above the stream function.

        None unless this lets the aggregate below produce the stream itself.
        """
        kinds = (FilterNode, ProjectNode) if node.mode == "rstream" else (FilterNode,)
        below = node.input
        while isinstance(below, kinds) and self._only_here(below):
            below = below.input
        if not isinstance(node.input, (FilterNode, ProjectNode)) or not isinstance(below, AggregateNode):
            return None
        if not (self._only_here(below) and _at_boundaries(node, below)):
            return None
        return replace(node.input, input=replace(node, input=node.input.input))

    def _trigger(self, trigger: Trigger) -> Port:
        if isinstance(trigger, Port):
            return trigger
        below = self.port(trigger.input)
        assert isinstance(trigger.window, RowsWindow)
        return self.add("boundaries", trigger, RowWindow, inputs=(below,), window=trigger.window, boundaries=True)


_MAKERS: dict[type[LogicalNode], Callable[[_Lowering, Any], Port]] = {
    ScanNode: _Lowering.scan,
    ViewNode: _Lowering.view,
    WindowNode: _Lowering.window,
    FilterNode: _Lowering.filter,
    ProjectNode: _Lowering.project,
    OnTimeNode: _Lowering.on_time,
    JoinNode: _Lowering.join,
    TableJoinNode: _Lowering.table_join,
    AggregateNode: _Lowering.aggregate,
    DistinctNode: _Lowering.distinct,
    SetNode: _Lowering.set_operation,
    ToStreamNode: _Lowering.to_stream,
}


def _at_boundaries(node: ToStreamNode, below: AggregateNode) -> bool:
    """Does the stream consist of the groups of a sliding window at its boundaries? The aggregate can produce that."""
    window, _ = _window_below(below.input)
    if window is None or window.slide is None:
        return False
    # Without groups, RSTREAM must repeat a row even for empty windows.
    return node.mode != "rstream" or (bool(below.group) and node.slides == (window.slide,) and not node.triggers)


def _readers(tree: LogicalNode) -> Counter[LogicalNode]:
    """How many steps read each step."""
    found: Counter[LogicalNode] = Counter()
    todo = [tree]
    while todo:
        for child in children(todo.pop()):
            if child not in found:
                todo.append(child)
            found[child] += 1
    return found


def _window_below(node: LogicalNode) -> tuple[RangeWindow | None, LogicalNode]:
    """The time window that the operator above can apply itself, and what is below it."""
    if isinstance(node, WindowNode) and isinstance(node.window, RangeWindow):
        return node.window, node.input
    return None, node


def _unpruned(node: LogicalNode) -> LogicalNode:
    """Skip a projection that only drops columns of a stream: the aggregate above reads no more than it needs anyway."""
    if not isinstance(node, ProjectNode) or not isinstance(node.input, ScanNode):
        return node
    drops = all(isinstance(means, exp.Column) and means.name == name for name, means in node.outputs)
    return node.input if drops else node


def _side(node: LogicalNode) -> tuple[RangeWindow | None, dict[str, str], LogicalNode]:
    """One side of a join: its window, its columns (name in the join -> name below), and what is below.

    The join also does the work of a projection that only renames or drops columns, below or above a time window.
    """
    window: RangeWindow | None = None
    names = {name: name for name in node.columns}
    while True:
        if window is None and isinstance(node, WindowNode) and isinstance(node.window, RangeWindow):
            window, node = node.window, node.input
        elif isinstance(node, ProjectNode) and all(isinstance(means, exp.Column) for _, means in node.outputs):
            below = {name: means.name for name, means in node.outputs}
            names = {name: below[old] for name, old in names.items()}
            node = node.input
        else:
            return window, names, node


def _sides(node: SetNode) -> list[LogicalNode]:
    """All inputs of a union; `a UNION ALL b UNION ALL c` becomes one operator."""
    found: list[LogicalNode] = []
    for side in (node.left, node.right):
        nested = isinstance(side, SetNode) and side.kind == "union"
        found += _sides(side) if isinstance(side, SetNode) and nested else [side]
    return found


def _pairs(node: TableJoinNode) -> tuple[dict[str, str], list[exp.Expr]]:
    """The equalities between a column and a column of the table, and the remaining conditions."""
    pairs = dict(node.pairs)
    theirs = dict(node.outputs)
    rest: list[exp.Expr] = []
    for part in conjuncts(node.condition):
        pair = equal_columns(part, node.input.columns, theirs)
        if pair is None or pair[0] in pairs:
            rest.append(part)
        else:
            pairs[pair[0]] = theirs[pair[1]]
    return pairs, rest
