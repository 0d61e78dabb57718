"""Prepares the text of a query for sqlglot: windows and stream functions are taken out and remembered.

sqlglot reads Spark SQL, which has neither `[RANGE 20 SECONDS]` nor `ISTREAM( )`. They are blanked out, so that every
other word keeps its position, and attached to the tree by position afterwards (see parse.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from headgate.plan.windows import WINDOW_REMEDY, RowsWindow, Window, parse_window
from headgate.sql.dialect import Cql
from headgate.sql.errors import CqlError

STREAM_FUNCTIONS = ("ISTREAM", "DSTREAM", "RSTREAM")
# What a text consists of between its words; the opening of something that is never closed stands alone.
_PIECE = re.compile(
    r"""--[^\n]*|/\*.*?\*/|/\*|\br'[^']*'|\br"[^"]*"|'(?:[^'\\]|\\.|'')*+'|"(?:[^"\\]|\\.|"")*+"|`[^`]*`|.""",
    re.DOTALL | re.IGNORECASE,
)
_OPENINGS = {"'": "a quoted string", '"': "a quoted string", "`": "a name in backticks", "/*": "a comment"}
_WINDOW_WORDS = ("NOW", "RANGE", "ROWS", "PARTITION", "PARTITION BY")


@dataclass(frozen=True)
class FoundWindow:
    """A window in brackets. `before` is the index of the token that it follows."""

    window: Window
    at: int
    before: int


@dataclass(frozen=True)
class FoundFunction:
    """ISTREAM, DSTREAM or RSTREAM; `opening` and `closing` are the token indexes of its parentheses."""

    name: str
    at: int
    opening: int
    closing: int


@dataclass(frozen=True)
class QueryText:
    """The text of a query, with what sqlglot cannot read set apart. `tokens` are those of the original text."""

    original: str
    blanked: str
    tokens: tuple[Token, ...]
    windows: tuple[FoundWindow, ...]
    functions: tuple[FoundFunction, ...]


def location(text: str, offset: int) -> str:
    """Line and character of an offset in a text, both counted from 1."""
    before = text[:offset]
    return f"line {before.count(chr(10)) + 1}, character {offset - (before.rfind(chr(10)) + 1) + 1}"


def read_query_text(text: str) -> QueryText:
    """Set windows and stream functions apart; CqlError if one of them is wrong or is not closed."""
    try:
        tokens: list[Token] = list(Cql().tokenize(text))
    except SqlglotError as error:
        raise _unclosed(text) from error
    closing = _closings(tokens)
    windows: list[FoundWindow] = []
    functions: list[FoundFunction] = []
    gaps: list[tuple[int, int]] = []
    for number, token in enumerate(tokens):
        if _opens_window(tokens, number):
            windows.append(_window(text, tokens, number, closing))
            gaps.append((token.start, tokens[closing[number]].end + 1))
        elif _is_stream_function(tokens, number):
            functions.append(FoundFunction(token.text.upper(), token.start, number + 1, closing[number + 1]))
            gaps.append((token.start, token.end + 1))
    return QueryText(text, _blanked(text, gaps), tuple(tokens), tuple(windows), tuple(functions))


def _unclosed(text: str) -> CqlError:
    for found in _PIECE.finditer(text):
        what = _OPENINGS.get(found[0])
        if what is not None:
            return CqlError(f"{what} is never closed", "close it", found.start())
    return CqlError("the text cannot be read", "check its quotation marks and comments")


def _opens_window(tokens: Sequence[Token], number: int) -> bool:
    """Is it a `[` followed by the first word of a window? `items[0]` and `items['now']` are subscripts."""
    if tokens[number].token_type is not TokenType.L_BRACKET or number + 1 >= len(tokens):
        return False
    first = tokens[number + 1]
    if first.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return False
    return first.text.upper() in _WINDOW_WORDS


def _is_stream_function(tokens: Sequence[Token], number: int) -> bool:
    token = tokens[number]
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) or token.text.upper() not in STREAM_FUNCTIONS:
        return False
    if number + 1 >= len(tokens):
        return False
    return tokens[number + 1].token_type is TokenType.L_PAREN


def _window(text: str, tokens: Sequence[Token], number: int, closing: dict[int, int]) -> FoundWindow:
    opening, end = tokens[number], tokens[closing[number]]
    if number == 0:
        raise CqlError("there is a window at the beginning", "write it after a stream in FROM", opening.start)
    try:
        window = parse_window(text[opening.end + 1 : end.start])
    except ValueError as error:
        raise CqlError(str(error), WINDOW_REMEDY, opening.start) from error
    if isinstance(window, RowsWindow) and max(window.count, window.slide) > 2**31 - 1:
        raise CqlError(f"'{window}' is more than a window can hold", "use a smaller number", opening.start)
    return FoundWindow(window, opening.start, number - 1)


_PAIRS = {TokenType.R_PAREN: TokenType.L_PAREN, TokenType.R_BRACKET: TokenType.L_BRACKET}


def _closings(tokens: Sequence[Token]) -> dict[int, int]:
    """For the token index of each opening parenthesis or bracket, that of the closing one."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for number, token in enumerate(tokens):
        if token.token_type in _PAIRS.values():
            opened.append(number)
        elif token.token_type in _PAIRS:
            if not opened or tokens[opened[-1]].token_type is not _PAIRS[token.token_type]:
                raise CqlError(f"nothing opens this '{token.text}'", "remove it, or open it", token.start)
            found[opened.pop()] = number
    if opened:
        token = tokens[opened[-1]]
        raise CqlError(f"this '{token.text}' is never closed", "close it", token.start)
    return found


def _blanked(text: str, gaps: Sequence[tuple[int, int]]) -> str:
    """The text with spaces in the gaps; line breaks stay, so that line numbers do not change."""
    letters = list(text)
    for start, end in gaps:
        for place in range(start, end):
            if letters[place] not in "\r\n":
                letters[place] = " "
    return "".join(letters)
