"""Builds FROM: streams, tables, views and subqueries, joined one after the other.

Streams are joined in the order of the text, except that a stream which an equality connects to those already joined
goes before one without such a condition. This avoids needless cross products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from headgate.language.logical_tree import (
    FilterNode,
    JoinNode,
    LogicalNode,
    ProjectNode,
    TableJoinNode,
    all_of,
    columns_of,
    conjuncts,
)
from headgate.plan.model import Table
from headgate.sql.dialect import column
from headgate.sql.errors import CqlError
from headgate.sql.scope import Scope, ScopeItem
from headgate.sql.unsupported import check_clauses, check_expression, refuse_aggregates

Read = Callable[[exp.Expr], tuple[str, LogicalNode | Table]]  # a FROM item -> its alias and what it reads


@dataclass
class FromItem:
    """One item of FROM. `on` holds the conditions of its LEFT JOIN, which find matches but drop no rows."""

    item: ScopeItem
    what: LogicalNode | Table
    place: exp.Expr
    left: bool = False
    on: list[exp.Expr] = field(default_factory=list)

    @property
    def alias(self) -> str:
        return self.item.alias

    @property
    def is_table(self) -> bool:
        return isinstance(self.what, Table)


@dataclass
class Joined:
    """The result of FROM and WHERE: the step that computes it and the names it provides."""

    node: LogicalNode
    scope: Scope


def join_all(select: exp.Select, read: Read, view: str) -> Joined:
    """Build FROM, its joins and WHERE of one SELECT."""
    start = select.args.get("from_")
    if start is None:
        raise CqlError("SELECT without FROM", "name a stream: SELECT .. FROM sensors", select)
    joins = select.args.get("joins") or []
    found = [(place, *read(place)) for place in (start.this, *(join.this for join in joins))]
    streams = sum(not isinstance(what, Table) for _, _, what in found)
    if streams == 0:
        raise CqlError("there are only tables in FROM", "a query must read at least one stream", start)
    items = [_item(place, alias, what, streams > 1) for place, alias, what in found]
    _refuse_same_names(items)
    scope = Scope([one.item for one in items])
    pool: list[exp.Expr] = []
    for number, join in enumerate(joins, start=1):
        known = Scope([one.item for one in items[:number]], scope.merged)
        pool += _join_conditions(join, items[number], items[:number], known, scope)
    where = select.args.get("where")
    if where is not None:
        check_expression(where.this)
        refuse_aggregates(where.this, "WHERE")
        pool += conjuncts(scope.resolve(where.this))
    return Joined(_Joiner(items, pool, view).joined(), scope)


def _item(place: exp.Expr, alias: str, what: LogicalNode | Table, several: bool) -> FromItem:
    if isinstance(what, Table):
        return FromItem(ScopeItem(alias, what.schema.names, qualified=True), what, place)
    return FromItem(ScopeItem(alias, what.columns, qualified=several), what, place)


def _refuse_same_names(items: Sequence[FromItem]) -> None:
    seen: set[str] = set()
    for one in items:
        if one.alias.lower() in seen:
            problem = f"two items in FROM are called '{one.alias}'"
            raise CqlError(problem, f"give one of them another name: {one.alias} AS other", one.place)
        seen.add(one.alias.lower())


_WITHOUT_MATCH = (
    "write JOIN, and UNION ALL the rows without a match: "
    "SELECT x, CAST(NULL AS INT) FROM (SELECT x FROM a EXCEPT SELECT x FROM b) AS alone"
)


def _instead_of(side: str, item: FromItem, before: Sequence[FromItem]) -> str:
    """What to write instead of a RIGHT or FULL JOIN."""
    if item.is_table:
        return "write LEFT JOIN, which keeps the rows of the stream"
    if side == "RIGHT" and all(one.is_table for one in before):
        return "put the stream first: stream LEFT JOIN table ON .."
    return _WITHOUT_MATCH


def _join_conditions(
    join: exp.Join, item: FromItem, earlier: Sequence[FromItem], before: Scope, scope: Scope
) -> list[exp.Expr]:
    """The conditions of an inner join; those of a left join are stored in its item instead."""
    side, kind = join.side.upper(), join.kind.upper()
    if join.args.get("method") or kind not in ("", "INNER", "CROSS", "OUTER"):
        what = join.args.get("method") or f"{side} {kind}".strip()
        raise CqlError(f"{what} JOIN is not supported", "write JOIN .. ON or LEFT JOIN table ON", item.place)
    if side in ("RIGHT", "FULL"):
        raise CqlError(f"{side} JOIN is not supported", _instead_of(side, item, earlier), item.place)
    item.left = side == "LEFT"
    if item.left and not item.is_table:
        raise CqlError("LEFT JOIN with a stream on the right is not supported", _WITHOUT_MATCH, item.place)
    found: list[exp.Expr] = []
    if on := join.args.get("on"):
        check_expression(on)
        refuse_aggregates(on, "ON")
        found = conjuncts(Scope([*before.items, item.item], dict(scope.merged)).resolve(on))
    for word in join.args.get("using") or []:
        found.append(_using(word, item, before, scope))
    if item.left:
        item.on = found
        return []
    return found


def _using(word: exp.Expr, item: FromItem, before: Scope, scope: Scope) -> exp.Expr:
    theirs = item.item.find(word.name)
    if theirs is None:
        raise CqlError(f"'{item.alias}' has no column '{word.name}'", "USING needs a column that both sides have", word)
    mine = before.resolve(exp.Column(this=word.copy()))
    scope.merged[word.name.lower()] = mine.name
    scope.hidden.add(item.item.inner_name(theirs))
    return exp.EQ(this=mine, expression=column(item.item.inner_name(theirs)))


class _Joiner:
    """Joins the items one by one. `pool` holds the conditions not applied yet."""

    def __init__(self, items: Sequence[FromItem], pool: list[exp.Expr], view: str) -> None:
        self._remaining = list(items)
        self._pool = pool
        self._view = view
        self._owner = {one.item.inner_name(name): one.alias for one in items for name in one.item.columns}
        self._present: set[str] = set()

    def joined(self) -> LogicalNode:
        """All items joined, with every condition applied."""
        first = next(one for one in self._remaining if not one.is_table)
        if first.left:
            raise CqlError("LEFT JOIN with a table on the left is not supported", "put the stream first", first.place)
        node = self._stream(first)
        while self._remaining:
            node = self._with(node, self._next())
        condition = all_of(self._pool)
        return node if condition is None else FilterNode(input=node, condition=condition, view=self._view)

    def _stream(self, one: FromItem) -> LogicalNode:
        """A stream with its columns renamed to their names inside the query."""
        self._remaining.remove(one)
        self._present.add(one.alias)
        assert isinstance(one.what, LogicalNode)
        if not one.item.qualified:
            return one.what
        outputs = tuple((one.item.inner_name(name), column(name)) for name in one.item.columns)
        return ProjectNode(input=one.what, outputs=outputs, view=self._view)

    def _next(self) -> FromItem:
        allowed = [one for one in self._remaining if self._allowed(one)] or self._remaining
        connected = [one for one in allowed if one.left or self._connected(one)]
        streams = [one for one in allowed if not one.is_table]
        return (connected or streams or allowed)[0]

    def _allowed(self, one: FromItem) -> bool:
        """A left join must wait for everything its condition mentions."""
        return all(self._owners(part) <= self._present | {one.alias} for part in one.on)

    def _connected(self, one: FromItem) -> bool:
        for part in self._pool:
            if isinstance(part, exp.EQ):
                sides = (self._owners(part.left), self._owners(part.right))
                for mine, theirs in (sides, sides[::-1]):
                    if mine and mine <= self._present and theirs == {one.alias}:
                        return True
        return False

    def _owners(self, part: exp.Expr) -> set[str]:
        return {self._owner[name] for name in columns_of(part)}

    def _with(self, node: LogicalNode, one: FromItem) -> LogicalNode:
        if isinstance(one.what, Table):
            self._remaining.remove(one)
            self._present.add(one.alias)
            outputs = tuple((one.item.inner_name(name), name) for name in one.item.columns)
            condition = all_of(one.on if one.left else self._taken(one.alias))
            how = "left" if one.left else "inner"
            table = one.what
            return TableJoinNode(
                input=node,
                table=table.name,
                table_schema=table.schema,
                outputs=outputs,
                condition=condition,
                how=how,  # type: ignore[arg-type]
                view=self._view,
            )
        right = self._stream(one)
        return JoinNode(left=node, right=right, condition=all_of(self._taken(one.alias)), view=self._view)

    def _taken(self, alias: str) -> list[exp.Expr]:
        """Remove from the pool the conditions that connect a new item with those present."""
        taken = [p for p in self._pool if alias in (o := self._owners(p)) and len(o) > 1 and o <= self._present]
        self._pool = [part for part in self._pool if not any(part is one for one in taken)]
        return taken


def read_alias(place: exp.Expr, default: str) -> tuple[str, list[exp.Expr]]:
    """The alias of a FROM item and the column names in it, as in `v(a, b)`."""
    check_clauses(place)
    alias = place.args.get("alias")
    if alias is None:
        return default, []
    return alias.name or default, alias.columns
