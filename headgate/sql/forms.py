"""Expressions as their author wrote them: a node keeps the words around its parts, and its text is those words again.

So Spark gets the user's own text, but for the pieces that had to change: a column under its name inside the query, an
aggregate that has become a column, what `*` stands for. reader.py makes the nodes. Where a rule asks what an expression
is (AND, =, a call, a column), the node is sqlglot's of that name; every other piece of syntax is a Form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import exp

PIECES = "pieces"  # in `meta`: the text before, between and behind the parts of a node
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_JOINED: dict[type[exp.Expr], str] = {exp.And: " AND ", exp.Or: " OR ", exp.EQ: " = ", exp.Dot: "."}


class Form(exp.Expression):
    """A piece of syntax that no rule looks into. `words` is what it says around its parts, for comparing.

    `closed`: it keeps together wherever it is put, as a literal or a call does. `row`: (a, b), which makes a struct.
    `variable`: the name of a variable of a lambda, or of its field.
    """

    arg_types = {"expressions": False, "words": True, "closed": False, "row": False, "variable": False}  # noqa: RUF012  # sqlglot's way


class Named(exp.Expression):
    """`x AS name` among the parts of a struct."""

    arg_types = {"this": True, "alias": True}  # noqa: RUF012


class Listed(exp.Expression):
    """The columns that a `*` among the arguments of a function stands for."""

    arg_types = {"expressions": True}  # noqa: RUF012


def text_of(expression: exp.Expr) -> str:
    """Spark SQL text of an expression: the user's own words wherever they still stand."""
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
        case Named():
            return [node.this, " AS ", node.args["alias"]]
        case Listed():
            return _separated(node.expressions, ", ")
        case exp.Boolean():
            return ["TRUE" if node.this else "FALSE"]
        case exp.Literal():
            return [str(node.this)]
        case exp.Neg():
            return ["-", node.this]
        case exp.Star():
            return ["*"]
    raise TypeError(f"an expression that nobody wrote: {node!r}")


def _separated(nodes: Sequence[exp.Expr], by: str) -> list[str | exp.Expr]:
    found: list[str | exp.Expr] = []
    for node in nodes:
        found += [by, node] if found else [node]
    return found


def keeps_together(node: exp.Expr) -> bool:
    """Can it stand in the place of a column without parentheses?"""
    if isinstance(node, Form):
        return bool(node.args.get("closed"))
    return isinstance(node, (exp.Column, exp.Literal, exp.Anonymous, exp.Paren, exp.Boolean, exp.Null))


def placed(node: exp.Expr) -> exp.Expr:
    """The node as a part of another expression."""
    return node if keeps_together(node) else exp.Paren(this=node)


def is_plain(name: str) -> bool:
    return _PLAIN.fullmatch(name) is not None


def call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    """A call of a function that the user did not write."""
    words = (f"{name}(", *[", "] * (len(arguments) - 1), ")") if arguments else (f"{name}()",)
    node = exp.Anonymous(this=name, expressions=list(arguments), words=words)
    node.meta[PIECES] = words
    return node


def form(*pieces: str | exp.Expr) -> Form:
    """A piece of syntax that the user did not write: text and parts in turn, text first and last."""
    words, parts = tuple(str(piece) for piece in pieces[::2]), list(pieces[1::2])
    node = Form(expressions=parts, words=words, closed=True)
    node.meta[PIECES] = words
    return node
