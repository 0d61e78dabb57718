"""Seeded column values for the feeder: `values: {k: "uniform 0 20", v: "normal 5 1"}` of an application file.

A value depends only on the seed, the column and the row number. Neither arrival times nor the batches of a runtime
change the data: both runtimes feed exactly the same rows.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal, InvalidOperation
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from headgate.feeder.arrivals.checks import whole

BLOCK = 1024  # rows drawn at a time; the values depend on it: another size would give other data

Values = NDArray[Any] | list[str] | list[Decimal]
Rows = NDArray[np.int64]
Draw = Callable[[np.random.Generator, int], NDArray[Any]]  # draws n values from a block's own generator
Derived = Literal["time", "sequence"]  # nothing to draw: values follow from the arrival time or the row number

FORMS = {
    "uniform": "uniform a b",
    "normal": "normal mean sd",
    "choice": "choice x y z",
    "zipf": "zipf n theta",
    "sequence": "sequence",
    "constant": "constant x",
    "time": "time",
}
DEFAULTS = {
    "integer": "uniform 0 100",
    "float": "uniform 0 1",
    "decimal": "uniform 0 1",
    "string": "choice a b c d e f g h i j k l m n o p q r s t",
    "boolean": "choice true false",
    "timestamp": "time",
}
_ALLOWED = {  # whole numbers in text columns are written out, for use as keys
    "integer": ("uniform", "normal", "choice", "zipf", "sequence", "constant"),
    "float": ("uniform", "normal", "choice", "zipf", "sequence", "constant"),
    "decimal": ("uniform", "normal", "choice", "zipf", "sequence", "constant"),
    "string": ("uniform", "choice", "zipf", "sequence", "constant"),
    "boolean": ("choice", "constant"),
    "timestamp": ("time",),
}
_TYPES: dict[str, tuple[str, Any]] = {
    **dict.fromkeys(("TINYINT", "BYTE"), ("integer", np.int8)),
    **dict.fromkeys(("SMALLINT", "SHORT"), ("integer", np.int16)),
    **dict.fromkeys(("INT", "INTEGER"), ("integer", np.int32)),
    **dict.fromkeys(("BIGINT", "LONG"), ("integer", np.int64)),
    **dict.fromkeys(("FLOAT", "REAL"), ("float", np.float32)),
    "DOUBLE": ("float", np.float64),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC"), ("decimal", object)),
    **dict.fromkeys(("STRING", "VARCHAR", "CHAR", "CHARACTER"), ("string", object)),
    "BOOLEAN": ("boolean", np.bool_),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), ("timestamp", np.int64)),
}
_MOST_ZIPF = 10_000_000  # needs an 80 MB table of probabilities
_CONTEXT = Context(prec=76)  # Spark's decimals have up to 38 digits; Python's default context keeps 28


class ValueGenerator:
    """Generates the values of all columns of a stream, in blocks of rows. Each runtime has one per fed stream.

    `columns` are (name, Spark SQL type). `specs` maps some of them to a form (see `FORMS`); without a form, the time
    column and every TIMESTAMP get `time`, others the default of their type. `epoch_us` is the runtime's time 0 in
    microseconds since the epoch. A ValueError names the column and the known forms.
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        specs: Mapping[str, str],
        seed: int,
        time_column: str | None = None,
        epoch_us: int = 0,
    ) -> None:
        self._seed = whole("seed", seed, 0)
        self._epoch_us = epoch_us
        names = [name for name, _ in columns]
        for name in [*specs, *([] if time_column is None else [time_column])]:
            if name not in names:
                raise ValueError(f"there is no column {name!r}: the columns are {', '.join(names)}")
        self._columns = [GeneratedColumn(name, sql_type) for name, sql_type in columns]
        self._draws: list[Draw | Derived] = []
        for column in self._columns:
            default = "time" if column.name == time_column else DEFAULTS[column.family]
            self._draws.append(parse_form(column, specs.get(column.name, default)))
        self._cached: list[tuple[int, NDArray[Any]]] = [(-1, np.empty(0))] * len(self._columns)

    def block(self, first: int, times: NDArray[np.float64]) -> dict[str, Values]:
        """Column name -> values of the rows first .. first + len(times) - 1, which arrive at `times` (seconds).

        Numbers and booleans come as arrays of the column's width, TIMESTAMP as int64 microseconds since the
        epoch, STRING and DECIMAL as lists of str and Decimal. Rows are numbered from 0.
        """
        first = whole("the first row", first, 0)
        result: dict[str, Values] = {}
        for index, column in enumerate(self._columns):
            draw, end = self._draws[index], first + len(times)
            if draw == "time":
                values = self._times(column, np.rint(np.asarray(times) * 1e6).astype(np.int64))
            elif draw == "sequence":
                values = column.from_integers(draw, np.arange(first, end))
            else:
                values = self._rows(index, draw, first, end)
            result[column.name] = values.tolist() if column.as_list else values
        return result

    def _times(self, column: GeneratedColumn, arrivals_us: Rows) -> NDArray[Any]:
        """TIMESTAMP: microseconds since the epoch; integers: seconds since the run began, as `replay` reads it."""
        if column.family == "timestamp":
            return self._epoch_us + arrivals_us
        return column.from_integers("time", arrivals_us // 1_000_000)

    def _rows(self, index: int, draw: Draw, first: int, end: int) -> NDArray[Any]:
        pieces = [
            self._drawn(index, draw, number)[max(first - number * BLOCK, 0) : end - number * BLOCK]
            for number in range(first // BLOCK, max(-(-end // BLOCK), first // BLOCK + 1))
        ]
        return np.concatenate(pieces)

    def _drawn(self, index: int, draw: Draw, number: int) -> NDArray[Any]:
        if self._cached[index][0] != number:
            rng = np.random.default_rng([self._seed, index, number])
            self._cached[index] = number, draw(rng, BLOCK)
        return self._cached[index][1]


class GeneratedColumn:
    """A column's name and type, and how to turn numbers and words into values of that type."""

    def __init__(self, name: str, sql_type: str) -> None:
        self.name = name
        self.sql_type = " ".join(sql_type.upper().split())
        base = re.match(r"\w*", self.sql_type)
        if base is None or base.group() not in _TYPES:
            known = "TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, STRING, BOOLEAN, TIMESTAMP"
            raise ValueError(f"column {name}: cannot generate values of type {sql_type}; only of {known}")
        self.family, self.dtype = _TYPES[base.group()]
        self.as_list = self.dtype is object
        low: Any = -math.inf
        high: Any = math.inf
        self._digits = 0  # after the point; Spark's plain DECIMAL is DECIMAL(10,0)
        if self.family == "integer":
            low, high = int(np.iinfo(self.dtype).min), int(np.iinfo(self.dtype).max)
        elif self.family == "float":
            low, high = float(np.finfo(self.dtype).min), float(np.finfo(self.dtype).max)
        elif self.family == "decimal":
            size = [int(n) for n in re.findall(r"\d+", self.sql_type)] or [10]
            self._digits = size[1] if len(size) > 1 else 0
            high = Decimal((0, (9,) * size[0], -self._digits))
            low = high.copy_negate()  # a minus sign would round to the default context
        self.low, self.high = low, high

    def error(self, spec: str, problem: str) -> ValueError:
        """An error that names the column, what was written, what is wrong, and the forms the type takes."""
        forms = ", ".join(f"`{FORMS[form]}`" for form in _ALLOWED[self.family])
        also = ", or `time`" if self.family == "integer" else ""
        return ValueError(f"column {self.name} {self.sql_type}: {spec!r} {problem}; it takes {forms}{also}")

    def takes(self, form: str) -> bool:
        """Does the type take the form? A whole number may hold the time, in seconds."""
        return form in _ALLOWED[self.family] or (form == "time" and self.family == "integer")

    def value_of(self, spec: str, word: str) -> Any:
        """The value of a word of `choice` or `constant`."""
        try:
            if self.family == "integer":
                value: Any = int(word)
            elif self.family == "float":
                value = float(word)
            elif self.family == "decimal":
                value = self._decimal(Decimal(word))
            elif self.family == "boolean":
                value = {"true": True, "false": False}[word.lower()]
            else:
                return word
            if not math.isfinite(value):
                raise ValueError(word)
        except (ValueError, KeyError, InvalidOperation):
            raise self.error(spec, f"has {word!r}, which is not a {self.sql_type}") from None
        if self.family != "boolean" and not self.low <= value <= self.high:
            raise self.error(spec, f"has {word}, but the type ranges from {self.low} to {self.high}")
        return value

    def from_integers(self, spec: str, numbers: Rows) -> NDArray[Any]:
        """Whole numbers as values of the type."""
        if len(numbers) and not self.low <= int(numbers.min()) <= int(numbers.max()) <= self.high:
            raise self.error(spec, f"is outside the range of the type, {self.low} to {self.high}")
        if self.family == "string":
            return _objects([str(n) for n in numbers.tolist()])
        if self.family == "decimal":
            return _objects([self._decimal(Decimal(n)) for n in numbers.tolist()])
        return numbers.astype(self.dtype)

    def from_reals(self, numbers: NDArray[np.float64], rounded: Callable[[Any], Any]) -> NDArray[Any]:
        """Real numbers as values of the type: `rounded` to its last digit and kept within its range."""
        if self.family == "float":
            return numbers.astype(self.dtype)
        if self.family == "decimal":
            units = [int(n) for n in rounded(numbers * 10.0**self._digits).tolist()]
            values = (Decimal(n).scaleb(-self._digits, _CONTEXT) for n in units)
            return _objects([min(max(v, self.low), self.high) for v in values])
        # Python's min and max: no float equals the largest BIGINT, and the nearest one is out of range.
        return np.array([min(max(int(n), self.low), self.high) for n in rounded(numbers).tolist()], self.dtype)

    def _decimal(self, value: Decimal) -> Decimal:
        return value.quantize(Decimal((0, (1,), -self._digits)), context=_CONTEXT)


def parse_form(column: GeneratedColumn, spec: Any) -> Draw | Derived:
    """The function that draws the values `spec` describes for the column."""
    if not isinstance(spec, str):
        raise column.error(str(spec), "is not a string")
    try:
        form, *words = shlex.split(spec)
    except ValueError:
        raise column.error(spec, "is empty or has an unclosed quotation mark") from None
    if form not in FORMS:
        raise column.error(spec, "is not a known form")
    if not column.takes(form):
        raise column.error(spec, f"does not suit type {column.sql_type}")
    right = FORMS[form].count(" ")
    if not words if form == "choice" else len(words) != right:
        raise column.error(spec, f"should read `{FORMS[form]}`")
    if form == "time" or form == "sequence":
        return form  # type: ignore[return-value]
    makers: dict[str, Callable[[GeneratedColumn, str, list[str]], Draw]] = {
        "uniform": _uniform,
        "normal": _normal,
        "choice": _choice,
        "constant": _choice,
        "zipf": _zipf,
    }
    return makers[form](column, spec, words)


def _uniform(column: GeneratedColumn, spec: str, words: list[str]) -> Draw:
    if column.family in ("integer", "string"):
        first, last = (_int(column, spec, word) for word in words)
        if first > last:
            raise column.error(spec, "has its bounds in the wrong order")
        column.from_integers(spec, np.array([first, last]))
        return lambda rng, n: column.from_integers(spec, rng.integers(first, last, n, endpoint=True))
    low, high = (_float(column, spec, word) for word in words)
    if low > high:
        raise column.error(spec, "has its bounds in the wrong order")
    if not column.low <= low <= high <= column.high or math.isinf(high - low):
        raise column.error(spec, f"is too wide for the type, {column.low} to {column.high}")

    def draw(rng: np.random.Generator, n: int) -> NDArray[Any]:
        values = column.from_reals(rng.uniform(low, high, n), np.floor)
        if column.family == "float" and low < high:
            # Rounding to the column's width may reach the upper bound, which is excluded.
            values = np.minimum(values, np.nextafter(column.dtype(high), column.dtype(-np.inf)))
        return values

    return draw


def _normal(column: GeneratedColumn, spec: str, words: list[str]) -> Draw:
    mean, deviation = (_float(column, spec, word) for word in words)
    if deviation < 0:
        raise column.error(spec, "has a negative standard deviation")
    return lambda rng, n: column.from_reals(rng.normal(mean, deviation, n), np.rint)


def _choice(column: GeneratedColumn, spec: str, words: list[str]) -> Draw:
    values = [column.value_of(spec, word) for word in words]
    options = _objects(values) if column.as_list else np.array(values, column.dtype)
    return lambda rng, n: options[rng.integers(0, len(options), n)]


def _zipf(column: GeneratedColumn, spec: str, words: list[str]) -> Draw:
    most, theta = _int(column, spec, words[0]), _float(column, spec, words[1])
    if not 1 <= most <= _MOST_ZIPF or theta < 0:
        raise column.error(spec, f"needs n from 1 to {_MOST_ZIPF} and theta of 0 or more")
    column.from_integers(spec, np.array([1, most]))
    cumulated = np.cumsum(np.arange(1, most + 1, dtype=np.float64) ** -theta)
    cumulated /= cumulated[-1]
    return lambda rng, n: column.from_integers(spec, np.searchsorted(cumulated, rng.random(n), side="right") + 1)


def _int(column: GeneratedColumn, spec: str, word: str) -> int:
    try:
        value = int(word)
    except ValueError:
        raise column.error(spec, f"has {word!r} where a whole number is needed") from None
    if not -(2**63) <= value < 2**63:
        raise column.error(spec, f"has {word}, which does not fit into 64 bits")
    return value


def _float(column: GeneratedColumn, spec: str, word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise column.error(spec, f"has {word!r} where a number is needed")
    return value


def _objects(values: list[Any]) -> NDArray[Any]:
    result = np.empty(len(values), dtype=object)
    result[:] = values
    return result
