"""A value that is one of several sections, chosen by its `kind`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BeforeValidator

from headgate.errors import known_names
from headgate.settings.sections import Section, refuse, shown


def one_of(kinds: Callable[[], Mapping[str, type[Section]]]) -> BeforeValidator:
    """For `Annotated[Any, one_of(...)]`: a mapping is read by the section of its kind, a section stays as it is.

    The kinds are looked up at each use, because packages and programs may add some.
    """

    def read(value: Any) -> Any:
        if isinstance(value, Section):
            known = kinds()
            if type(value) in known.values():
                return value
            raise refuse(f"{type(value).__name__} cannot be used here", f"use one of {', '.join(sorted(known))}")
        if not isinstance(value, dict):
            raise refuse(f"{shown(value)} is not a mapping", f"write {{kind: ...}}, one of {', '.join(kinds())}")
        kind = value.get("kind")
        if kind is None:
            raise refuse("the key 'kind' is missing", f"add it, one of {', '.join(kinds())}")
        known = kinds()
        section = known.get(kind) if isinstance(kind, str) else None
        if section is None:
            raise refuse(f"there is no kind {shown(kind)}", known_names("kinds", known, str(kind)), at="kind")
        return section.model_validate(value)  # its errors keep their places, below this one

    return BeforeValidator(read)
