"""Refuses what CQL does not support, and says what to write instead."""

from __future__ import annotations

from collections.abc import Collection

from sqlglot import exp

from headgate.sql.errors import CqlError
from headgate.sql.function_kinds import (
    FORBIDDEN,
    FORBIDDEN_REMEDIES,
    GENERATORS,
    NONDETERMINISTIC,
    WINDOW_FUNCTIONS,
    is_aggregate,
)

_SELECT_ARGS = {"with_", "expressions", "from_", "joins", "where", "group", "having", "distinct", "kind"}
_SET_ARGS = {"with_", "this", "expression", "distinct", "expressions"}
_REMEDIES = {
    "order": ("ORDER BY", "a result that never ends has no order; leave it out"),
    "sort": ("SORT BY", "a result that never ends has no order; leave it out"),
    "cluster": ("CLUSTER BY", "leave it out"),
    "distribute": ("DISTRIBUTE BY", "leave it out"),
    "limit": ("LIMIT", "use a window such as [ROWS 10], or leave it out"),
    "offset": ("OFFSET", "leave it out"),
    "laterals": ("LATERAL VIEW", "unfold lists with an operator of kind function"),
    "qualify": ("QUALIFY", "group by a column and use max_by or min_by"),
    "windows": ("WINDOW", "put a window on the stream instead: FROM sensors [ROWS 10]"),
    "by_name": ("BY NAME", "list the columns of both sides in one order"),
    "pivots": ("PIVOT", "use aggregates with FILTER (WHERE ..)"),
    "sample": ("TABLESAMPLE", "select by a condition, or let Headgate shed load"),
    "version": ("FOR SYSTEM_TIME AS OF", "leave it out: a row meets what holds at its own instant"),
    "when": ("FOR SYSTEM_TIME AS OF", "leave it out: a row meets what holds at its own instant"),
    "hint": ("a hint", "leave it out"),
    "into": ("INTO", "a query's result goes to its sink"),
}


def check_clauses(query: exp.Expr, more: Collection[str] = ()) -> None:
    """Refuse clauses that a continuous query cannot have. `more`: some that this one may have."""
    allowed = _SET_ARGS if isinstance(query, exp.SetOperation) else _SELECT_ARGS
    if isinstance(query, exp.Subquery):
        allowed = {"this", "alias", "with_"}
    if isinstance(query, exp.Table):
        allowed = {"this", "alias"}
    for name, value in query.args.items():
        if value and name not in allowed and name not in more:
            what, remedy = _REMEDIES.get(name, (name.upper().strip("_").replace("_", " "), "leave it out"))
            at = value[0] if isinstance(value, list) else value
            raise CqlError(f"{what} is not supported", remedy, at if isinstance(at, exp.Expr) else None)
    if isinstance(query, exp.Select) and query.args.get("kind"):
        raise CqlError("SELECT AS is not supported", "use struct(..) or named_struct(..)")


def check_expression(expression: exp.Expr) -> None:
    """Refuse what no expression may contain, wherever it is."""
    for node in expression.walk():
        if isinstance(node, exp.Window):
            problem = "window functions (OVER) are not supported"
            raise CqlError(problem, "put a window on the stream instead: FROM sensors [ROWS 10]", node)
        if isinstance(node, exp.Query) or (isinstance(node, exp.In) and node.args.get("query")):
            raise CqlError("subqueries in expressions are not supported", _instead_of(node), node)
        if isinstance(node, exp.Anonymous):
            _check_function(node)


def _instead_of(query: exp.Expr) -> str:
    """What to write instead of a subquery in an expression."""
    exists = query if isinstance(query, (exp.Exists, exp.In)) else query.find_ancestor(exp.Exists, exp.In)
    if exists is None:
        return "join with it instead: FROM a, (SELECT max(x) AS m FROM b) AS b WHERE a.x < b.m"
    if isinstance(exists.parent, exp.Not) or exists.args.get("negated"):
        return "join with what is left: FROM a JOIN (SELECT x FROM a EXCEPT SELECT x FROM b) AS c ON a.x = c.x"
    return "join with it instead: FROM a JOIN (SELECT DISTINCT x FROM b) AS b ON a.x = b.x"


def _check_function(node: exp.Anonymous) -> None:
    refuse_forbidden_function(node)
    name = node.name.lower()
    if name in NONDETERMINISTIC or (name == "unix_timestamp" and not node.expressions):
        raise _nondeterministic(node.name, node)
    if name in GENERATORS:
        problem = f"'{node.name}' makes several rows from one, which is not supported"
        raise CqlError(problem, "unfold lists with an operator of kind function", node)
    if name in WINDOW_FUNCTIONS:
        problem = f"'{node.name}' is a window function, which is not supported"
        raise CqlError(problem, "put a window on the stream instead: FROM sensors [ROWS 10]", node)
    if name in ("grouping", "grouping_id"):
        raise CqlError(f"'{node.name}' belongs to GROUPING SETS, which is not supported", "leave it out", node)


def refuse_forbidden_function(call: exp.Anonymous) -> None:
    """Refuse functions that do more than compute a value from the row."""
    name = call.name.lower()
    if name in FORBIDDEN:
        problem = f"'{call.name}' {FORBIDDEN[name]}"
        raise CqlError(problem, FORBIDDEN_REMEDIES.get(name, "leave it out"), call)


def refuse_bare_function(column: exp.Column) -> None:
    """Refuse `current_timestamp` and other functions without parentheses; called if no column has that name."""
    if len(column.parts) == 1 and column.name.lower() in NONDETERMINISTIC:
        raise _nondeterministic(column.name, column)


def _nondeterministic(name: str, node: exp.Expr) -> CqlError:
    problem = f"'{name}' gives a different answer each time, so results would depend on the schedule"
    return CqlError(problem, "leave it out; for the time of a tuple, use a column of the stream", node)


def refuse_aggregates(expression: exp.Expr, clause: str) -> None:
    """Refuse aggregates in a clause that is evaluated for single rows."""
    for node in expression.walk():
        if is_aggregate(node):
            problem = f"the aggregate '{node.name}' is not allowed in {clause}"
            remedy = "conditions on aggregates go in HAVING" if clause == "WHERE" else "leave it out"
            raise CqlError(problem, remedy, node)
