"""Parses CQL text into sqlglot's tree, with windows and stream functions attached to the nodes they belong to.

`node.meta["window"]` is the FoundWindow of a table or subquery in FROM; `node.meta["stream"]` is the FoundFunction
around a query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import TokenType

from headgate.language.query_text import STREAM_FUNCTIONS, FoundFunction, FoundWindow, QueryText, read_query_text
from headgate.sql.dialect import Cql
from headgate.sql.errors import CqlError

_BEGIN = "a query starts with SELECT or WITH, or is ISTREAM(SELECT ..)"

_QUERY_BEGINS = (None, TokenType.L_PAREN, TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.ALL)


@dataclass(frozen=True)
class Parsed:
    """The result of `parse`."""

    text: QueryText
    tree: exp.Query


def parse(text: str) -> Parsed:
    """Read a query; CqlError if it cannot be read. Names and types are checked later (build_tree.py)."""
    source = read_query_text(text)
    _refuse_pipes(source)
    _refuse_early_from(source)
    tree = _statement(source)
    numbered = _numbered(tree, source)
    for function in source.functions:
        _attach_function(function, source, numbered)
    tables = {part.meta["start"]: table for table in tree.find_all(exp.Table) for part in _names(table)}
    for window in source.windows:
        _attach_window(window, source, tables, numbered)
    return Parsed(source, tree)


def _refuse_pipes(source: QueryText) -> None:
    """sqlglot reads `|>` as if what follows it belonged to the SELECT before it, where columns mean something else."""
    for token in source.tokens:
        if token.token_type is TokenType.PIPE_GT:
            remedy = "write SELECT .. FROM .. WHERE .., and a subquery in FROM for each step"
            raise CqlError("Spark's pipe syntax, |>, is not supported", remedy, token.start)


def _refuse_early_from(source: QueryText) -> None:
    """Refuse FROM before SELECT. It is valid Spark SQL, but `_numbered` relies on SELECTs coming in order."""
    for number, token in enumerate(source.tokens):
        before = source.tokens[number - 1].token_type if number else None
        if token.token_type is TokenType.FROM and before in _QUERY_BEGINS and not _is_field(source, number - 1):
            if number > 1 and source.tokens[number - 2].text.upper() == "TRIM":
                continue
            raise CqlError("FROM comes before SELECT", "write SELECT .. FROM .., in this order", token.start)


def _statement(source: QueryText) -> exp.Query:
    try:
        found = [tree for tree in sqlglot.parse(source.blanked, read=Cql) if tree is not None]
    except ParseError as error:
        raise _unreadable(error, source) from error
    except SqlglotError as error:
        raise CqlError("the text cannot be read", _BEGIN) from error
    except RecursionError as error:
        raise CqlError("the text is nested too deeply", "move parts of it into views") from error
    except Exception as error:  # sqlglot fails on some odd text, for example with an IndexError
        raise CqlError("the text cannot be read", _BEGIN) from error
    found = [tree for tree in found if not isinstance(tree, exp.Semicolon)]
    if not found:
        raise CqlError("there is no query", _BEGIN)
    if len(found) > 1:
        raise CqlError("there is more than one query", "give each query a name of its own in the application")
    if not isinstance(found[0], exp.Query):
        raise CqlError("this is not a query", _BEGIN, 0)
    return found[0]


def _unreadable(error: ParseError, source: QueryText) -> CqlError:
    detail = error.errors[0] if error.errors else {}
    ends = (detail.get("line"), detail.get("col"))
    for token in source.tokens:
        if (token.line, token.col) == ends:
            return CqlError(f"cannot parse the text at '{token.text}'", "check the words before it", token.start)
    return CqlError("the text cannot be read", _BEGIN)


def _names(table: exp.Table) -> Iterator[exp.Expr]:
    """The words of a table in FROM that a window may follow: its name and its alias."""
    alias = table.args.get("alias")
    for part in (table.this, alias.this if alias else None):
        if isinstance(part, exp.Identifier) and "start" in part.meta:
            yield part


def _numbered(tree: exp.Query, source: QueryText) -> dict[int, exp.Select]:
    """Match each SELECT token with its SELECT in the tree; both are in the order of the text."""
    tokens = [
        i for i, token in enumerate(source.tokens) if token.token_type is TokenType.SELECT and not _is_field(source, i)
    ]
    selects = list(_selects(tree))
    if len(tokens) != len(selects):
        raise CqlError("the text cannot be read", "write SELECT .. FROM .., in this order")
    return dict(zip(tokens, selects, strict=True))


def _is_field(source: QueryText, number: int) -> bool:
    """Is the word a name after a dot? Keywords are names there."""
    return number > 0 and source.tokens[number - 1].token_type is TokenType.DOT


def _selects(node: exp.Expr) -> Iterator[exp.Select]:
    """Every SELECT below a node, in text order: sqlglot keeps arguments in this order, except for WITH."""
    parts = dict(node.args)
    with_ = parts.pop("with_", None)
    if isinstance(with_, exp.Expr):
        yield from _selects(with_)
    if isinstance(node, exp.Select):
        yield node
    if isinstance(node, exp.CTE):
        parts.pop("alias", None)
    for value in parts.values():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expr):
                yield from _selects(child)


def _attach_function(function: FoundFunction, source: QueryText, numbered: dict[int, exp.Select]) -> None:
    first = source.tokens[function.opening + 1]
    query = _query_between(function.opening, function.closing, numbered)
    nested = first.text.upper() in STREAM_FUNCTIONS
    if query is None or first.token_type not in (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN):
        problem = f"{function.name} is applied to a stream" if nested else f"{function.name} does not enclose a query"
        remedy = "keep one stream function" if nested else f"write {function.name}(SELECT .. FROM ..)"
        raise CqlError(problem, remedy, function.at)
    if "stream" in query.meta:
        raise CqlError(f"{function.name} is applied to a stream", "keep one stream function", function.at)
    if not _may_stand_here(query):
        problem = f"{function.name} is inside an expression"
        raise CqlError(problem, "write it around a whole query, a view in WITH or a subquery in FROM", function.at)
    query.meta["stream"] = function


def _may_stand_here(query: exp.Expr) -> bool:
    """Is it the whole query, a view, a subquery in FROM, or one side of a set operation?"""
    above = query.parent
    while isinstance(above, exp.Subquery):
        above = above.parent
    return above is None or isinstance(above, (exp.CTE, exp.From, exp.Join, exp.SetOperation))


def _attach_window(
    window: FoundWindow, source: QueryText, tables: dict[int, exp.Table], numbered: dict[int, exp.Select]
) -> None:
    before = source.tokens[window.before]
    target: exp.Expr | None = tables.get(before.start)
    if before.token_type is TokenType.R_PAREN:
        target = _subquery_before(window.before, source, numbered)
    if target is None:
        problem = f"the window [{window.window}] does not follow a stream"
        raise CqlError(problem, "write it after a stream in FROM: FROM sensors [NOW] AS s", window.at)
    if "window" in target.meta:
        raise CqlError("a stream has two windows", "keep one of them", window.at)
    target.meta["window"] = window


def _subquery_before(closing: int, source: QueryText, numbered: dict[int, exp.Select]) -> exp.Expr | None:
    """The subquery in FROM that ends with this parenthesis."""
    depth, opening = 0, closing
    for number in range(closing, -1, -1):
        kind = source.tokens[number].token_type
        depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN)
        if depth == 0:
            opening = number
            break
    query = _query_between(opening, closing, numbered)
    if query is None or not isinstance(query.parent, exp.Subquery):
        return None
    outer = query.parent
    while isinstance(outer.parent, exp.Subquery):
        outer = outer.parent
    return outer if isinstance(outer.parent, (exp.From, exp.Join)) else None


def _query_between(opening: int, closing: int, numbered: dict[int, exp.Select]) -> exp.Expr | None:
    """The query between two parentheses: the smallest one that contains all SELECTs between them."""
    inside = [select for number, select in numbered.items() if opening < number < closing]
    if not inside:
        return None
    common = _above(inside[0])
    for select in inside[1:]:
        others = {id(node) for node in _above(select)}
        common = [node for node in common if id(node) in others]
    return next((node for node in common if isinstance(node, (exp.Select, exp.SetOperation))), None)


def _above(node: exp.Expr) -> list[exp.Expr]:
    """A node and all its ancestors, from the inside out."""
    found: list[exp.Expr] = []
    current: exp.Expr | None = node
    while current is not None:
        found.append(current)
        current = current.parent
    return found
