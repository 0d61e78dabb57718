"""Expressions as their author wrote them: a node keeps the text around its children, so its SQL is that same text.

Spark therefore gets the user's own words, except where something had to change: a column that has another name inside
the query, an aggregate that has become a column, the columns a `*` stands for. expression_reader.py makes the nodes.
Where rules need to know what an expression is (AND, =, a call, a column), it is sqlglot's node of that name; all other
syntax is a `Verbatim` node.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

PIECES = "pieces"  # key in `meta`: the text before, between and after the children of a node
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JOINED: dict[type[exp.Expr], str] = {exp.And: " AND ", exp.Or: " OR ", exp.EQ: " = ", exp.Dot: "."}


class Verbatim(exp.Expression):
    """A piece of syntax that no rule looks into. `words` is its text around the children, used for comparison.

    `closed`: it needs no parentheses anywhere, like a literal or a call. `row`: (a, b), which makes a struct.
    `variable`: the name of a lambda variable, or of a field of one.
    """

    arg_types = {"expressions": False, "words": True, "closed": False, "row": False, "variable": False}  # noqa: RUF012  # sqlglot's own style


class NamedField(exp.Expression):
    """`x AS name` among the fields of a struct."""

    arg_types = {"this": True, "alias": True}  # noqa: RUF012


class StarColumns(exp.Expression):
    """The columns that a `*` among the arguments of a function stands for."""

    arg_types = {"expressions": True}  # noqa: RUF012


def text_of(expression: exp.Expr) -> str:
    """The Spark SQL text of an expression: the user's own words wherever they are unchanged."""
    done: list[str] = []
    todo: list[str | exp.Expr] = [expression]
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            done.append(part)
        else:
            todo.extend(reversed(_parts(part)))
    return "".join(done)


def _parts(node: exp.Expr) -> Sequence[str | exp.Expr]:
    pieces = node.meta_get(PIECES)
    if pieces is not None:
        found: list[str | exp.Expr] = [pieces[0]]
        for piece, child in zip(pieces[1:], node.iter_expressions(), strict=True):
            found += [child, piece]
        return found
    joint = _JOINED.get(type(node))
    if joint is not None:
        return [node.this, joint, node.expression]
    match node:
        case exp.Identifier():
            return [f"`{node.name.replace('`', '``')}`" if node.quoted else node.name]
        case exp.Column():
            return _separated(node.parts, ".")
        case exp.Paren():
            return ["(", node.this, ")"]
        case NamedField():
            return [node.this, " AS ", node.args["alias"]]
        case StarColumns():
            return _separated(node.expressions, ", ")
        case exp.Boolean():
            return ["TRUE" if node.this else "FALSE"]
        case exp.Literal():
            return [str(node.this)]
        case exp.Neg():
            return ["-", node.this]
        case exp.Star():
            return ["*"]
    raise TypeError(f"no known SQL text for {node!r}")


def _separated(nodes: Sequence[exp.Expr], by: str) -> list[str | exp.Expr]:
    found: list[str | exp.Expr] = []
    for node in nodes:
        found += [by, node] if found else [node]
    return found


def stands_alone(node: exp.Expr) -> bool:
    """Can it replace a column without needing parentheses?"""
    if isinstance(node, Verbatim):
        return bool(node.args.get("closed"))
    return isinstance(node, (exp.Column, exp.Literal, exp.Anonymous, exp.Paren, exp.Boolean, exp.Null))


def parenthesized(node: exp.Expr) -> exp.Expr:
    """The node, in parentheses if it needs them inside another expression."""
    return node if stands_alone(node) else exp.Paren(this=node)


def is_plain_name(name: str) -> bool:
    """Is it an identifier that needs no backticks for its characters? (It may still be a keyword.)"""
    return _PLAIN.fullmatch(name) is not None


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A function call that the user did not write."""
    words = (f"{name}(", *[", "] * (len(arguments) - 1), ")") if arguments else (f"{name}()",)
    node = exp.Anonymous(this=name, expressions=list(arguments), words=words)
    node.meta[PIECES] = words
    return node


def verbatim(*pieces: str | exp.Expr) -> Verbatim:
    """Syntax that the user did not write: text and child nodes alternate, starting and ending with text."""
    words, parts = tuple(str(piece) for piece in pieces[::2]), list(pieces[1::2])
    node = Verbatim(expressions=parts, words=words, closed=True)
    node.meta[PIECES] = words
    return node
