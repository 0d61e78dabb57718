"""Checks the Spark SQL expressions in an application: do their columns exist, do their types match?

This needs no Spark, so a faulty file is refused before anything starts. Types that sqlglot cannot infer stay open
(`None`), and only what is certainly wrong is refused; Spark's analyzer has the last word.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from headgate.errors import ApplicationError, known_names
from headgate.sql.dialect import read_expression, sql_of
from headgate.sql.errors import CqlError
from headgate.sql.field_names import is_count_star
from headgate.sql.function_kinds import is_aggregate
from headgate.sql.schema import Schema, type_name
from headgate.sql.scope import Scope, ScopeItem
from headgate.sql.unsupported import refuse_forbidden_function

_NUMBERS = {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"}
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ARITHMETIC = (exp.Sub, exp.Mul, exp.Div, exp.Mod)
_CERTAIN = (exp.Column, exp.Literal, exp.Cast)  # for these, sqlglot knows the type as well as Spark does


def check_condition(text: str, schema: Schema, place: str) -> None:
    """Refuse a condition that certainly does not evaluate to true or false over the given columns."""
    kind = expression_type(text, schema, place)
    certain = isinstance(_typed(text, schema), _CERTAIN)
    if certain and kind not in (None, "BOOLEAN"):
        raise ApplicationError(place, f"'{text}' is {kind}, not a condition", "compare it with something")


def expression_type(text: str, schema: Schema, place: str) -> str | None:
    """The type of an expression over the given columns; None where only Spark can tell."""
    tree = _read(text, schema, place)
    if any(is_aggregate(node) for node in tree.walk()):
        raise ApplicationError(
            place, f"'{text}' aggregates over many tuples", "use an operator of kind aggregate for that"
        )
    if isinstance(tree, exp.Column) and not tree.table:
        return schema.find(tree.name).type  # type: ignore[union-attr]  # just checked
    typed = _typed(text, schema)
    if typed is None:
        return None
    _refuse_type_clash(typed, place)
    return _name_of(typed)


def aggregate_type(text: str, schema: Schema, place: str) -> str | None:
    """The type of an expression over many tuples; None where only Spark can tell."""
    _read(text, schema, place)
    typed = _typed(text, schema)
    return None if typed is None else _name_of(typed)


def expand_stars(text: str, schema: Schema, place: str) -> str:
    """The expression with every `*` replaced by the columns it stands for; unchanged if it has none or is invalid."""
    try:
        tree = read_expression(text)
        if all(is_count_star(star) for star in tree.find_all(exp.Star)):
            return text
        return sql_of(Scope([ScopeItem("", schema.names, qualified=False)]).resolve(tree))
    except CqlError as error:
        raise ApplicationError(place, f"'{text}': {error.problem}", error.remedy) from error
    except (sqlglot.errors.SqlglotError, RecursionError):
        return text  # the check of the expression will report it


def comparable(left: str | None, right: str | None) -> bool:
    """May values of these types be compared? Unknown types are assumed to be comparable."""
    if left is None or right is None or left == right:
        return True
    return _family(left) == _family(right)


def _read(text: str, schema: Schema, place: str) -> exp.Expr:
    """The parsed expression; ApplicationError if it cannot be read or names an unknown column."""
    try:
        tree = read_expression(text)
        for call in tree.find_all(exp.Anonymous):
            refuse_forbidden_function(call)
    except CqlError as error:
        raise ApplicationError(place, f"'{text}': {error.problem}", error.remedy) from error
    except RecursionError as error:
        raise ApplicationError(place, "the expression is nested too deeply", "write it in several steps") from error
    except sqlglot.errors.SqlglotError as error:
        raise _unreadable(text, error, place) from error
    if isinstance(tree, (exp.Query, exp.Star, exp.Lambda)):
        raise ApplicationError(place, f"'{text}' is not an expression", "write a Spark SQL expression")
    if tree.find(exp.Window):
        problem = f"'{text}' has a window function, which looks at other tuples of its batch"
        raise ApplicationError(place, problem, "leave it out")
    if tree.find(exp.Query):
        raise ApplicationError(place, f"'{text}' contains a subquery", "join with a table instead")
    if not all(is_count_star(star) for star in tree.find_all(exp.Star)):
        raise ApplicationError(place, f"'{text}': * is not allowed here", "name the columns")
    for column in tree.find_all(exp.Column):
        # In `v.a.b`, v is the column and the rest are its fields.
        name = column.parts[0].name
        if schema.find(name) is None:
            raise ApplicationError(place, f"there is no column '{name}'", known_names("columns", schema.names, name))
    return tree


def _unreadable(text: str, error: sqlglot.errors.SqlglotError, place: str) -> ApplicationError:
    column: object = None
    while isinstance(error, sqlglot.errors.ParseError):  # sqlglot wraps the error that knows the position
        column = error.errors[0].get("col") if error.errors else column
        error = error.__cause__  # type: ignore[assignment]
    where = f" near character {column}" if column else ""
    return ApplicationError(place, f"cannot read '{text}'{where}", "write a Spark SQL expression")


def _typed(text: str, schema: Schema) -> exp.Expr | None:
    """The expression as sqlglot sees it, with types; None when it sees nothing."""
    try:
        return _annotate(sqlglot.parse_one(text, read="spark", into=exp.Condition), schema)
    except Exception:  # sqlglot reads less than Spark does, and fails on some of it
        return None


def _annotate(tree: exp.Expr, schema: Schema) -> exp.Expr:
    copy = tree.copy()
    for column in list(copy.find_all(exp.Column)):
        if not column.table:
            column.set("table", exp.to_identifier("t"))
    types = {c.name.lower(): c.type or "UNKNOWN" for c in schema}
    query = exp.select(exp.alias_(copy, "x")).from_("t")
    for column in query.find_all(exp.Column):
        column.this.set("this", column.name.lower())
    annotated = annotate_types(query, schema=MappingSchema({"t": types}, dialect="spark"), dialect="spark")
    return annotated.selects[0].this


def _refuse_type_clash(tree: exp.Expr, place: str) -> None:
    for node in tree.find_all(*_COMPARISONS, *_ARITHMETIC):
        assert isinstance(node, exp.Binary)
        if not (isinstance(node.left, _CERTAIN) and isinstance(node.right, _CERTAIN)):
            continue
        left, right = _name_of(node.left), _name_of(node.right)
        if isinstance(node, _COMPARISONS) and not _fits(node, left, right):
            raise ApplicationError(
                place,
                f"'{_readable(node)}' compares {left} with {right}",
                "cast one side so that both have one type",
            )
        if isinstance(node, _ARITHMETIC) and "STRING" in (left, right) and not _has_text(node):
            raise ApplicationError(
                place, f"'{_readable(node)}' does arithmetic on a STRING", "cast it to a number first"
            )


def _fits(node: exp.Binary, left: str | None, right: str | None) -> bool:
    # Spark reads a string literal as a date, timestamp or number: ts > '2024-01-01' is fine.
    return comparable(left, right) or _has_text(node)


def _has_text(node: exp.Binary) -> bool:
    return any(isinstance(side, exp.Literal) and side.is_string for side in (node.left, node.right))


def _readable(node: exp.Expr) -> str:
    return re.sub(r"`?\bt`?\.", "", node.sql(dialect="spark"))


def _name_of(node: exp.Expr) -> str | None:
    kind = node.type
    if kind is None or kind.this in (exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL):
        return None
    return type_name(kind)


def _family(name: str) -> str:
    base = name.split("(")[0].split("<")[0]
    if base in _NUMBERS or base in ("DECIMAL", "NUMERIC"):
        return "number"
    return "time" if base in _TIMES else base
