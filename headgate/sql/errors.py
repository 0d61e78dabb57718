"""What is wrong with the text of a query, and where in it."""

from __future__ import annotations

from sqlglot import exp


class CqlError(Exception):
    """A problem in CQL text; `compile_query` makes an ApplicationError of it.

    `at` is the offset of the word in the text that is at fault, None when no single word is.
    """

    def __init__(self, problem: str, remedy: str = "", at: int | exp.Expr | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        self.at = position_of(at) if isinstance(at, exp.Expr) else at
        super().__init__(problem, remedy)


def position_of(node: exp.Expr) -> int | None:
    """Where in the text a piece of it begins: the first offset that sqlglot noted in it."""
    found = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(found, default=None)
