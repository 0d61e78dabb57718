"""Turns errors of Spark's analyzer into errors of the application file: which query, and where in its text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from headgate.errors import ApplicationError
from headgate.language.fragments import location_in
from headgate.plan.model import Plan
from headgate.plan.operators.base import Operator
from headgate.runtime.spark.failures.error_messages import essence


class NoType(Exception):
    """A value has no type: array() is an array of nothing."""


# The errors of analyzing an expression. Some errors of Spark, such as an unknown collation, come as Java's.
ANALYSIS_ERRORS = (PySparkException, Py4JJavaError, NoType)
# A place in the text that Spark was given, which is only a piece of the user's text.
_SPARKS_PLACE = re.compile(r"[;,]?\s*\(?line \d+,? pos \d+\)?;?")


def error_at_query(plan: Plan, operator: Operator, inputs: Sequence[DataFrame], error: Exception) -> ApplicationError:
    """The error, naming its query; for CQL also line and character, if the faulty piece is found in the text.

    `error` is one of ANALYSIS_ERRORS.
    """
    query = plan.queries.get(operator.id.partition("/")[0])
    text = query.cql if query is not None else ""
    where = location_in(text, [*fragments(error), *_at_fault(operator, inputs, error)]) if text else ""
    message, remedy = message_and_remedy(error)
    return ApplicationError(place_of(plan, operator), where + message, remedy)


def message_and_remedy(error: Exception) -> tuple[str, str]:
    """What is wrong, and what to do."""
    condition = _condition_of(error)
    message = _SPARKS_PLACE.sub("", essence(error)).strip().rstrip(";.")
    if isinstance(error, NoType):
        return "it holds a value of no type", "write CAST(... AS type) around it"
    if condition == "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE":  # GROUP BY, DISTINCT
        return "values of type MAP cannot be compared", "use map_entries(..) or to_json(..) of them"
    if condition == "UNSUPPORTED_DATA_TYPE_FOR_ARROW_CONVERSION":  # intervals of months, say
        return message, "write CAST(... AS STRING) around it"
    if isinstance(error, (AnalysisException, Py4JJavaError)):
        return message, "correct the expression"
    return message, "Spark cannot run it"


def arrow_schema_of(frame: DataFrame) -> pa.Schema:
    """The Arrow schema of a DataFrame. Raises one of ANALYSIS_ERRORS."""
    try:
        return to_arrow_schema(frame.schema, timezone="UTC")
    except PySparkException:
        raise
    except ValueError as error:  # Arrow's, of a field of the null type
        raise NoType(str(error)) from error


def place_of(plan: Plan, operator: Operator) -> str:
    """Where in the application file an operator comes from."""
    name, _, own = operator.id.partition("/")
    query = plan.queries.get(name)
    return f"queries.{name}.cql" if query is not None and query.cql else f"queries.{name}.operators.{own}"


def fragments(error: Exception) -> list[str]:
    """The pieces of text that Spark names as faulty."""
    contexts = (error.getQueryContext() or []) if isinstance(error, PySparkException) else []
    return [context.fragment() for context in contexts if context.fragment()]


def _at_fault(operator: Operator, inputs: Sequence[DataFrame], error: Exception) -> list[str]:
    """The faulty expression, where Spark does not name it: the only one, or the only one that fails with this error on
    its own."""
    if len(operator.expressions) == 1:
        return list(operator.expressions)
    if not operator.expressions:
        return [operator.kind]  # DISTINCT, EXCEPT and INTERSECT are words of the query
    if len(inputs) != 1:
        return []
    failing = [text for text in operator.expressions if _condition(inputs[0], text) == _condition_of(error)]
    return failing if len(failing) == 1 else []


def _condition(frame: DataFrame, text: str) -> str | None:
    """The name of the error that an expression, or comparing its values, causes on its own; None if it causes none."""
    try:
        arrow_schema_of(frame.selectExpr(text).distinct())
    except ANALYSIS_ERRORS as error:
        return _condition_of(error)
    return None


def _condition_of(error: Exception) -> str:
    """Spark's name for the error, or its message if it has none."""
    return (error.getCondition() if isinstance(error, PySparkException) else None) or essence(error)
