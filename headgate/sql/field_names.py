"""Functions that name the parts of their result by what they are given: struct, (a, b), arrays_zip.

Inside a query a column has another name than the user's, and an aggregate or what is grouped by becomes a column. So
that such a function gives what Spark would give over a plain table, its parts are told their names.
"""

from __future__ import annotations

from sqlglot import exp

from headgate.sql.errors import CqlError
from headgate.sql.verbatim import NamedField, StarColumns, Verbatim, call, is_plain_name, parenthesized, verbatim

_ZIPPED = "zipped"


def names_its_field(part: exp.Expr) -> bool:
    """Is it a part, without AS, of something that names its parts by what they are?"""
    above = part.parent
    if isinstance(above, StarColumns):
        above = above.parent
    if isinstance(above, Verbatim):
        return bool(above.args.get("row"))
    return isinstance(above, exp.Anonymous) and above.name.lower() == "struct"


def with_name(means: exp.Expr, name: str) -> NamedField:
    """`means AS name`"""
    return NamedField(this=means, alias=exp.Identifier(this=name, quoted=not is_plain_name(name)))


def replacement_for(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    """What to put where `old` was: in a struct it keeps the name that `old` gave to its part."""
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
    """Parts beside a `*` that have no names are col2 and the like, counted before it is written out."""
    for part in list(star.parent.expressions if star.parent else []):
        if not isinstance(part, (NamedField, StarColumns, exp.Column, exp.Dot, exp.Star)):
            number = (part.index or 0) + 1
            wrapper = with_name(exp.Null(), f"col{number}")
            part.replace(wrapper)
            wrapper.set("this", part)


def is_count_star(star: exp.Expr) -> bool:
    """Is it the * of count(*), which stands for rows rather than columns?"""
    above = star.parent
    if not isinstance(above, exp.Anonymous) or above.name.lower() != "count" or len(above.expressions) > 1:
        return False
    return not star.args.get("except_") and not above.args["words"][0].endswith("DISTINCT")


def refuse_star(star: exp.Expr) -> None:
    """`*` is for the arguments of functions, and for lists: x IN (*), (*, 1)."""
    above = star.parent
    if isinstance(above, exp.Anonymous):
        if above.name.lower() == "count" and isinstance(star, exp.Column) and "DISTINCT" not in above.args["words"][0]:
            raise CqlError("count of all columns of one stream is not possible", "write count(*), or list them", star)
        return
    listed = isinstance(above, Verbatim) and (above.args.get("row") or "IN (" in above.args["words"])
    if not listed:
        raise CqlError("* stands for columns in SELECT and as an argument only", "name the columns", star)


def name_zipped_fields(zipped: exp.Anonymous) -> exp.Expr:
    """arrays_zip with the names that Spark would give to the parts, whatever the columns are called inside the query.

    coalesce(x) is x without a name, so that Spark calls the parts 0, 1, 2, ..
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
    bare = argument.unnest()
    if isinstance(bare, exp.Column):
        return bare.parts[-1].name
    if isinstance(bare, exp.Dot):
        return bare.expression.name
    if isinstance(bare, Verbatim) and not bare.expressions and bare.args.get("variable"):
        return str(bare.args["variable"])
    return None
