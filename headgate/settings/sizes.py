"""Amounts of memory as people write them: `64 MB`, `1.5 GB`; a bare number is bytes."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BeforeValidator

from headgate.settings.sections import refuse, shown

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_TEXT = re.compile(r"([0-9]+(?:\.[0-9]*)?)\s*([a-z]*)", re.IGNORECASE)


def _bytes(value: Any) -> int:
    found = _TEXT.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is not None and found[2].lower() in _UNITS:
        value = float(found[1]) * _UNITS[found[2].lower()]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1 <= value < 2**63:
        raise refuse(f"{shown(value)} is not an amount of memory", "write it like 64 MB; a bare number is bytes")
    return int(value)


MemorySize = Annotated[int, BeforeValidator(_bytes)]
