"""Spark SQL types as Arrow types: the memory layout of a batch."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa

from headgate.plan.flows import Flow
from headgate.sql.schema import ARRIVAL, SEQUENCE, TIME, Schema

_PLAIN: dict[str, pa.DataType] = {
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR", "CHARACTER", "TEXT"), pa.string()),
    **dict.fromkeys(("TINYINT", "BYTE"), pa.int8()),
    **dict.fromkeys(("SMALLINT", "SHORT"), pa.int16()),
    **dict.fromkeys(("INT", "INTEGER"), pa.int32()),
    **dict.fromkeys(("BIGINT", "LONG"), pa.int64()),
    **dict.fromkeys(("FLOAT", "REAL"), pa.float32()),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ"), pa.timestamp("us", tz="UTC")),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
    "BINARY": pa.binary(),
}
_DECIMALS = ("DECIMAL", "DEC", "NUMERIC")
_KNOWN = (
    "STRING, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), BOOLEAN, DATE, TIMESTAMP, "
    "TIMESTAMP_NTZ, BINARY, ARRAY<T>, MAP<K,V>, STRUCT<name: T, ...>"
)
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)+`|\w+|[<>(),:])")


def arrow_type(name: str) -> pa.DataType:
    """The Arrow type of a Spark SQL type name; if there is none, a ValueError that lists the known ones.

    >>> arrow_type("MAP<STRING, ARRAY<DECIMAL(10,2)>>")
    MapType(map<string, list<element: decimal128(10, 2)>>)
    """
    return _TypeParser(name).parse()


def arrow_schema(schema: Schema, stamps: bool = True) -> pa.Schema:
    """The columns in order, followed by the arrival and sequence stamps unless `stamps` is False.

    This is what a source produces; `port_schema` is what flows between operators.
    """
    fields = []
    for column in schema:
        if column.type is None:
            raise ValueError(f"column {column.name}: its type is not known before Spark has analyzed the query")
        try:
            fields.append(pa.field(column.name, arrow_type(column.type)))
        except ValueError as error:
            raise ValueError(f"column {column.name}: {error}") from None
    if stamps:
        fields += [pa.field(name, pa.int64(), nullable=False) for name in (ARRIVAL, SEQUENCE)]
    return pa.schema(fields)


def port_schema(schema: Schema, flow: Flow) -> pa.Schema:
    """What flows between operators: the columns in order, then all stamps of the flow.

    Only TIME may be null, for a tuple without a time.
    """
    stamps = [pa.field(name, pa.int64(), nullable=name == TIME) for name in flow.stamps]
    return pa.schema([*arrow_schema(schema, stamps=False), *stamps])


class _TypeParser:
    """Parses one type name from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise self._error()
            self._tokens.append(found.group(1))
            at = found.end()
        self._at = 0

    def parse(self) -> pa.DataType:
        """The type; ValueError if the text is not exactly one type name."""
        read = self._type()
        if self._at != len(self._tokens):
            raise self._error()
        return read

    def _error(self) -> ValueError:
        return ValueError(f"no Arrow type is known for {self._text!r}; known types: {_KNOWN}")

    def _next(self) -> str:
        if self._at == len(self._tokens):
            raise self._error()
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        if self._next() != sign:
            raise self._error()

    def _skip(self, sign: str) -> bool:
        there = self._at < len(self._tokens) and self._tokens[self._at] == sign
        self._at += there
        return there

    def _type(self) -> pa.DataType:
        word = self._next().upper()
        nested: dict[str, Callable[[], pa.DataType]] = {
            "ARRAY": self._array,
            "MAP": self._map,
            "STRUCT": self._struct,
        }
        if word in nested:
            self._expect("<")
            read = nested[word]()
            self._expect(">")
            return read
        if word in _DECIMALS:
            return self._decimal()
        if word not in _PLAIN:
            raise self._error()
        if word.startswith(("VARCHAR", "CHAR")) and self._skip("("):
            self._number()
            self._expect(")")
        return _PLAIN[word]

    def _array(self) -> pa.DataType:
        return pa.list_(pa.field("element", self._type()))

    def _map(self) -> pa.DataType:
        key = self._type()
        self._expect(",")
        return pa.map_(key, self._type())

    def _struct(self) -> pa.DataType:
        fields = []
        while True:
            name = self._next()
            self._skip(":")
            fields.append(pa.field(name.strip("`").replace("``", "`"), self._type()))
            if not self._skip(","):
                return pa.struct(fields)

    def _decimal(self) -> pa.DataType:
        precision, scale = 10, 0  # Spark's plain DECIMAL
        if self._skip("("):
            precision = self._number()
            scale = self._number() if self._skip(",") else 0
            self._expect(")")
        if not 1 <= precision <= 38 or scale > precision:
            raise self._error()
        return pa.decimal128(precision, scale)

    def _number(self) -> int:
        word = self._next()
        if not word.isdigit():
            raise self._error()
        return int(word)
