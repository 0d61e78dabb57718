"""The error for mistakes in the text of a query."""

from __future__ import annotations

from sqlglot import exp


class CqlError(Exception):
    """A mistake in CQL text; `compile_query` turns it into an ApplicationError.

    `at` is the offset of the word at fault in the text, or None when no single word is to blame.
    """

    def __init__(self, problem: str, remedy: str = "", at: int | exp.Expr | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        self.at = position_of(at) if isinstance(at, exp.Expr) else at
        super().__init__(problem, remedy)


def position_of(node: exp.Expr) -> int | None:
    """The offset at which a node starts in the text, as far as sqlglot recorded it."""
    found = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(found, default=None)
