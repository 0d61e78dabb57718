"""Builds the logical tree from sqlglot's: resolves FROM, columns, and what is a stream and what a relation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

from sqlglot import exp

from headgate.errors import known_names
from headgate.language.catalog import Catalog
from headgate.language.from_clause import join_all, read_alias
from headgate.language.logical_tree import (
    DistinctNode,
    LogicalNode,
    ProjectNode,
    ScanNode,
    SetNode,
    ToStreamNode,
    ViewNode,
    WindowNode,
    clock_of,
    triggers_of,
)
from headgate.language.query_text import FoundFunction, FoundWindow
from headgate.language.select_list import select_all
from headgate.plan.model import Table
from headgate.plan.windows import RowsWindow
from headgate.sql.dialect import column
from headgate.sql.errors import CqlError
from headgate.sql.unsupported import check_clauses

_SETS: dict[type[exp.Expr], Literal["union", "except", "intersect"]] = {
    exp.Union: "union",
    exp.Except: "except",
    exp.Intersect: "intersect",
}


def build_tree(tree: exp.Query, catalog: Catalog) -> LogicalNode:
    """The logical tree of a whole query; CqlError for wrong names, columns and clauses."""
    uses: dict[str, int] = {}
    for table in tree.find_all(exp.Table):
        uses[table.name.lower()] = uses.get(table.name.lower(), 0) + 1
    return _TreeBuilder(catalog, {}, uses).query(tree)


@dataclass(frozen=True)
class _TreeBuilder:
    """Builds one level of a query. `views` are those of WITH; `uses` counts how often the text reads each name."""

    catalog: Catalog
    views: dict[str, LogicalNode]
    uses: dict[str, int]
    view: str = ""

    def query(self, query: exp.Expr) -> LogicalNode:
        """A SELECT or set operation, with or without parentheses, and the stream function around it."""
        if isinstance(query, exp.Subquery):
            check_clauses(query)
            return self._within(query).query(query.this)
        if not isinstance(query, (exp.Select, exp.SetOperation)):
            raise CqlError("this is not a query", "write SELECT .. FROM ..", query)
        check_clauses(query)
        inner = self._within(query)
        node = inner._select(query) if isinstance(query, exp.Select) else inner._set(query)
        function = query.meta.get("stream")
        return node if function is None else self._to_stream(node, function)

    def _within(self, query: exp.Expr) -> _TreeBuilder:
        """A builder that also knows the views of the query's own WITH."""
        clause = query.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise CqlError("WITH RECURSIVE is not supported", "leave RECURSIVE out", clause)
        builder = self
        for view in clause.expressions:
            builder = builder._with_view(view)
        return builder

    def _with_view(self, view: exp.CTE) -> _TreeBuilder:
        name = view.alias
        if not name:
            raise CqlError("a view has no name", "write WITH name AS (SELECT ..)", view)
        if name.lower() in self.views:
            raise CqlError(f"there are two views '{name}'", "rename one of them", view.args["alias"])
        # A view cannot read itself; as in Spark, its own name means a stream of that name.
        inner = replace(self, view=name)
        node = inner._renamed(inner.query(view.this), view.args["alias"].columns, view)
        if self.uses.get(name.lower(), 0) > 1:
            node = ViewNode(input=node, name=name, view=name)
        return replace(self, views={**self.views, name.lower(): node})

    def _select(self, select: exp.Select) -> LogicalNode:
        return select_all(select, join_all(select, self._read, self.view), self.view)

    def _set(self, query: exp.SetOperation) -> LogicalNode:
        left, right = self.query(query.this), self.query(query.expression)
        kind = next((word for type_, word in _SETS.items() if isinstance(query, type_)), None)
        if kind is None:
            raise CqlError(f"{query.key.upper()} is not supported", "use UNION, EXCEPT or INTERSECT", query)
        if len(left.columns) != len(right.columns):
            counts = f"{len(left.columns)} columns before {kind.upper()} and {len(right.columns)} after it"
            raise CqlError(f"there are {counts}", "select the same number of columns on both sides", query.expression)
        distinct = bool(query.args.get("distinct"))
        keeps_copies = kind == "union" or not distinct
        node: LogicalNode = SetNode(left=left, right=right, kind=kind, all=keeps_copies, view=self.view)
        return DistinctNode(input=node, view=self.view) if kind == "union" and distinct else node

    def _to_stream(self, node: LogicalNode, function: FoundFunction) -> LogicalNode:
        mode = cast(Literal["istream", "dstream", "rstream"], function.name.lower())
        triggers, slides = triggers_of(node) if mode == "rstream" else ((), ())
        return ToStreamNode(input=node, mode=mode, triggers=triggers, slides=slides, view=self.view)

    # FROM ---------------------------------------------------------------------------------------------------------

    def _read(self, place: exp.Expr) -> tuple[str, LogicalNode | Table]:
        """One item of FROM: its alias and what it reads."""
        if isinstance(place, exp.Table) and isinstance(place.this, exp.Identifier):
            return self._named(place)
        if isinstance(place, exp.Subquery) and isinstance(place.this, exp.Query):
            alias, columns = read_alias(place, "subquery")
            inner = replace(self, view=alias) if place.args.get("alias") else self
            node = inner._renamed(inner._within(place).query(place.this), columns, place)
            return alias, self._windowed(node, place, alias)
        remedy = "FROM takes streams, tables, queries, views and subqueries"
        if isinstance(place, exp.Subquery):
            remedy = "write joins without parentheses: FROM a JOIN b ON .. JOIN c ON .."
        raise CqlError("FROM contains something that cannot be read", remedy, place)

    def _named(self, place: exp.Table) -> tuple[str, LogicalNode | Table]:
        name = place.name
        if place.args.get("db"):
            raise CqlError(f"'{place.args['db'].name}.{name}' has two parts", "names have no dots here", place)
        alias, columns = read_alias(place, name)
        found: LogicalNode | Table | None = self.views.get(name.lower())
        if found is None:
            known = self.catalog.find(name)
            found = known if known is None or isinstance(known, Table) else ScanNode(source=known, view=self.view)
        if found is None:
            names = {*self.catalog.names, *(view for view in self.views)}
            raise CqlError(f"there is no '{name}' to read", known_names("names", names, name), place)
        if isinstance(found, Table):
            if "window" in place.meta:
                problem = f"'{name}' is a table and cannot have a window"
                raise CqlError(problem, "windows go on streams; leave the window out", place.meta["window"].at)
            if columns:
                raise CqlError(f"the columns of table '{name}' cannot be renamed here", "use AS in SELECT", place)
            return alias, found
        return alias, self._windowed(self._renamed(found, columns, place), place, name)

    def _renamed(self, node: LogicalNode, names: list[exp.Expr], place: exp.Expr) -> LogicalNode:
        """The step with its columns renamed as in `v(a, b)`."""
        if not names:
            return node
        if len(names) != len(node.columns):
            problem = f"there are {len(names)} names for {len(node.columns)} columns"
            raise CqlError(problem, "name each column once", names[0])
        wanted = [name.name for name in names]
        if len({name.lower() for name in wanted}) < len(wanted):
            raise CqlError("two columns have the same name", "give each its own", names[0])
        if tuple(wanted) == node.columns:
            return node
        if isinstance(node, ProjectNode):
            renamed = tuple((new, means) for new, (_, means) in zip(wanted, node.outputs, strict=True))
            return replace(node, outputs=renamed)
        outputs = tuple((new, column(old)) for new, old in zip(wanted, node.columns, strict=True))
        return ProjectNode(input=node, outputs=outputs, view=self.view)

    def _windowed(self, node: LogicalNode, place: exp.Expr, name: str) -> LogicalNode:
        """The step under the window that follows it in the text, if there is one."""
        found: FoundWindow | None = place.meta.get("window")
        if found is None:
            return node
        if node.relation:
            problem = f"'{name}' is a relation already and cannot have a window"
            raise CqlError(problem, "leave the window out, or make the relation a stream with ISTREAM(..)", found.at)
        try:
            found.window.check(clock_of(node))
        except ValueError as error:
            remedy = "lengths of time have a unit (20 SECONDS), those of a BIGINT time column do not (RANGE 20)"
            raise CqlError(str(error), remedy, found.at) from error
        window = found.window
        if isinstance(window, RowsWindow):
            window = replace(window, partition=tuple(_partition(c, node, found.at) for c in window.partition))
        elif window.unbounded and window.slide is None:
            return node  # the same as without a window
        return WindowNode(input=node, window=window, view=self.view)


def _partition(name: str, node: LogicalNode, at: int) -> str:
    found = next((c for c in node.columns if c.lower() == name.lower()), None)
    if found is None:
        raise CqlError(f"there is no column '{name}'", known_names("columns", node.columns, name), at)
    return found
