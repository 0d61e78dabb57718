"""Looking ahead in the tokens of a query, and taking their text: the base of the expression reader."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from sqlglot import exp
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser
from sqlglot.tokens import Token, TokenType

from headgate.sql.verbatim import PIECES

TEXTS = {TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.BYTE_STRING, TokenType.BIT_STRING}
NO_WORD = TEXTS | {TokenType.IDENTIFIER, TokenType.NUMBER}
_NAME = re.compile(r"\w+")
_QUERY = ("SELECT", "WITH", "FROM", "VALUES", "TABLE")


class NodeSpan(NamedTuple):
    """A node and the range of tokens that it was read from."""

    node: exp.Expr
    start: int
    end: int


class TokenReader(SparkParser):
    """Looks at the tokens ahead, and makes nodes that keep their original text."""

    def _advance(self, times: int = 1) -> None:
        if self._index + times > len(self._tokens):
            self._cannot_read()
        super()._advance(times)

    def _peek(self, ahead: int) -> Token:
        at = self._index + ahead
        return self._tokens[at] if at < len(self._tokens) else SENTINEL_NONE

    def _ahead(self, ahead: int) -> str:
        token = self._peek(ahead)
        return "" if not token or token.token_type in NO_WORD else token.text.upper()

    def _word(self) -> str:
        """The next word or sign in upper case; empty for names in backticks, strings and numbers."""
        return self._ahead(0)

    def _touching(self, ahead: int) -> bool:
        return self._peek(ahead).start == self._peek(ahead - 1).end + 1

    def _is_name(self, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        if token.token_type in NO_WORD:
            return token.token_type is TokenType.IDENTIFIER
        return bool(token) and _NAME.fullmatch(token.text) is not None

    def _opens_query(self, ahead: int = 0) -> bool:
        """Does a query in parentheses start here?"""
        if self._ahead(ahead) != "(":
            return False
        while self._ahead(ahead) == "(":
            ahead += 1
        return self._ahead(ahead) in _QUERY and self._ahead(ahead + 1) not in (",", ")", ".", "->")

    def _name(self) -> NodeSpan:
        if not self._is_name():
            self._cannot_read()
        token = self._curr
        self._advance()
        node = exp.Identifier(this=token.text, quoted=token.token_type is TokenType.IDENTIFIER)
        return NodeSpan(node.update_positions(token), self._index - 1, self._index)

    def _take(self, word: str) -> bool:
        if self._word() != word:
            return False
        self._advance()
        return True

    def _require(self, word: str) -> None:
        if not self._take(word):
            self._cannot_read()

    def _cannot_read(self) -> NoReturn:
        self.raise_error("Cannot read on from here")
        raise AssertionError("raise_error always raises")

    def _finish(self, node: exp.Expr, start: int, parts: list[NodeSpan], worded: bool = False) -> NodeSpan:
        """Record in the node the text around its children, from token `start` up to the current one."""
        pieces, words, at = [], [], start
        for part in parts:
            pieces.append(self._piece(start, at, part.start))
            words.append(self._words_between(at, part.start))
            at = part.end
        pieces.append(self._piece(start, at, self._index, last=True))
        words.append(self._words_between(at, self._index))
        node.meta[PIECES] = tuple(pieces)
        node.meta["start"] = self._tokens[start].start
        if worded:
            node.set("words", tuple(words))
        return NodeSpan(node, start, self._index)

    def _piece(self, start: int, first: int, end: int, last: bool = False) -> str:
        """The text from one token up to another; any white space becomes one space, comments are dropped."""
        tokens = self._tokens
        found: list[str] = []
        for at in range(first, end if last else end + 1):
            token = tokens[at]
            before = tokens[at - 1]
            if at > start and token.start > before.end + 1:
                found.append(" ")
            if at < end and (at == 0 or token.start != before.start):  # otherwise it is the suffix of a number
                found.append(self.sql[token.start : token.end + 1])
        return "".join(found)

    def _words_between(self, first: int, end: int) -> str:
        words = []
        for token in self._tokens[first:end]:
            raw = self.sql[token.start : token.end + 1]
            words.append(raw if token.token_type in TEXTS or token.token_type is TokenType.IDENTIFIER else raw.upper())
        return " ".join(words)
