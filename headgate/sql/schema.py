"""Columns and their Spark SQL types, read and checked without Spark."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import sqlglot
from sqlglot import exp

from headgate.errors import ApplicationError

# Without a handler, Python prints sqlglot's warnings about unparsable text to stderr, beside our own error.
logging.getLogger("sqlglot").addHandler(logging.NullHandler())

# The stamps: columns that Headgate adds to every tuple. A stream may not have columns with these names.
ARRIVAL = "_arrival"  # BIGINT, microseconds since the run began; for a result, that of the latest tuple it came from
SEQUENCE = "_sequence"  # BIGINT, position in its stream; plus LATE if the tuple came too late for windows
TIME = "_time"  # BIGINT, the instant in ticks of the stream's clock; null if the tuple has none
LATE = 2**62
# A row of a time-varying relation counts from TIME to UNTIL, CHANGE times.
UNTIL = "_until"  # BIGINT, the first instant at which the row no longer counts; FOREVER if not known
CHANGE = "_change"  # BIGINT, how many copies of the row it adds (1) or takes away (-1)
FOREVER = 2**63 - 1

# Only in queries that may be shed: by how much a tuple counts more than once, in 64ths, for those that were dropped.
EXTRA = "_extra"  # BIGINT

MOST_LEVELS = 50  # of nested types in a schema; neither we nor Spark read types of any depth

STAMPS = (ARRIVAL, SEQUENCE, TIME)
RELATION_STAMPS = (*STAMPS, UNTIL, CHANGE)
RESERVED = (*RELATION_STAMPS, EXTRA)  # names that no column of a user may have


@dataclass(frozen=True)
class Column:
    """A name and a Spark SQL type; `None` where only Spark's analyzer can tell the type.

    Types are in upper case, except for the field names of a struct, which `to_json` shows.
    """

    name: str
    type: str | None
    filled: bool = field(default=False, compare=False)  # declared NOT NULL: sources put rows aside that have a null


@dataclass(frozen=True)
class Schema:
    """Ordered columns; lookup by name ignores case, as in Spark."""

    columns: tuple[Column, ...]

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The column names, in order."""
        return tuple(column.name for column in self.columns)

    def find(self, name: str) -> Column | None:
        """The column with this name, in any case; None if there is none."""
        wanted = name.lower()
        return next((column for column in self.columns if column.name.lower() == wanted), None)

    def __str__(self) -> str:
        return ", ".join(f"{c.name} {c.type or '?'}{' NOT NULL' if c.filled else ''}" for c in self.columns)


def parse_schema(text: str, place: str) -> Schema:
    """Read `location STRING, humidity INT`, the schema text of streams and tables."""
    remedy = 'write it as "name TYPE, name TYPE", for example "location STRING, humidity INT"'
    try:
        # Read as a type, not as a CREATE TABLE: that accepts unknown types, and clauses on which sqlglot crashes.
        parts = sqlglot.parse_one(f"STRUCT<{text}>", read="spark", into=exp.DataType).expressions
    except Exception as error:  # sqlglot fails on some odd text, for example with a RecursionError
        raise ApplicationError(place, f"cannot read the schema {_shown(text)}", remedy) from error
    if not parts or not all(isinstance(p, exp.ColumnDef) and p.args.get("kind") for p in parts):
        raise ApplicationError(place, f"cannot read the schema {_shown(text)}", remedy)
    if _levels(text) > MOST_LEVELS:
        remedy = "take some levels out"
        raise ApplicationError(place, f"the schema has types of more than {MOST_LEVELS} levels", remedy)
    columns = [Column(p.name, type_name(p.args["kind"]), _is_filled(p, place)) for p in parts]
    _refuse_bad_names(columns, place)
    return Schema(tuple(columns))


def _is_filled(column: exp.ColumnDef, place: str) -> bool:
    """Is a column declared NOT NULL? What else SQL says of columns is refused, except for comments."""
    filled = False
    for constraint in column.args.get("constraints") or ():
        kind = constraint.args.get("kind")
        if isinstance(kind, exp.NotNullColumnConstraint):
            filled = not kind.args.get("allow_null")
        elif not isinstance(kind, exp.CommentColumnConstraint):
            said = constraint.sql(dialect="spark")
            raise ApplicationError(place, f"column '{column.name}': {said} has no meaning here", "take it out")
    return filled


def _shown(text: str) -> str:
    return repr(text if len(text) < 200 else f"{text[:200]}...")


def _levels(text: str) -> int:
    """How deep the types in a text are nested, or more."""
    level = most = 0
    for letter in text:
        level += (letter == "<") - (letter == ">")
        most = max(most, level)
    return most


def type_name(kind: exp.DataType) -> str:
    """The Spark spelling of a sqlglot type: STRING, INT, BIGINT, DOUBLE, ARRAY<INT>, ..."""
    text = kind.sql(dialect="spark")  # in upper case, with the fields of structs as they are written
    return {"INTEGER": "INT", "LONG": "BIGINT", "TEXT": "STRING", "VARCHAR": "STRING"}.get(text, text)


def _refuse_bad_names(columns: Sequence[Column], place: str) -> None:
    seen: set[str] = set()
    for column in columns:
        key = column.name.lower()
        if key in seen:
            raise ApplicationError(place, f"column '{column.name}' appears twice", "give each column its own name")
        if key in RESERVED:
            raise ApplicationError(place, f"column name '{column.name}' is reserved for Headgate's stamps", "rename it")
        seen.add(key)
