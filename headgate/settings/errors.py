"""Turns what pydantic finds wrong with settings into messages for the people who wrote them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from headgate.errors import ApplicationError

_WHOLE = "the file"
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping {key: value}",
    "list_type": "a list [first, second]",
}


def first_error(error: ValidationError, data: Any, line_of: Callable[[str], int], within: str = "") -> ApplicationError:
    """The one of pydantic's errors that comes first in the file. `within` is the place of `data`; empty: the file."""
    found = [_translate(detail, data) for detail in error.errors(include_url=False)]
    first = min(found, key=lambda one: line_of(one.place))
    if not within:
        return first
    place = within if first.place == _WHOLE else f"{within}.{first.place}"
    return ApplicationError(place, first.problem, first.remedy)


def _translate(detail: Mapping[str, Any], data: Any) -> ApplicationError:
    parts = [p for p in detail["loc"] if not _is_marker(p)]
    context = detail.get("ctx", {})
    kind = detail["type"]
    if kind == "headgate":
        parts += [context["at"]] if context["at"] else []
        return ApplicationError(_place(parts, data), context["problem"], context["remedy"])
    if kind == "missing":
        *above, key = parts
        return ApplicationError(_place(above, data), f"the key '{key}' is missing", "add it")
    return ApplicationError(_place(parts, data), *_words(detail, context))


def _is_marker(part: Any) -> bool:
    """Parts that pydantic adds to a place: the model that was chosen, `[key]`, the alternative of a union."""
    if not isinstance(part, str):
        return False
    return part.startswith(("dict[", "list[", "function-", "literal[", "constrained-")) or part in (
        "[key]",
        "ShedSection",
    )


def _words(detail: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[str, str]:
    """Problem and remedy."""
    kind, shown = detail["type"], _shown(detail["input"])
    if kind in _TYPES:
        return f"{shown} is not {_TYPES[kind]}", f"give {_TYPES[kind]}"
    if kind == "literal_error":
        return f"{shown} is not allowed here", f"use {context['expected']}"
    for name, words in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
        if name in context:
            return f"{shown} is out of range", f"it must be {words} {context[name]:g}"
    return f"{shown}: {detail['msg'][0].lower()}{detail['msg'][1:]}", ""


def _place(parts: list[Any], data: Any) -> str:
    """A dotted place; items of a list go by their `id` where they have one."""
    named: list[str] = []
    for position, part in enumerate(parts):
        value = _at(parts[: position + 1], data)
        has_id = isinstance(part, int) and isinstance(value, dict) and isinstance(value.get("id"), str)
        named.append(value["id"] if has_id else str(part))
    return ".".join(named) or _WHOLE


def _at(parts: list[Any], data: Any) -> Any:
    for part in parts:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _shown(value: Any) -> str:
    text = "nothing" if value is None else f"'{value}'" if isinstance(value, str) else repr(value)
    return text if len(text) < 60 else text[:57] + "..."
