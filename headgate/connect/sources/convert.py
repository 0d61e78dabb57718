"""Converts text to typed columns, whole columns at a time, and finds the bad values when a column fails."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.arrow_values import is_in_range

_MOST_DIGITS = 19  # of a BIGINT; an exponent could ask for billions
_NAIVE = pa.timestamp("us")
_ZONE = r"[Tt ].*(?:[Zz]|[+-]\d\d(?::?\d\d)?)\s*$"
_INFINITE = r"(?i)^\s*[+-]?inf(?:inity)?\s*$"
_PREFIXED = r"(?i)^\s*-?0x"  # Arrow reads such whole numbers; nothing else does
_FAILURES = (pa.ArrowException, ValueError, TypeError, KeyError, InvalidOperation, Inexact, OverflowError)
_EXACT = Context(prec=76, traps=[InvalidOperation, Inexact])  # digits that a type has no room for are not rounded away


def convert(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """A column of text (string or binary) as `kind`; a value that does not convert becomes null.

    Second result: the positions of those values. Nulls stay null; blanks around anything but text are ignored.
    """
    try:
        return _whole(texts, kind), []
    except _FAILURES:
        return _halves(texts, kind)


def _halves(texts: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Halve until the bad values are alone: a few bad values cost a few casts, not one per row."""
    if len(texts) == 1:
        try:
            return pa.array([_single(texts[0].as_py(), kind)], kind), []
        except _FAILURES:
            return pa.nulls(1, kind), [0]
    middle = len(texts) // 2
    left, bad_left = convert(texts[:middle], kind)
    right, bad_right = convert(texts[middle:], kind)
    return pa.concat_arrays([left, right]), bad_left + [middle + at for at in bad_right]


