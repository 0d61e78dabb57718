"""Any value as JSON data: dicts, lists, texts, numbers, booleans and None."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def json_value(value: Any) -> Any:
    """The value as JSON data; a number that is not finite becomes None, an unknown object its text."""
    if isinstance(value, Mapping):
        return {str(key): json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(item) for item in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if hasattr(value, "tolist"):  # numpy
        return json_value(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
