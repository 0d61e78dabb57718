"""Changes to an application file from the command line: `--set streams.clicks.source.rate=3000`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headgate.application.document import Document
from headgate.errors import ApplicationError, known_names

# Sections with named parts: an unknown name is a typo, not a part to add.
_COLLECTIONS = {"streams": "streams", "tables": "tables", "classes": "classes", "queries": "queries"}
# Text that is short for a mapping: `policy: rr` becomes `{name: rr}` when a parameter is set.
_SHORT_FOR = {"policy": "name", "arrivals": "kind", "checkpoint": "path"}
_REMEDY = "write --set key=value with a dotted key, for example --set streams.clicks.source.rate=3000"


@dataclass(frozen=True)
class Override:
    """One change: `place` is a dotted key, `label` is how the user wrote it (`--set slots=3`, `--slots 3`)."""

    label: str
    place: str
    value: Any


def parse_override(text: str) -> Override:
    """Read `key=value`; the value is YAML. Raises ApplicationError naming `--set`."""
    key, sign, value = text.partition("=")
    key = key.strip()
    if not sign or not key or not all(part.strip() for part in key.split(".")):
        raise ApplicationError(f"--set {text}", "this is not key=value", _REMEDY)
    try:
        return Override(f"--set {text}", key, Document(value).data)
    except ApplicationError as error:
        raise ApplicationError(f"--set {text}", "the value is not valid YAML", "put it in quotes") from error


def apply_overrides(data: dict[str, Any], overrides: Sequence[Override]) -> dict[str, Any]:
    """A changed copy of an application file's data."""
    changed = copy.deepcopy(data)
    for override in overrides:
        _apply(changed, override)
    return changed


def _apply(data: dict[str, Any], override: Override) -> None:
    parts = override.place.split(".")
    if parts[0] == "spark" and len(parts) > 1:  # the rest is the name of one setting, dots included
        parts = ["spark", ".".join(parts[1:])]
    here: Any = data
    above = ""  # the key that holds `here`
    while True:
        used = _longest_key(here, parts)
        key = ".".join(parts[:used])
        if used == len(parts):
            _put(here, key, override)
            return
        here, above, parts = _enter(here, key, above, override), key, parts[used:]


def _longest_key(here: Any, parts: list[str]) -> int:
    """How many parts make up a key of `here`: one, unless it has a key with dots in it."""
    if isinstance(here, dict):
        for used in range(len(parts), 1, -1):
            if ".".join(parts[:used]) in here:
                return used
    return 1


def _enter(here: Any, key: str, above: str, override: Override) -> Any:
    if isinstance(here, list):
        return here[_index(here, key, override)]
    if not isinstance(here, dict):
        raise ApplicationError(override.label, f"'{above}' has no parts, so no '{key}'", _REMEDY)
    if here.get(key) is None:
        if above in _COLLECTIONS:
            raise ApplicationError(
                override.label, f"there is no '{key}' in {above}", known_names(_COLLECTIONS[above], here, key)
            )
        here[key] = {}
    if key in _SHORT_FOR and not isinstance(here[key], (dict, list)):
        here[key] = {_SHORT_FOR[key]: here[key]}
    elif key == "policy" and not here[key]:
        here[key] = {"name": "rr"}
    return here[key]


def _put(here: Any, key: str, override: Override) -> None:
    if isinstance(here, list):
        here[_index(here, key, override)] = override.value
    elif isinstance(here, dict):
        here[key] = override.value
    else:
        raise ApplicationError(override.label, f"there is nothing to put '{key}' into", _REMEDY)


def _index(items: list[Any], key: str, override: Override) -> int:
    """A list's item by its `id`, or by its number from 0."""
    ids = [str(item.get("id")) if isinstance(item, dict) and "id" in item else "" for item in items]
    if key in ids:
        return ids.index(key)
    if key.isdecimal() and int(key) < len(items):
        return int(key)
    known = [name for name in ids if name] or [str(i) for i in range(len(items))]
    raise ApplicationError(override.label, f"there is no '{key}' in the list", known_names("items", known, key))
