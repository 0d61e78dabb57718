"""Reads the expressions in a query as Spark's own grammar does, and keeps their original text.

sqlglot reads everything around them: SELECT, FROM, joins, WITH. Its own expression parser knows every dialect but
keeps no text: Spark would get sqlglot's interpretation, in which `array(v, 7)[0]` came out as `ARRAY(0)`.

Precedence, loosest first, as in SqlBaseParser.g4: OR, AND, NOT, predicates (IS, IN, LIKE, BETWEEN), comparisons,
|, ^, &, shifts, + - ||, * / % DIV, signs, then whatever follows a value: [..], .field, ::type.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.tokens import TokenType

from headgate.sql.token_reader import NO_WORD, TEXTS, NodeSpan, TokenReader
from headgate.sql.verbatim import NamedField, Verbatim

OR, AND, NOT, PREDICATE, COMPARISON, SUM, PRODUCT, SIGN = 1, 2, 3, 4, 5, 10, 11, 12
_LEVELS = {
    "OR": OR,
    "AND": AND,
    **dict.fromkeys(("=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=", "!<", "!>"), COMPARISON),
    "|": 6,
    "^": 7,
    "&": 8,
    **dict.fromkeys(("<<", ">>", ">>>"), 9),
    **dict.fromkeys(("+", "-", "||"), SUM),
    **dict.fromkeys(("*", "/", "%", "DIV"), PRODUCT),
}
_NODES: dict[str, type[exp.Expr]] = {
    "OR": exp.Or,
    "AND": exp.And,
    "=": exp.EQ,
    "==": exp.EQ,
    "<>": exp.NEQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
}
_PREDICATES = ("IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN")
# Words that cannot start a value. Most other SQL words may be column names.
_CLAUSES = """
    SELECT FROM WHERE HAVING GROUP ORDER SORT CLUSTER DISTRIBUTE LIMIT OFFSET QUALIFY LATERAL WITH UNION EXCEPT MINUS
    INTERSECT JOIN CROSS INNER FULL LEFT RIGHT SEMI ANTI NATURAL ON USING PIVOT UNPIVOT TABLESAMPLE
    """.split()  # noqa: SIM905
_BY = ("GROUP BY", "ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY", "PARTITION BY", "GROUPING SETS")
_INSIDE = ("NOT", "AS", "WHEN", "THEN", "ELSE", "END", "ESCAPE", "DISTINCT")
_NO_VALUE = {*_LEVELS, *_PREDICATES, *_CLAUSES, *_BY, *_INSIDE}
_TIMES = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_UNITS = {f"{unit}{s}" for unit in (*_TIMES, "MILLISECOND", "MICROSECOND", "NANOSECOND") for s in ("", "S")}
_UNIT_FIRST = ("timestampadd", "timestampdiff", "dateadd", "date_add", "datediff", "date_diff")
_SEPARATORS = (",", "FROM", "FOR", "PLACING", "ORDER BY")  # between the arguments of a call
_ORDER = ("ASC", "DESC", "NULLS", "FIRST", "LAST")


class ExpressionReader(TokenReader):
    """sqlglot's Spark parser, with its expression parser replaced."""

    def reset(self) -> None:
        super().reset()
        self._variables: list[str] = []  # of the lambdas around the current position

    def _parse_disjunction(self) -> exp.Expr | None:
        if self._opens_query():
            return self._parse_paren()
        word = self._word()
        begins = word not in _NO_VALUE or word in ("+", "-", "*", "NOT", "!") or self._calls(word)
        if not self._curr or word in (")", "]", ",", ";") or not begins:
            return None
        return self._read(OR).node

    def _parse_assignment(self) -> exp.Expr | None:
        return self._parse_disjunction()

    def _calls(self, word: str) -> bool:
        """Some join and operator words are also functions: left(t, 2), rlike(t, 'x')."""
        return word in ("LEFT", "RIGHT", "LIKE", "ILIKE", "RLIKE", "REGEXP") and self._ahead(1) == "("

    # Operators ----------------------------------------------------------------------------------------------------

    def _read(self, level: int) -> NodeSpan:
        left = self._operand()
        while True:
            if level <= PREDICATE and (found := self._predicate(left)) is not None:
                left = found
                continue
            operator, tokens = self._operator()
            at = _LEVELS.get(operator, 0)
            if at < level or not at:
                return left
            self._advance(tokens)
            right = self._read(at + 1)
            kind = _NODES.get(operator)
            if kind is None:
                left = self._verbatim(left.start, [left, right])
            else:
                left = self._finish(kind(this=left.node, expression=right.node), left.start, [left, right])

    def _operator(self) -> tuple[str, int]:
        """The next operator, and its number of tokens: sqlglot makes two of `>>`."""
        word = self._word()
        if word in ("<", ">", "!"):
            longer = word
            for ahead in (1, 2):
                if (
                    self._touching(ahead)
                    and self._ahead(ahead) in ("<", ">")
                    and longer + self._ahead(ahead) in _LEVELS
                ):
                    longer += self._ahead(ahead)
            return longer, len(longer)
        return word, 1

    def _operand(self) -> NodeSpan:
        start, word = self._index, self._word()
        if word in ("NOT", "!"):
            self._advance()
            inner = self._read(NOT)
            return self._finish(exp.Not(this=inner.node), start, [inner])
        if word in ("-", "+", "~"):
            self._advance()
            if word != "~" and self._curr.token_type is TokenType.NUMBER:  # the sign is part of the number: -1::string
                number = self._number()
                if word == "+":
                    return self._followed(self._verbatim(start, [number]))
                return self._followed(self._finish(exp.Neg(this=number.node), start, [number]))
            inner = self._operand()
            if word == "-":
                return self._finish(exp.Neg(this=inner.node), start, [inner])
            return self._verbatim(start, [inner])
        return self._followed(self._value())

    def _predicate(self, left: NodeSpan) -> NodeSpan | None:
        """IS, IN, LIKE or BETWEEN after a value, with or without NOT; None if there is none."""
        negated = self._word() == "NOT"
        word = self._ahead(1) if negated else self._word()
        if word not in _PREDICATES or (negated and word == "IS"):
            return None
        self._advance(1 + negated)
        parts = [left]
        if word == "IS":
            self._take("NOT")
            if self._take("DISTINCT"):
                self._require("FROM")
                parts.append(self._read(COMPARISON))
            else:
                self._advance()
        elif word == "BETWEEN":
            if self._word() in ("SYMMETRIC", "ASYMMETRIC"):
                self._advance()
            parts.append(self._read(COMPARISON))
            self._require("AND")
            parts.append(self._read(COMPARISON))
        elif word == "IN" and self._opens_query():
            query = self._parse_paren()
            return NodeSpan(exp.In(this=left.node, query=query, negated=negated), left.start, self._index)
        elif word == "IN" or self._word() in ("ANY", "SOME", "ALL"):
            if word != "IN":
                self._advance()
            parts += self._wrapped()
        else:
            parts.append(self._read(COMPARISON))
            if self._take("ESCAPE"):
                self._advance()
        return self._verbatim(left.start, parts)

    def _wrapped(self) -> list[NodeSpan]:
        """(a, b, c)"""
        self._require("(")
        found = [self._read(OR)]
        while self._take(","):
            found.append(self._read(OR))
        self._require(")")
        return found

    # Values -------------------------------------------------------------------------------------------------------

    def _followed(self, part: NodeSpan) -> NodeSpan:
        """A value with the subscripts, fields and casts that follow it."""
        while True:
            word = self._word()
            if word == "[":
                self._advance()
                inner = self._read(OR)
                self._require("]")
                part = self._verbatim(part.start, [part, inner], closed=True)
            elif word == "." and self._is_name(1):
                self._advance()
                field = self._name()
                part = self._finish(exp.Dot(this=part.node, expression=field.node), part.start, [part, field])
            elif word == "::":
                self._advance()
                self._type()
                part = self._verbatim(part.start, [part])
            elif word == "COLLATE" and self._is_name(1):
                self._advance(2)
                while self._word() == "." and self._is_name(1):
                    self._advance(2)
                part = self._verbatim(part.start, [part])
            elif word == ":" and self._is_name(1):  # a field of a VARIANT
                self._advance(2)
                part = self._verbatim(part.start, [part])
            else:
                return part

    def _value(self) -> NodeSpan:
        start, word, kind = self._index, self._word(), self._curr.token_type
        if not self._curr:
            self._cannot_read()
        if kind is TokenType.NUMBER or (word == "." and self._peek(1).token_type is TokenType.NUMBER):
            return self._number()
        if kind in TEXTS:
            return self._text()
        if word == "(":
            return self._parenthesis()
        if word == "*":
            return self._star()
        if word == "CASE" and self._ahead(1) not in (".", ",", ")"):
            return self._case()
        if word == "INTERVAL" and (self._peek(1).token_type in NO_WORD or self._ahead(1) in ("+", "-")):
            return self._interval()
        if word == "EXISTS" and self._opens_query(1):
            self._advance()
            return NodeSpan(exp.Exists(this=self._parse_paren()), start, self._index)
        if self._ahead(1) == "->":
            return self._lambda()
        variable = self._curr.text.lower() in self._variables
        if not self._is_name() or (word in _NO_VALUE and not variable and not self._calls(word)):
            self._cannot_read()
        if self._peek(1).token_type in TEXTS and kind is not TokenType.IDENTIFIER:  # DATE '2026-01-01'
            self._advance(2)
            return self._verbatim(start, [], closed=True)
        if word in ("TRUE", "FALSE") and self._ahead(1) not in (".", "("):
            self._advance()
            return self._finish(exp.Boolean(this=word == "TRUE"), start, [])
        if word == "NULL" and self._ahead(1) not in (".", "("):
            self._advance()
            return self._finish(exp.Null(), start, [])
        return self._path()

    def _number(self) -> NodeSpan:
        start = self._index
        if self._word() == ".":
            self._advance()
        first = self._curr
        self._advance()
        suffix = False
        while self._curr and self._curr.start == first.start:  # sqlglot reads 1L as a cast of 1
            self._advance()
            suffix = True
        digits = first.text
        if suffix or start != self._index - 1 or not digits.isdigit():
            return self._verbatim(start, [], closed=True)
        return self._finish(exp.Literal(this=digits, is_string=False), start, [])

    def _text(self) -> NodeSpan:
        start, first = self._index, self._curr
        while self._curr.token_type in TEXTS:  # 'a' 'b' is one string
            self._advance()
        if self._index - start == 1 and first.token_type is TokenType.STRING:
            return self._finish(exp.Literal(this=first.text, is_string=True), start, [])
        return self._verbatim(start, [], closed=True)

    def _parenthesis(self) -> NodeSpan:
        start = self._index
        if self._opens_query():
            return NodeSpan(self._parse_paren() or exp.Null(), start, self._index)
        if self._is_lambda():
            return self._lambda()
        self._advance()
        found = [self._field()]
        while self._take(","):
            found.append(self._field())
        self._require(")")
        if len(found) == 1 and not isinstance(found[0].node, NamedField):
            return self._finish(exp.Paren(this=found[0].node), start, found)
        return self._verbatim(start, found, closed=True, row=True)

    def _field(self) -> NodeSpan:
        """A field of a struct, with its name if it has one."""
        part = self._read(OR)
        named = self._word() == "AS" or (self._is_name() and self._word() not in _NO_VALUE)
        return self._named(part) if named else part

    def _named(self, part: NodeSpan) -> NodeSpan:
        self._take("AS")
        name = self._name()
        return self._finish(NamedField(this=part.node, alias=name.node), part.start, [part, name])

    def _star(self) -> NodeSpan:
        """* or * EXCEPT (a, b); but `* EXCEPT (SELECT ..)` is a set operation."""
        start = self._index
        self._advance()
        excepted: list[NodeSpan] = []
        if self._word() == "EXCEPT" and self._ahead(1) == "(" and not self._opens_query(1):
            self._advance()
            excepted = self._wrapped()
        return self._finish(exp.Star(except_=[part.node for part in excepted]), start, excepted)

    def _case(self) -> NodeSpan:
        start = self._index
        parts: list[NodeSpan] = []
        self._advance()
        if self._word() != "WHEN":
            parts.append(self._read(OR))
        while self._take("WHEN"):
            parts.append(self._read(OR))
            self._require("THEN")
            parts.append(self._read(OR))
        if self._take("ELSE"):
            parts.append(self._read(OR))
        self._require("END")
        return self._verbatim(start, parts, closed=True)

    def _interval(self) -> NodeSpan:
        """INTERVAL 1 DAY, INTERVAL '1 day 2 hours', INTERVAL '1-2' YEAR TO MONTH"""
        start = self._index
        self._advance()
        while self._word() in ("+", "-") or self._curr.token_type in TEXTS | {TokenType.NUMBER}:
            if self._word() in ("+", "-"):
                if self._peek(1).token_type not in TEXTS | {TokenType.NUMBER}:
                    break
                self._advance()
            self._advance()
            if self._word() not in _UNITS:
                break
            self._advance()
            if self._word() == "TO" and self._ahead(1) in _UNITS:
                self._advance(2)
        return self._verbatim(start, [], closed=True)

    def _type(self) -> None:
        """Skip a type: INT, DECIMAL(10, 2), ARRAY<STRUCT<a: INT>>, INTERVAL DAY TO SECOND"""
        word = self._word()
        if not self._is_name():
            self._cannot_read()
        self._advance()
        if word == "INTERVAL":
            while self._word() in _UNITS or (self._word() == "TO" and self._ahead(1) in _UNITS):
                self._advance()
        if self._word() == "(":
            self._skip("(", ")")
        elif word in ("ARRAY", "MAP", "STRUCT") and self._word() == "<":
            self._skip("<", ">")

    def _skip(self, opening: str, closing: str) -> None:
        depth = 0
        while self._curr:
            depth += (self._word() == opening) - (self._word() == closing)
            self._advance()
            if depth == 0:
                return
        self._cannot_read()

    # Names, calls and lambdas -------------------------------------------------------------------------------------

    def _path(self) -> NodeSpan:
        """A column with its qualifiers and fields, or a function with its qualifiers and arguments."""
        start = self._index
        names = [self._name()]
        while self._word() == "." and self._is_name(1):
            self._advance()
            names.append(self._name())
        if self._word() == "(":
            return self._suffixed(self._call(start, names[-1].node.name))
        if names[0].node.name.lower() in self._variables:
            return self._verbatim(start, [], closed=True, variable=names[-1].node.name)
        if self._word() == "." and self._ahead(1) == "*":
            self._advance()
            star = self._star()
            return NodeSpan(_column([*(part.node for part in names), star.node]), start, self._index)
        head, rest = names[:4], names[4:]
        found: exp.Expr = _column([part.node for part in head])
        for field in rest:
            found = exp.Dot(this=found, expression=field.node)
        return NodeSpan(found, start, self._index)

    def _call(self, start: int, name: str) -> NodeSpan:
        word = name.lower()
        self._require("(")
        parts: list[NodeSpan] = []
        if self._has_word_first(word):
            self._advance()
        separated = True
        while self._word() != ")":
            if self._word() in _SEPARATORS or (word == "position" and self._word() == "IN"):
                separated = True
                self._advance()
            elif self._word() == "AS" and word in ("cast", "try_cast"):
                while self._curr and self._word() != ")":
                    self._skip("(", ")") if self._word() == "(" else self._advance()
            elif parts and not separated and word == "struct" and (self._word() == "AS" or self._is_name()):
                parts[-1] = self._named(parts[-1])
            elif parts and not separated and self._word() in (*_ORDER, "IGNORE", "RESPECT"):
                self._advance()
            elif not separated:
                self._cannot_read()
            elif self._ahead(1) == "=>":
                self._advance(2)
            else:
                parts.append(self._read(COMPARISON if word == "position" and not parts else OR))
                separated = False
        self._require(")")
        node = exp.Anonymous(this=name, expressions=[part.node for part in parts])
        return self._finish(node, start, parts, worded=True)

    def _has_word_first(self, function: str) -> bool:
        """Does the call start with a word that is not an argument: count(DISTINCT x), extract(DAY FROM x)?"""
        word, after = self._word(), self._ahead(1)
        if function == "extract":
            return True
        if function in _UNIT_FIRST and word in _UNITS:
            return self._commas() == 2
        words = ("BOTH", "LEADING", "TRAILING") if function == "trim" else ("DISTINCT", "ALL")
        return word in words and after not in (",", ")", ".")

    def _commas(self) -> int:
        """The number of commas up to the end of the current call."""
        depth = found = ahead = 0
        while depth >= 0 and self._peek(ahead):
            word = self._ahead(ahead)
            depth += (word in ("(", "[")) - (word in (")", "]"))
            found += word == "," and depth == 0
            ahead += 1
        return found

    def _suffixed(self, part: NodeSpan) -> NodeSpan:
        """A call with the FILTER, WITHIN GROUP, IGNORE NULLS or OVER that follows it."""
        while True:
            word, second = self._word(), self._ahead(1)
            if word == "FILTER" and second == "(":
                self._advance(2)
                self._require("WHERE")
                condition = self._read(OR)
                self._require(")")
                node: exp.Expr = exp.Filter(this=part.node, expression=condition.node)
                part = self._finish(node, part.start, [part, condition])
            elif word == "WITHIN" and second == "GROUP":
                self._advance(2)
                self._require("(")
                self._require("ORDER BY")
                parts = [self._read(OR)]
                while self._word() in (*_ORDER, ","):
                    comma = self._word() == ","
                    self._advance()
                    if comma:
                        parts.append(self._read(OR))
                self._require(")")
                node = exp.WithinGroup(this=part.node, expressions=[one.node for one in parts])
                part = self._finish(node, part.start, [part, *parts], worded=True)
            elif word in ("IGNORE", "RESPECT") and second == "NULLS":
                self._advance(2)
                kind = exp.IgnoreNulls if word == "IGNORE" else exp.RespectNulls
                part = self._finish(kind(this=part.node), part.start, [part])
            elif word == "OVER":
                self._advance()
                self._skip("(", ")") if self._word() == "(" else self._advance()
                part = self._finish(exp.Window(this=part.node), part.start, [part])
            else:
                return part

    def _is_lambda(self) -> bool:
        """Is it `(x, y) ->`?"""
        ahead = 1
        while self._is_name(ahead) and self._ahead(ahead + 1) == ",":
            ahead += 2
        return self._is_name(ahead) and self._ahead(ahead + 1) == ")" and self._ahead(ahead + 2) == "->"

    def _lambda(self) -> NodeSpan:
        """x -> .. or (x, y) -> ..; inside, these names are variables, not columns."""
        start = self._index
        self._take("(")
        variables = [self._name()]
        while self._take(","):
            variables.append(self._name())
        self._take(")")
        self._require("->")
        self._variables += [part.node.name.lower() for part in variables]
        body = self._read(OR)
        del self._variables[len(self._variables) - len(variables) :]
        node = exp.Lambda(expressions=[part.node for part in variables], this=body.node)
        return self._finish(node, start, [*variables, body])

    def _verbatim(self, start: int, parts: list[NodeSpan], **flags: Any) -> NodeSpan:
        node = Verbatim(expressions=[part.node for part in parts], **flags)
        return self._finish(node, start, parts, worded=True)


def _column(parts: list[exp.Expr]) -> exp.Column:
    """A column made of its parts, which sqlglot stores last part first."""
    column = exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False)))
    column.meta["start"] = parts[0].meta["start"]
    return column
