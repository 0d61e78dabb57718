"""Builds the SELECT list, GROUP BY and HAVING of one SELECT, on top of FROM and WHERE."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from headgate.language.from_clause import Joined
from headgate.language.logical_tree import AggregateNode, DistinctNode, FilterNode, LogicalNode, ProjectNode
from headgate.sql.dialect import column, sql_of
from headgate.sql.errors import CqlError
from headgate.sql.field_names import replacement_for
from headgate.sql.function_kinds import aggregate_calls, is_aggregate, is_aggregate_call, is_time_window
from headgate.sql.schema import RELATION_STAMPS
from headgate.sql.unsupported import check_expression, refuse_aggregates

_LONGEST_NAME = 60  # of a column that is named after its expression


@dataclass(frozen=True)
class Output:
    """One column of the SELECT list: `written` as in the text, `means` with its columns resolved."""

    name: str
    written: exp.Expr
    means: exp.Expr
    named: bool  # by AS


def select_all(select: exp.Select, joined: Joined, view: str) -> LogicalNode:
    """Build everything in one SELECT but FROM and WHERE."""
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise CqlError("DISTINCT ON is not supported", "group by the columns instead", distinct)
    for item in select.expressions:
        check_expression(item)
    node = _grouped(select, joined, view) if _aggregates(select) else _plain(select, joined, view)
    return DistinctNode(input=node, view=view) if distinct is not None else node


def _aggregates(select: exp.Select) -> bool:
    if select.args.get("group") is not None:
        return True
    having = select.args.get("having")
    parts = [*select.expressions, *([having] if having else [])]
    if any(is_aggregate(node) for part in parts for node in part.walk()):
        return True
    if having is not None:
        raise CqlError("HAVING without GROUP BY or an aggregate", "use WHERE", having)
    return False


def _plain(select: exp.Select, joined: Joined, view: str) -> LogicalNode:
    outputs = _outputs(select, joined, view)
    for output in outputs:
        for node in output.means.walk():
            if is_time_window(node):
                raise CqlError(f"'{node.name}(..)' is only allowed in GROUP BY", "group by it", output.written)
    return ProjectNode(input=joined.node, outputs=tuple((o.name, o.means) for o in outputs), view=view)


def _outputs(select: exp.Select, joined: Joined, view: str) -> list[Output]:
    """The columns of the SELECT list with `*` expanded; each has a unique name.

    In a result, a second column `a` is renamed `a_2`, so that `SELECT x.a, y.a` works. In a view, whose columns are
    read by name, it is an error.
    """
    found: list[Output] = []
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star)):
            found += [Output(name, item, means, False) for name, means in joined.scope.star(item)]
        else:
            found.append(_output(item, joined))
    if not found:
        raise CqlError("there are no columns after SELECT", "name at least one, or write *", select)
    seen: set[str] = set()
    own: list[Output] = []
    for output in found:
        key = output.name.lower()
        if key in seen and (view or output.named):
            problem = f"two columns of the result are called '{output.name}'"
            raise CqlError(problem, "give one of them another name with AS", output.written)
        if key in RELATION_STAMPS:
            problem = f"column name '{output.name}' is reserved for Headgate's stamps"
            raise CqlError(problem, "rename it", output.written)
        own.append(replace(output, name=_free(output.name, seen)))
        seen.add(own[-1].name.lower())
    return own


def _output(item: exp.Expr, joined: Joined) -> Output:
    if isinstance(item, exp.Alias):
        if not item.alias:
            raise CqlError("a column has an empty name", "write AS name", item)
        return Output(item.alias, item.this, joined.scope.resolve(item.this), True)
    means = joined.scope.resolve(item)
    if isinstance(item, exp.Column):
        return Output(item.name, item, means, False)
    if isinstance(item, exp.Dot) and isinstance(item.expression, exp.Identifier):
        return Output(item.expression.name, item, means, False)
    return Output(_text_name(item), item, means, False)


def _text_name(expression: exp.Expr) -> str:
    return sql_of(expression).replace("`", "")


# GROUP BY --------------------------------------------------------------------------------------------------------


def _grouped(select: exp.Select, joined: Joined, view: str) -> LogicalNode:
    aliases = {i.alias.lower(): i.this for i in select.expressions if isinstance(i, exp.Alias)}
    groups = _groups(select, joined, aliases)
    joined.scope.grouped = {g.name.lower() for g in groups if is_time_window(g)}
    outputs = _outputs(select, joined, view)
    having = select.args.get("having")
    condition: exp.Expr | None = None
    if having is not None:
        check_expression(having.this)
        condition = joined.scope.resolve(_with_aliases(having.this, joined, aliases))
    group = _group_names(groups, outputs)
    values = _values(outputs, condition, {name.lower() for name in group.values()})
    node: LogicalNode = AggregateNode(
        input=joined.node,
        group=tuple((name, means) for means, name in group.items()),
        values=tuple((name, means) for means, name in values.items()),
        view=view,
    )
    if condition is not None:
        node = FilterNode(input=node, condition=_over_groups(condition, group, values, having or select), view=view)
    over = tuple((o.name, _over_groups(o.means, group, values, o.written)) for o in outputs)
    return ProjectNode(input=node, outputs=over, view=view)


def _groups(select: exp.Select, joined: Joined, aliases: dict[str, exp.Expr]) -> list[exp.Expr]:
    """The expressions to group by, written as columns, expressions, or names or numbers of the SELECT list."""
    clause = select.args.get("group")
    if clause is None:
        return []
    for kind in ("rollup", "cube", "grouping_sets", "totals"):
        if clause.args.get(kind):
            raise _no_grouping_sets(clause)
    written: list[exp.Expr] = list(clause.expressions)
    if clause.args.get("all"):
        items = [i.this if isinstance(i, exp.Alias) else i for i in select.expressions]
        written = [i for i in items if not any(is_aggregate(n) for n in i.walk())]
    found: list[exp.Expr] = []
    for item in written:
        if isinstance(item, (exp.Rollup, exp.Cube, exp.GroupingSets)):
            raise _no_grouping_sets(item)
        meant = _numbered(item, select) if _is_number(item) else _with_aliases(item, joined, aliases)
        check_expression(meant)
        refuse_aggregates(meant, "GROUP BY")
        if isinstance(meant, exp.Star) or meant.find(exp.Star):
            raise CqlError("GROUP BY * is not supported", "list the columns", item)
        resolved = joined.scope.resolve(meant).unnest()
        if resolved not in found:
            found.append(resolved)
    if sum(map(is_time_window, found)) > 1:
        raise CqlError("GROUP BY has more than one window", "keep one of them", clause)
    return found


def _no_grouping_sets(place: exp.Expr) -> CqlError:
    problem = "ROLLUP, CUBE and GROUPING SETS are not supported"
    return CqlError(problem, "write one query for each grouping, and UNION ALL them", place)


def _is_number(item: exp.Expr) -> bool:
    return isinstance(item, exp.Literal) and not item.is_string


def _numbered(item: exp.Expr, select: exp.Select) -> exp.Expr:
    if not item.name.isdigit() or not 1 <= int(item.name[:9]) <= len(select.expressions):
        problem = f"GROUP BY {item.name}: the SELECT list has no such column"
        raise CqlError(problem, f"use a number from 1 to {len(select.expressions)}", item)
    chosen = select.expressions[int(item.name) - 1]
    return chosen.this if isinstance(chosen, exp.Alias) else chosen


def _with_aliases(written: exp.Expr, joined: Joined, aliases: dict[str, exp.Expr]) -> exp.Expr:
    """Replace names of the SELECT list by their expressions, unless FROM has a column with that name."""
    known = {name.lower() for item in joined.scope.items for name in item.columns}

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and len(node.parts) == 1:
            name = node.name.lower()
            if name in aliases and name not in known:
                meant = aliases[name].copy()
                return replacement_for(node, meant)
        return node

    return written.transform(replaced)


def _group_names(groups: list[exp.Expr], outputs: list[Output]) -> dict[exp.Expr, str]:
    """Name each expression of GROUP BY after its column, its alias in the SELECT list, or its text."""
    named: dict[exp.Expr, str] = {}
    for expression in groups:
        asked = next((o.name for o in outputs if o.named and o.means.unnest() == expression), None)
        if is_time_window(expression):
            name = expression.name.lower()
        elif isinstance(expression, exp.Column):
            name = expression.name
        else:
            name = asked or _short_name(expression, f"group{len(named) + 1}")
        named[expression] = _free(name, named.values())
    return named


def _values(outputs: list[Output], condition: exp.Expr | None, taken: set[str]) -> dict[exp.Expr, str]:
    """Name each aggregate of the SELECT list and HAVING."""
    named: dict[exp.Expr, str] = {}
    parts = [(o.means, o) for o in outputs] + ([(condition, None)] if condition is not None else [])
    for means, output in parts:
        for call in aggregate_calls(means):
            _refuse_nested(call)
            if call in named:
                continue
            asked = output.name if output is not None and output.means is call else None
            name = asked or _short_name(call, f"value{len(named) + 1}")
            named[call] = _free(name, {*taken, *named.values()})
    return named


def _refuse_nested(call: exp.Expr) -> None:
    inner = call
    while not is_aggregate(inner):
        inner = inner.this
    for node in call.walk():
        if node is not inner and is_aggregate(node):
            problem = f"the aggregate '{node.name}' is inside the aggregate '{inner.name}'"
            raise CqlError(problem, "compute the inner one in a view: WITH v AS (SELECT ..)", node)
        if is_time_window(node):
            raise CqlError(f"'{node.name}(..)' is only allowed in GROUP BY", "group by it", node)


def _short_name(expression: exp.Expr, otherwise: str) -> str:
    name = _text_name(expression)
    return name if len(name) <= _LONGEST_NAME and "\n" not in name else otherwise


def _free(name: str, taken: object) -> str:
    """The name, with a number appended if it is taken."""
    used = {str(other).lower() for other in taken}  # type: ignore[attr-defined]
    candidate, number = name, 2
    while candidate.lower() in used or candidate.lower() in RELATION_STAMPS:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


def _over_groups(
    means: exp.Expr,
    group: dict[exp.Expr, str],
    values: dict[exp.Expr, str],
    place: exp.Expr,
) -> exp.Expr:
    """An expression over the groups: grouping expressions and aggregates are replaced by their columns."""
    made = {name for expression, name in group.items() if is_time_window(expression)}

    def replaced(node: exp.Expr) -> exp.Expr:
        if node in group:
            return replacement_for(node, column(group[node]))
        if is_aggregate_call(node):
            return replacement_for(node, column(values[node]))
        if isinstance(node, exp.Column) and node.name not in made:
            problem = f"column '{node.name}' is neither grouped nor in an aggregate"
            raise CqlError(problem, "add it to GROUP BY, or use any_value(..)", node if _placed(node) else place)
        if is_time_window(node):
            raise CqlError(f"'{node.name}(..)' differs from the window in GROUP BY", "write the same in both", node)
        return node

    return means.transform(replaced)


def _placed(node: exp.Expr) -> bool:
    return "start" in node.meta
