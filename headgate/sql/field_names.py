"""Keeps field names right in functions that name the fields of their result after their arguments.

These are struct, (a, b) and arrays_zip. Inside a query a column may have another name than in the user's text, and an
aggregate or grouping expression becomes a column. The fields get explicit names, so that the result has the names that
Spark would give it over a plain table.
"""

from __future__ import annotations

from sqlglot import exp

from headgate.sql.errors import CqlError
from headgate.sql.verbatim import NamedField, StarColumns, Verbatim, call, is_plain_name, parenthesized, verbatim

_ZIPPED = "zipped"


def names_its_field(argument: exp.Expr) -> bool:
    """Does this node, an argument without AS, give its name to a field of the struct around it?"""
    above = argument.parent
    if isinstance(above, StarColumns):
        above = above.parent
    if isinstance(above, Verbatim):
        return bool(above.args.get("row"))
    return isinstance(above, exp.Anonymous) and above.name.lower() == "struct"


def with_name(means: exp.Expr, name: str) -> NamedField:
    """`means AS name`"""
    return NamedField(this=means, alias=exp.Identifier(this=name, quoted=not is_plain_name(name)))


def replacement_for(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """What to put in the place of `old`: in a struct, the field keeps the name that `old` gave it."""
    if old.parent is None:
        return new
    if not names_its_field(old):
        return parenthesized(new)
    if isinstance(old, exp.Column):
        return with_name(new, old.name)
    if isinstance(old, exp.Dot):
        return with_name(new, old.expression.name)
    return with_name(new, f"col{(old.index or 0) + 1}")


def name_nameless_fields(star: exp.Expr) -> None:
    """Name the nameless fields beside a `*` col1, col2, .. as Spark does, counting the `*` as one."""
    for part in list(star.parent.expressions if star.parent else []):
        if not isinstance(part, (NamedField, StarColumns, exp.Column, exp.Dot, exp.Star)):
            number = (part.index or 0) + 1
            wrapper = with_name(exp.Null(), f"col{number}")
            part.replace(wrapper)
            wrapper.set("this", part)


def is_count_star(star: exp.Expr) -> bool:
    """Is it the * of count(*), which means rows rather than columns?"""
    above = star.parent
    if not isinstance(above, exp.Anonymous) or above.name.lower() != "count" or len(above.expressions) > 1:
        return False
    return not star.args.get("except_") and not above.args["words"][0].endswith("DISTINCT")


def refuse_star(star: exp.Expr) -> None:
    """Refuse a `*` that is neither a function argument nor in a list such as x IN (*) or (*, 1)."""
    above = star.parent
    if isinstance(above, exp.Anonymous):
        if above.name.lower() == "count" and isinstance(star, exp.Column) and "DISTINCT" not in above.args["words"][0]:
            raise CqlError("count(stream.*) is not supported", "write count(*), or list them", star)
        return
    listed = isinstance(above, Verbatim) and (above.args.get("row") or "IN (" in above.args["words"])
    if not listed:
        raise CqlError("* is only allowed in SELECT and as a function argument", "name the columns", star)


def name_zipped_fields(zipped: exp.Anonymous) -> exp.Expr:
    """arrays_zip with the field names that Spark would choose, whatever the columns are called inside the query.

    coalesce(x) is x without its name, so that Spark calls the fields 0, 1, 2, ..
    """
    given: list[exp.Expr] = []
    for argument in zipped.expressions:
        given += argument.expressions if isinstance(argument, StarColumns) else [argument]
    if not given:
        return zipped
    fields: list[str | exp.Expr] = []
    for number, argument in enumerate(given):
        name = _spark_name(argument) or str(number)
        quoted = name.replace("\\", "\\\\").replace("'", "\\'")
        fields.append(f"'{quoted}', {_ZIPPED}.`{number}`")
    made = call("arrays_zip", *[call("coalesce", argument) for argument in given])
    body = verbatim(f"named_struct({', '.join(map(str, fields))})")
    variable = exp.Identifier(this=_ZIPPED)
    function = exp.Lambda(expressions=[variable], this=body)
    function.meta["pieces"] = ("", " -> ", "")
    return call("transform", made, function)


def _spark_name(argument: exp.Expr) -> str | None:
    """The name that Spark takes from an argument; None if it numbers the field instead."""
    bare = argument.unnest()
    if isinstance(bare, exp.Column):
        return bare.parts[-1].name
    if isinstance(bare, exp.Dot):
        return bare.expression.name
    if isinstance(bare, Verbatim) and not bare.expressions and bare.args.get("variable"):
        return str(bare.args["variable"])
    return None
