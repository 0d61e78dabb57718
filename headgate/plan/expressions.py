"""Spark SQL expressions in an application: are their columns known, do their types fit?

Checked with sqlglot so that a wrong file is refused before Spark starts. Types that sqlglot cannot infer are left
open (`None`); Spark's analyser has the last word when the run begins.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.schema import MappingSchema

from headgate.plan.errors import ApplicationError, known_names
from headgate.plan.schema import Schema, type_name

_NUMBERS = {"TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE"}
_TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"}
_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ARITHMETIC = (exp.Sub, exp.Mul, exp.Div, exp.Mod)


def check_condition(text: str, schema: Schema, place: str) -> None:
    """Refuse a condition that is not a truth value over the given columns."""
    kind = expression_type(text, schema, place)
    if kind not in (None, "BOOLEAN"):
        raise ApplicationError(place, f"'{text}' is {kind}, not a condition", "compare it with something")


def expression_type(text: str, schema: Schema, place: str) -> str | None:
    """The type of an expression over the given columns; None where only Spark can tell."""
    tree = _parse(text, place)
    _refuse_unknown_columns(tree, schema, place)
    if tree.find(exp.Window):
        raise ApplicationError(place, f"'{text}' looks at other tuples of its batch", "leave the window function out")
    if tree.find(exp.AggFunc):
        raise ApplicationError(
            place, f"'{text}' aggregates over many tuples", "use an operator of kind aggregate for that"
        )
    if tree.find(exp.Subquery, exp.Select):
        raise ApplicationError(place, f"'{text}' holds a subquery", "join with a table instead")
    if isinstance(tree, exp.Column) and not tree.table:
        return schema.find(tree.name).type  # type: ignore[union-attr]  # just checked
    annotated = _annotate(tree, schema)
    _refuse_type_clash(annotated, place)
    return _name_of(annotated)


def group_type(text: str, schema: Schema, place: str) -> str | None:
    """The type of an expression to group by; None where only Spark can tell."""
    return expression_type(text, schema, place)


def aggregate_type(text: str, schema: Schema, place: str) -> str | None:
    """The type of an expression over many tuples; None where only Spark can tell."""
    tree = _parse(text, place)
    _refuse_unknown_columns(tree, schema, place)
    if tree.find(exp.Subquery, exp.Select):
        raise ApplicationError(place, f"'{text}' holds a subquery", "join with a table instead")
    if tree.find(exp.Window):
        raise ApplicationError(place, f"'{text}' is a window function", "put a window on the stream instead")
    if any(not (isinstance(star.parent, exp.Count) and star.parent.this is star) for star in tree.find_all(exp.Star)):
        raise ApplicationError(place, f"'{text}': * stands for all columns in count(*) only", "name the columns")
    return _name_of(_annotate(tree, schema))


def comparable(left: str | None, right: str | None) -> bool:
    """May values of these types be compared? Unknown types get the benefit of the doubt."""
    if left is None or right is None or left == right:
        return True
    return _family(left) == _family(right)


def _parse(text: str, place: str) -> exp.Expression:
    try:
        # As a condition, not as a statement: else `DROP x` passes, and a column named `set` cannot be used.
        tree = sqlglot.parse_one(text, read="spark", into=exp.Condition)
    except RecursionError as error:
        raise ApplicationError(place, "the expression is nested too deeply", "write it in several steps") from error
    except sqlglot.errors.ParseError as error:
        column = error.errors[0].get("col") if error.errors else None
        where = f" near character {column}" if column else ""
        raise ApplicationError(place, f"cannot read '{text}'{where}", "write a Spark SQL expression") from error
    except sqlglot.errors.SqlglotError as error:
        raise ApplicationError(place, f"cannot read '{text}'", "write a Spark SQL expression") from error
    if not isinstance(tree, exp.Expression) or isinstance(tree, (exp.Query, exp.Star, exp.Block)):
        raise ApplicationError(place, f"'{text}' is not an expression", "write a Spark SQL expression")
    return tree


def _refuse_unknown_columns(tree: exp.Expression, schema: Schema, place: str) -> None:
    for column in tree.find_all(exp.Column):
        if not isinstance(column.this, exp.Identifier):  # `v.*`, `v.(1)`
            raise ApplicationError(place, f"'{column.sql('spark')}' is not a column", "write a Spark SQL expression")
        # In `v.a.b` sqlglot takes the first word for a table; here it is a column with fields.
        name = column.parts[0].name
        if schema.find(name) is None:
            raise ApplicationError(place, f"there is no column '{name}'", known_names("columns", schema.names, name))


def _annotate(tree: exp.Expression, schema: Schema) -> exp.Expression:
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


def _refuse_type_clash(tree: exp.Expression, place: str) -> None:
    for node in tree.find_all(*_COMPARISONS, *_ARITHMETIC):
        assert isinstance(node, exp.Binary)
        left, right = _name_of(node.left), _name_of(node.right)
        if isinstance(node, _COMPARISONS) and not _fits(node, left, right):
            raise ApplicationError(
                place,
                f"'{_readable(node)}' compares {left} with {right}",
                "cast one side so that both have one type",
            )
        if isinstance(node, _ARITHMETIC) and "STRING" in (left, right):
            raise ApplicationError(place, f"'{_readable(node)}' computes with a STRING", "cast it to a number first")


def _fits(node: exp.Binary, left: str | None, right: str | None) -> bool:
    if comparable(left, right):
        return True
    # Spark reads a text literal as a date, timestamp or number: ts > '2024-01-01' is fine.
    return any(isinstance(side, exp.Literal) and side.is_string for side in (node.left, node.right))


def _readable(node: exp.Expression) -> str:
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
