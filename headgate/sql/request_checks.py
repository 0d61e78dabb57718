"""Checks expressions that come with a request from somebody else, who may compute with tuples and do nothing else.

`refuse_unlisted` looks at parsed text; `check_request_expression` at the text of an expression in a finished plan,
twice: as a tree, and word by word, so that nothing hides in syntax that the tree does not show.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from headgate.sql.allowed_functions import ALLOWED, LEFT_OUT, MULTIPLYING, SIZED
from headgate.sql.dialect import Cql, read_expression
from headgate.sql.errors import CqlError
from headgate.sql.function_kinds import FORBIDDEN
from headgate.sql.verbatim import PIECES

SMALLEST_DEVIATION = 0.001  # of approx_count_distinct: below it, each group takes megabytes
MOST_WINDOWS = 1000  # of one row in window(ts, '..', '..'): Spark makes that many copies of its plan

_REMEDY = "use Spark's functions that only compute a value from their arguments"
_LENGTH = re.compile(r"(?:interval\s+)?(\d{1,12})\s+([a-z]+?)s?", re.IGNORECASE)
_SECONDS = {"microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600, "day": 86400}
_SECONDS["week"] = 7 * 86400
_WIDE = re.compile(r"\d{4}")  # in the format of format_string: a width of thousands
# Words that may stand before a parenthesis without being a function.
_WORDS = frozenset(
    """
    ALL AND ANY AS ASYMMETRIC BETWEEN BOTH BY CASE DISTINCT DIV ELSE ESCAPE FILTER FOR FROM GROUP ILIKE IN IS LEADING
    LIKE NOT OR PLACING REGEXP RLIKE SOME SYMMETRIC THEN TRAILING WHEN WHERE
    DEC DECIMAL NUMERIC CHAR CHARACTER VARCHAR TIME INTERVAL STRING SECOND
    """.split()  # noqa: SIM905
)


def refuse_unlisted(tree: exp.Expr, largest: int, more: Collection[str] = ()) -> None:
    """Refuse functions outside the list and values of more than `largest` parts. `more`: further functions to allow.

    Raises CqlError with the position of the call.
    """
    for node in tree.walk():
        if isinstance(node, exp.Anonymous):
            _check_name(node, more)
            _check_arguments(node, largest)
    if (parts := _parts(tree)) > largest:
        at = next((node for node in tree.find_all(exp.Anonymous) if _parts(node) > largest), None)
        raise CqlError(f"one value could have {parts:,} parts", f"stay within {largest:,}", at)


def check_request_expression(text: str, largest: int) -> None:
    """Refuse an expression of a plan that a request may not use. CqlError: why."""
    try:
        refuse_unlisted(read_expression(text), largest)
        tokens: Sequence[Token] = list(Cql().tokenize(text))
    except (sqlglot.errors.SqlglotError, RecursionError) as error:
        raise CqlError("the expression cannot be read", "write a simpler one") from error
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if after.token_type is TokenType.L_PAREN and _is_word(token):
            if before is not None and before.token_type is TokenType.DOT:
                raise _qualified(token.text, None)
            quoted = token.token_type is TokenType.IDENTIFIER
            if token.text.lower() not in ALLOWED and (quoted or token.text.upper().split()[-1] not in _WORDS):
                raise _unlisted(token.text, None)


def _is_word(token: Token) -> bool:
    return token.token_type is TokenType.IDENTIFIER or (
        token.token_type is not TokenType.STRING and re.match(r"[^\W\d]", token.text) is not None
    )


def _check_name(call: exp.Anonymous, more: Collection[str]) -> None:
    name = call.name.lower()
    if name not in ALLOWED and name not in more:
        raise _unlisted(call.name, call)
    pieces = call.meta_get(PIECES)
    written = pieces[0].partition("(")[0].strip().strip("`").lower() if pieces else name
    if written != name:
        raise _qualified(call.name, call)


def _unlisted(name: str, at: exp.Expr | None) -> CqlError:
    why = FORBIDDEN.get(name.lower()) or LEFT_OUT.get(name.lower())
    problem = f"a request may not use the function '{name}'"
    return CqlError(f"{problem}, which {why}" if why else problem, _REMEDY, at)


def _qualified(name: str, at: exp.Expr | None) -> CqlError:
    return CqlError(f"a request may not use functions of a catalog or schema: '{name}'", "write its name alone", at)


# How much one call can make ---------------------------------------------------------------------------------------


def _check_arguments(call: exp.Anonymous, largest: int) -> None:
    name = call.name.lower()
    given = call.expressions
    if name in SIZED:
        if any(part.find(exp.Star) for part in given) or "=>" in "".join(call.meta_get(PIECES) or ()):
            raise CqlError(f"the arguments of '{call.name}' must be written out", "name each in its place", call)
        for position in SIZED[name]:
            if position < len(given):
                _check_size(call, given[position], largest)
    elif name in ("format_string", "printf") and given:
        text = given[0]
        if not (isinstance(text, exp.Literal) and text.is_string) or _WIDE.search(str(text.this)):
            problem = f"the format of '{call.name}' must be a text without widths of 1000 and more"
            raise CqlError(problem, "write the format as a text in quotes", call)
    elif name == "approx_count_distinct" and len(given) > 1:
        if not _deviates_enough(given[1]):
            problem = f"the deviation of '{call.name}' must be a number of {SMALLEST_DEVIATION} or more"
            raise CqlError(problem, "leave it out, or write 0.01", call)
    elif name == "window" and len(given) > 1:
        lengths = [_seconds(part) for part in given[1:3]]
        if None in lengths or lengths[0] > MOST_WINDOWS * lengths[-1]:  # type: ignore[operator]  # not None
            problem = f"a row may be in {MOST_WINDOWS:,} windows at most, of lengths written like '10 minutes'"
            raise CqlError(problem, "write window(ts, '1 hour', '10 minutes')", call)


def _check_size(call: exp.Anonymous, argument: exp.Expr, largest: int) -> None:
    size = _whole(argument)
    if size is None:
        problem = f"the size in '{call.name}' must be a whole number in the text of a request"
        raise CqlError(problem, f"write a number up to {largest:,}", call)
    if size > largest:
        raise CqlError(f"{size:,} is too large a size for '{call.name}'", f"write a number up to {largest:,}", call)


def _whole(node: exp.Expr) -> int | None:
    """The size of a whole number as written; None if it is anything else."""
    found = node.unnest()
    if isinstance(found, exp.Neg):
        found = found.this.unnest()
    if isinstance(found, exp.Literal) and not found.is_string and str(found.this).isdecimal():
        digits = str(found.this)
        return int(digits) if len(digits) < 20 else 10**20
    return None


def _deviates_enough(node: exp.Expr) -> bool:
    text = re.sub(r"[dDfF]$", "", "".join(node.meta_get(PIECES) or (str(node.this),)))
    try:
        return SMALLEST_DEVIATION <= float(text) <= 1
    except ValueError:
        return False


def _seconds(node: exp.Expr) -> float | None:
    """The length of time in a text such as '10 minutes'; None if it is written in another way, or is 0."""
    found = _LENGTH.fullmatch(str(node.this).strip()) if isinstance(node, exp.Literal) and node.is_string else None
    if found is None or found[2].lower() not in _SECONDS:
        return None
    return int(found[1]) * _SECONDS[found[2].lower()] or None


def _parts(node: exp.Expr) -> int:
    """At most how many parts a value has that is made by sized functions, one inside the other."""
    inner = [_parts(child) for child in node.iter_expressions()]
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name in MULTIPLYING:
            return _product(inner)
        if name in SIZED:
            sizes = [_whole(node.expressions[at]) or 1 for at in SIZED[name] if at < len(node.expressions)]
            return max([1, *inner]) * max([1, *sizes])
    return max([1, *inner])


def _product(numbers: Sequence[int]) -> int:
    found = 1
    for number in numbers:
        found = min(found * number, 10**20)
    return found
