"""Turns errors of Spark's analyzer into errors of the application file: which query, and where in its text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.errors import ApplicationError
from headgate.plan.model import Plan
from headgate.plan.operators.base import Operator
from headgate.runtime.spark.failures.error_messages import essence

# A place in the text that Spark was given, which is only a piece of the user's text.
_SPARKS_PLACE = re.compile(r"[;,]?\s*\(?line \d+,? pos \d+\)?;?")


def error_at_query(
    plan: Plan, operator: Operator, inputs: Sequence[DataFrame], error: PySparkException, remedy: str
) -> ApplicationError:
    """The error, naming its query; for CQL also line and character, if the faulty piece is found in the text."""
    query = plan.queries.get(operator.id.partition("/")[0])
    text = query.cql if query is not None else ""
    where = _where(text, _fragments(error) or _at_fault(operator, inputs, error)) if text else ""
    message = _SPARKS_PLACE.sub("", essence(error)).strip().rstrip(";.")
    return ApplicationError(place_of(plan, operator), where + message, remedy)


def place_of(plan: Plan, operator: Operator) -> str:
    """Where in the application file an operator comes from."""
    name, _, own = operator.id.partition("/")
    query = plan.queries.get(name)
    return f"queries.{name}.cql" if query is not None and query.cql else f"queries.{name}.operators.{own}"


def _fragments(error: PySparkException) -> list[str]:
    contexts = error.getQueryContext() or []
    return [context.fragment() for context in contexts if context.fragment()]


def _at_fault(operator: Operator, inputs: Sequence[DataFrame], error: PySparkException) -> list[str]:
    """The faulty expression, where Spark does not name it: the only one that fails with this error on its own."""
    if len(inputs) != 1:
        return []
    failing = [text for text in operator.expressions if _condition(inputs[0], text) == error.getCondition()]
    return failing if len(failing) == 1 else []


def _condition(frame: DataFrame, text: str) -> str | None:
    """The name of the error that an expression causes on its own; None if it causes none."""
    try:
        to_arrow_schema(frame.selectExpr(text).schema, timezone="UTC")
    except PySparkException as error:
        return error.getCondition()
    return None


def _where(text: str, fragments: list[str]) -> str:
    for fragment in fragments:
        words = re.findall(r"\w+|[^\w\s]", fragment.replace("`", ""))
        found = re.search(r"[\s`]*".join(map(re.escape, words)), text, re.IGNORECASE) if words else None
        if found:
            before = text[: found.start()]
            return f"line {before.count(chr(10)) + 1}, character {found.start() - before.rfind(chr(10))}: "
    return ""
