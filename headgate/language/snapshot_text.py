"""Reads the text of a one-time query and turns it into text for Spark, in which nothing can be read but what it names.

Every name in FROM, and every view of WITH, gets another name that only the query's own session knows. So a name that
means nothing here means nothing to Spark either, whatever its catalog holds. Comments are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp
from sqlglot.tokens import TokenType

from headgate.language.parse import parse
from headgate.language.query_text import FoundWindow
from headgate.plan.windows import Window
from headgate.sql.dialect import Cql
from headgate.sql.errors import CqlError
from headgate.sql.unsupported import check_clauses, refuse_forbidden_function

# Clauses that a one-time query may have besides those of a continuous one.
_MORE = frozenset({"order", "limit", "offset"})
# Expressions that sqlglot's own parser makes; any other function in the tree was not read by ours.
_OWN = (exp.Anonymous, exp.And, exp.Or, exp.Exists)
_ITEMS = "FROM takes queries, tables, windows over streams, views and subqueries"


class Reading(NamedTuple):
    """Something that the text reads: `view` is its name in Spark's text."""

    view: str
    name: str
    window: Window | None
    at: int


@dataclass(frozen=True)
class SnapshotText:
    """A one-time query: `sql` is for Spark, with a temporary view for each of `reads`; `tree` is what was written."""

    sql: str
    reads: tuple[Reading, ...]
    tree: exp.Query


def read_snapshot_text(text: str) -> SnapshotText:
    """Read a one-time query. CqlError: it cannot be read, or says more than one SELECT over what FROM names."""
    parsed = parse(text)
    for function in parsed.text.functions:
        problem = f"{function.name} makes a stream, and a one-time query has none"
        raise CqlError(problem, "leave it out", function.at)
    for node in parsed.tree.walk():
        _check(node)
    views = {id(cte): f"headgate_with_{number}" for number, cte in enumerate(parsed.tree.find_all(exp.CTE))}
    instead = {_start(cte.args["alias"].this): f"`{views[id(cte)]}`" for cte in parsed.tree.find_all(exp.CTE)}
    reads: list[Reading] = []
    for table in parsed.tree.find_all(exp.Table):
        found: FoundWindow | None = table.meta.get("window")
        cte = _view_of(table)
        if cte is not None and found is not None:
            raise CqlError(f"'{table.name}' is a view and cannot have a window here", "leave the window out", found.at)
        if cte is None:
            view = f"headgate_view_{len(reads)}"
            at = _start(table.this)
            reads.append(Reading(view, table.name, None if found is None else found.window, at))
        else:
            view = views[id(cte)]
        alias = "" if table.args.get("alias") else f" AS `{table.name.replace('`', '``')}`"
        instead[_start(table.this)] = f"`{view}`{alias}"
    return SnapshotText(_rebuilt(parsed.text.blanked, instead), tuple(reads), parsed.tree)


def _check(node: exp.Expr) -> None:
    match node:
        case exp.Select() | exp.SetOperation():
            check_clauses(node, _MORE)
        case exp.Subquery():
            check_clauses(node, _MORE)
            if "window" in node.meta:
                at = node.meta["window"].at
                raise CqlError("a subquery cannot have a window here", "leave the window out", at)
        case exp.Table():
            _check_table(node)
        case exp.With() if node.args.get("recursive"):
            raise CqlError("WITH RECURSIVE is not supported", "leave RECURSIVE out", node)
        case exp.CTE() if not node.alias:
            raise CqlError("a view has no name", "write WITH name AS (SELECT ..)", node)
        case exp.From() | exp.Join():
            item = node.this
            if not isinstance(item, exp.Table) and not (
                isinstance(item, exp.Subquery) and isinstance(item.this, exp.Query)
            ):
                raise CqlError("FROM contains something that cannot be read", _ITEMS, item)
        case exp.Limit() | exp.Offset():
            if not isinstance(node.expression, exp.Literal) or node.expression.is_string:
                raise CqlError(f"{node.key.upper()} is not a number", "write LIMIT 10", node.expression)
        case exp.Fetch():
            raise CqlError("FETCH is not supported", "write LIMIT 10", node)
        case exp.Window():
            problem = "window functions (OVER) are not supported"
            raise CqlError(problem, "use ORDER BY and LIMIT, or group and join", node)
        case exp.Anonymous():
            refuse_forbidden_function(node)
        case exp.Func() | exp.Command() | exp.QueryTransform() if not isinstance(node, _OWN):
            raise CqlError("this cannot be read", "write SELECT .. FROM .., with functions in expressions", node)


def _check_table(table: exp.Table) -> None:
    if not isinstance(table.this, exp.Identifier):
        raise CqlError("FROM contains something that cannot be read", _ITEMS, table)
    if table.args.get("db"):
        raise CqlError(f"'{table.args['db'].name}.{table.name}' has two parts", "names have no dots here", table)
    check_clauses(table)


def _view_of(table: exp.Table) -> exp.CTE | None:
    """The view of WITH that a name in FROM means: of the query around it or one further out, defined before it."""
    node: exp.Expr = table
    within: exp.Expr | None = None  # the view that the name is inside of
    while (above := node.parent) is not None:
        if isinstance(node, exp.CTE):
            within = node
        clause = above.args.get("with_")
        if clause is not None:
            seen = clause.expressions
            if node is clause:
                seen = seen[: next(at for at, one in enumerate(seen) if one is within)]
            for cte in seen:
                if cte.alias.lower() == table.name.lower():
                    return cte
        node = above
    return None


def _start(name: exp.Expr) -> int:
    if "start" not in name.meta:
        raise CqlError("the text cannot be read", "write SELECT .. FROM ..")
    return int(name.meta["start"])


def _rebuilt(text: str, instead: dict[int, str]) -> str:
    """The words of a text, some of them replaced, without comments."""
    words: list[str] = []
    end = begun = -1
    for token in Cql().tokenize(text):
        if token.token_type is TokenType.HINT:
            raise CqlError("a hint is not supported", "leave it out", token.start)
        if token.token_type is TokenType.SEMICOLON or token.start == begun:  # 1L is a number and its suffix
            end = max(end, token.end)
            continue
        if words and token.start > end + 1:
            words.append(" ")
        words.append(instead.get(token.start, text[token.start : token.end + 1]))
        begun, end = token.start, token.end
    return "".join(words)
