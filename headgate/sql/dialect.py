"""The dialect in which queries are read: sqlglot reads the clauses, expression_reader.py the expressions in them."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark

from headgate.sql.expression_reader import ExpressionReader
from headgate.sql.verbatim import is_plain_name, text_of


class Cql(Spark):
    """Spark SQL, with expressions that keep the text they were written in."""

    class Tokenizer(Spark.Tokenizer):
        # Since Spark 4 a doubled quote means a quote; sqlglot would read two strings and join them without it.
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  # sqlglot's own style
        # No WINDOW clause (queries have no OVER), so that GROUP BY may start with the function window(..).
        KEYWORDS = {k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if k != "WINDOW"}  # noqa: RUF012

    Parser = ExpressionReader


_KEYWORDS = {word for word in Spark.Tokenizer.KEYWORDS if is_plain_name(word)}


def read_expression(text: str) -> exp.Expr:
    """Parse a single expression; raises sqlglot's errors if it cannot be read."""
    found = sqlglot.Dialect.get_or_raise(Cql).parse_into(exp.Condition, text)
    if len(found) != 1 or found[0] is None:
        raise sqlglot.errors.ParseError("expected exactly one expression")
    return found[0]


def sql_of(expression: exp.Expr) -> str:
    """The Spark SQL text of an expression, in the user's own words."""
    return text_of(expression)


def column(name: str) -> exp.Column:
    """A column by its full name, in backticks where Spark needs them."""
    quoted = not is_plain_name(name) or name.upper() in _KEYWORDS
    return exp.Column(this=exp.Identifier(this=name, quoted=quoted))
