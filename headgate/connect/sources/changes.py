"""The leading column of a relation's data: `change`, + for a row that is added and - for one that is removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate.sql.schema import CHANGE

HEADING = "change"  # what files call it
PROBLEM = "is neither + nor -"


def heading(field: pa.Field) -> str:
    """What a file calls a column."""
    return HEADING if field.name == CHANGE else str(field.name)


def read_changes(texts: pa.Array) -> tuple[pa.Array, list[int]]:
    """Signs (string or binary) as 1 and -1, and the positions of the values that are not signs, nulls included."""
    try:
        words = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    except pa.ArrowInvalid:  # not UTF-8: what cannot be read is no sign
        words = pa.array([_text(value) for value in texts.to_pylist()], pa.string())
    plus, minus = pc.equal(words, "+"), pc.equal(words, "-")
    known = pc.fill_null(pc.or_(plus, minus), False)
    signs = pc.if_else(plus, pa.scalar(1, pa.int64()), pa.scalar(-1, pa.int64()))
    if pc.all(known).as_py() is not False:
        return signs, []
    bad = np.flatnonzero(~known.to_numpy(zero_copy_only=False)).tolist()
    return pc.if_else(known, signs, None), bad


def read_change(value: Any) -> int:
    """One sign of a JSON text as 1 or -1; ValueError when it is not a sign."""
    try:
        return {"+": 1, "-": -1}[value.strip()]
    except (KeyError, AttributeError):
        raise ValueError(f"{value!r} {PROBLEM}") from None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")