def _whole(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return texts.cast(kind)  # checks the UTF-8
    if not _is_castable(kind):
        return pa.array([None if text is None else _single(text, kind) for text in texts.to_pylist()], kind)
    texts = texts.cast(pa.string())
    try:
        found = _cast(texts, kind)
    except pa.ArrowException:
        found = _cast(pc.utf8_trim_whitespace(texts), kind)
    if not is_in_range(found):
        raise pa.ArrowInvalid("a year that SQL does not have")
    return found


def _is_castable(kind: pa.DataType) -> bool:
    return pa.types.is_primitive(kind) or pa.types.is_decimal(kind)


def _cast(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Arrow's own reading of text; times with and without a zone may be mixed (without one: UTC)."""
    if pa.types.is_floating(kind):
        return _reals(texts, kind)
    if pa.types.is_integer(kind) and pc.any(pc.match_substring_regex(texts, _PREFIXED)).as_py():
        raise pa.ArrowInvalid("a number in another notation")
    if not (pa.types.is_timestamp(kind) and kind.tz):
        return texts.cast(kind)
    try:
        return texts.cast(_NAIVE).cast(pa.int64()).cast(kind)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(texts, _ZONE)
        none = pa.scalar(None, pa.string())
        with_zone = pc.if_else(zoned, texts, none).cast(kind)
        without = pc.if_else(zoned, none, texts).cast(_NAIVE).cast(pa.int64()).cast(kind)
        return pc.coalesce(with_zone, without)


def _reals(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Floats. A number beyond the type's range does not fit; it would become infinite. A text for infinity does fit."""
    numbers = texts.cast(kind)
    beyond = pc.and_(pc.is_inf(numbers), pc.invert(pc.match_substring_regex(texts, _INFINITE)))
    if pc.any(beyond).as_py():
        raise pa.ArrowInvalid(f"a number beyond the range of {kind}")
    return numbers


def _single(text: str | bytes | None, kind: pa.DataType) -> Any:
    """One value, which Arrow's cast may be too strict for; raises one of _FAILURES when it cannot be read."""
    if text is None:
        return None
    word = (text.decode() if isinstance(text, bytes) else text).strip()
    for fits, read in _READERS:
        if fits(kind):
            return read(word, kind)
    raise ValueError(f"no {kind} can be read from text")


def _decimal(word: str, kind: pa.DataType) -> Decimal:
    number = Decimal(word)
    if "_" in word or not number.is_finite():
        raise ValueError(f"{word!r} is not a decimal number")
    return number.quantize(Decimal(1).scaleb(-kind.scale), context=_EXACT)  # too many digits before it fail in Arrow


def _real(word: str, kind: pa.DataType) -> float:
    if "_" in word:  # Python's float takes 1_000
        raise ValueError(f"{word!r} is not a number")
    return _in_range(float(word), kind, said=not word.strip("+-")[:1].isdigit() and "." not in word)


def _in_range(number: float, kind: pa.DataType, said: bool = False) -> float:
    """A float that the type can hold. OverflowError: it would become infinite, and the text did not say so (`said`)."""
    if not said and math.isinf(pa.scalar(number, kind).as_py()):
        raise OverflowError(f"beyond the range of {kind}")
    return number


def _timestamp(word: str, kind: pa.DataType) -> datetime:
    if not word or word.isdigit():
        raise ValueError("a number is not a time")
    read = datetime.fromisoformat(word)
    if kind.tz is None:
        if read.tzinfo is not None:
            raise ValueError("a zone, where the type has none")
        return read
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


def _integer(word: str, _: pa.DataType) -> int:
    if not (word.isascii() and word.lstrip("+-").isdecimal()):  # Python's int also takes 1_000
        raise ValueError(f"{word!r} is not a whole number")
    return int(word)


def _boolean(word: str, _: pa.DataType) -> bool:
    return {"true": True, "t": True, "yes": True, "false": False, "f": False, "no": False}[word.lower()]


def _nested(word: str, kind: pa.DataType) -> Any:
    return from_json(load_json(word), kind)


def load_json(text: str | bytes) -> Any:
    """A JSON text; numbers with a fraction or an exponent are exact. ValueError: it is not JSON, as NaN is not."""
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def from_json(value: Any, kind: pa.DataType) -> Any:
    """A value of a JSON text as what Arrow takes for `kind`; raises one of _FAILURES when it does not fit."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [from_json(item, kind.value_type) for item in _expect(value, list)]
    if pa.types.is_map(kind):
        return [
            (from_json(key, kind.key_type), from_json(item, kind.item_type))
            for key, item in _expect(value, dict).items()
        ]
    if pa.types.is_struct(kind):
        folded = {key.lower(): item for key, item in _expect(value, dict).items()}
        return {field.name: from_json(folded.get(field.name.lower()), field.type) for field in kind}
    return _from_json_plain(value, kind)


def _from_json_plain(value: Any, kind: pa.DataType) -> Any:
    if isinstance(value, str):
        return value if pa.types.is_string(kind) else convert_one(value, kind)
    if pa.types.is_string(kind):
        # As Spark does: a number or an object read as text is its JSON.
        return str(value) if isinstance(value, Decimal) else json.dumps(value, default=float)
    if isinstance(value, bool) != pa.types.is_boolean(kind) or isinstance(value, (list, dict)):
        raise ValueError(f"{value!r} is not a {kind}")
    if pa.types.is_boolean(kind):
        return value
    if pa.types.is_floating(kind):
        return _in_range(float(value), kind)
    if pa.types.is_decimal(kind):
        return _decimal(str(value), kind)
    if pa.types.is_integer(kind):
        return _whole_number(value)
    raise ValueError(f"a number is not a {kind}")


def _whole_number(value: int | Decimal) -> int:
    """3.0 and 3e2 are whole numbers, 3.7 is not; the range is checked by Arrow."""
    if isinstance(value, int):
        return value
    if value.adjusted() > _MOST_DIGITS or value != value.to_integral_value():
        raise ValueError(f"{value} is not a whole number of the type")
    return int(value)


def convert_one(text: str, kind: pa.DataType) -> Any:
    """One text as a Python value; ValueError when it does not convert."""
    array, bad = convert(pa.array([text], pa.string()), kind)
    if bad:
        raise ValueError(f"{text!r} is not a {kind}")
    return array[0].as_py()


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} is not a {kind.__name__}")
    return value


_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str, Any], Any]], ...] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _integer),
    (pa.types.is_floating, _real),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_binary, lambda word, _: base64.b64decode(word, validate=True)),
    (pa.types.is_nested, _nested),
)
