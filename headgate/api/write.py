"""Sections as the text of an application file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import yaml

from headgate.connect.connector import Connector
from headgate.errors import ApplicationError

LONG = 80  # characters; a longer text gets lines of its own, unbroken


def yaml_text(data: Mapping[str, Any]) -> str:
    """A file that reads back as the same sections. ApplicationError names a value that YAML cannot express."""
    return yaml.dump(plain_data(data, ""), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


def plain_data(value: Any, place: str) -> Any:
    """A section as plain data. ApplicationError names what exists only in Python."""
    if isinstance(value, Connector):
        fields = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
        named = {type(value).model_fields[name].alias or name: one for name, one in fields.items()}
        return plain_data({"kind": value.kind, **named}, place)
    if isinstance(value, Mapping):
        return {str(key): plain_data(item, f"{place}.{key}" if place else str(key)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(item, f"{place}.{at}") for at, item in enumerate(value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    remedy = "name a file, a table or a kind that a file can express"
    raise ApplicationError(place, f"a {type(value).__name__} exists only in Python and cannot be written", remedy)


class _Dumper(yaml.SafeDumper):
    """Writes what `application/document.py` reads: numbers of YAML 1.2, texts that look like numbers in quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    lines = value.split("\n")
    if (len(lines) > 1 or len(value) > LONG) and not any(line.endswith(" ") for line in lines):  # a query, mostly
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")
    style = '"' if _looks_otherwise(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _looks_otherwise(text: str) -> bool:
    """Would the text be read as a number, a truth value or nothing? The reader knows YAML 1.2, the writer YAML 1.1."""
    try:
        float(text)
        return True
    except ValueError:
        return text.lower() in ("true", "false", "null", "~", "", "<<") or text.lower().startswith(("0x", "0o", "."))


def _number(dumper: yaml.SafeDumper, value: float) -> yaml.ScalarNode:
    text = ".nan" if math.isnan(value) else f"{'-' if value < 0 else ''}.inf" if math.isinf(value) else repr(value)
    return dumper.represent_scalar("tag:yaml.org,2002:float", text)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _number)
