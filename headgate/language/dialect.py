"""How sqlglot reads and writes the Spark SQL inside a query: functions stay the words that the user wrote.

sqlglot's own Spark dialect turns functions into its own notions and back, which may change what they mean. Here a
function is a name with arguments, whatever it is, and Spark alone knows its meaning. Only forms with a syntax of
their own (CAST, EXTRACT, TRIM, ..) are read as such.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

_OWN_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT", "TRIM", "OVERLAY", "POSITION", "SUBSTRING", "SUBSTR")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Cql(Spark):
    """Spark SQL without any knowledge of functions."""

    class Tokenizer(Spark.Tokenizer):
        # Since Spark 4 a doubled quote is a quote; sqlglot would take it for two texts, and glue them without it.
        STRING_ESCAPES = ["\\", "'", '"']  # noqa: RUF012  # sqlglot's way
        # No WINDOW clause (queries have no OVER), so that GROUP BY may begin with the function window(..).
        KEYWORDS = {k: v for k, v in Spark.Tokenizer.KEYWORDS.items() if k != "WINDOW"}  # noqa: RUF012

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS = {  # noqa: RUF012
            name: parser for name, parser in SparkParser.FUNCTION_PARSERS.items() if name in _OWN_SYNTAX
        }
        NO_PAREN_FUNCTION_PARSERS = {"CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"]}  # noqa: RUF012

    class Generator(SparkGenerator):
        def not_sql(self, expression: exp.Not) -> str:
            """`a IS NOT NULL` rather than `NOT a IS NULL`."""
            if isinstance(expression.this, exp.Is):
                return f"{self.sql(expression.this, 'this')} IS NOT {self.sql(expression.this, 'expression')}"
            return super().not_sql(expression)


_KEYWORDS = {word for word in Spark.Tokenizer.KEYWORDS if _PLAIN.fullmatch(word)}


def sql_of(expression: exp.Expr) -> str:
    """Spark SQL text of an expression; functions keep the names and letter case that they came with."""
    return expression.sql(dialect=Cql, normalize_functions=False, comments=False)


def column(name: str) -> exp.Column:
    """A column by its whole name, in backticks where Spark needs them."""
    quoted = _PLAIN.fullmatch(name) is None or name.upper() in _KEYWORDS
    return exp.Column(this=exp.Identifier(this=name, quoted=quoted))
