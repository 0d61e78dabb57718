"""Reads YAML text as plain data, and finds the line of every place in it.

Differences from PyYAML's own loading, all because an application file is written by hand: a key that appears
twice is refused instead of silently dropped; keys are always text (`on:` and `null:` are keys here, not true and none);
numbers and truth values follow YAML 1.2 (`1e-6` is a number, `010` is ten, `no` and `12:30` are text).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from headgate.errors import ApplicationError

_TAG = "tag:yaml.org,2002:"
_MOST_VALUES = 200_000  # aliases of aliases can make a small file enormous
_WHOLE_FILE = "the file"


class _Loader(yaml.SafeLoader):
    """Composes nodes with the plain scalars of YAML 1.2's core schema."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  # as in PyYAML


for _name, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(f"(?:{_pattern})\\Z"), list(_first))


class Document:
    """A parsed YAML text: its `data`, and `line` to find where something is."""

    def __init__(self, text: str) -> None:
        """Raises ApplicationError (with `line` set) for text that is not YAML or holds a key twice."""
        self._root = _compose(text)
        self.data: Any = _Builder().value(self._root, ())

    def line(self, place: str) -> int:
        """The line of a dotted place (`queries.fire.operators.warm.cost`), or of the closest place above it."""
        return line_of(self._root, place.split("."))


def line_of(node: yaml.Node | None, parts: list[str]) -> int:
    """The line of the place that `parts` lead to from a node, or of the closest place above it."""
    line = 1 if node is None else node.start_mark.line + 1
    while node is not None and parts:
        used, key, child = _step(node, parts)
        if child is None:
            break
        parts, node = parts[used:], child
        line = (key or child).start_mark.line + 1
    return line


def _step(node: yaml.Node, parts: list[str]) -> tuple[int, yaml.Node | None, yaml.Node | None]:
    """The child that the first parts name: how many parts they are, the key's node and the child."""
    if isinstance(node, yaml.MappingNode):
        for used in range(1, len(parts) + 1):  # a key may itself hold dots: spark.sql.shuffle.partitions
            wanted = ".".join(parts[:used])
            for key, child in node.value:
                if key.value == wanted:
                    return used, key, child
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            if parts[0] == str(index) or _id_of(child) == parts[0]:
                return 1, None, child
    return 0, None, None


def _id_of(node: yaml.Node) -> str | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((child.value for key, child in node.value if key.value == "id"), None)


def _compose(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or error.context or "it cannot be read"
        raise at_line(mark.line + 1 if mark else 1, _WHOLE_FILE, f"not valid YAML: {problem}") from error
    except yaml.YAMLError as error:  # characters that YAML does not allow
        reason = getattr(error, "reason", None) or str(error).splitlines()[0]
        raise at_line(_line_at(text, error), _WHOLE_FILE, f"not valid YAML: {reason}") from error
    except RecursionError as error:
        raise at_line(1, _WHOLE_FILE, "not readable: it is nested too deeply") from error


def _line_at(text: str, error: yaml.YAMLError) -> int:
    position = getattr(error, "position", 0)
    return text.count("\n", 0, position) + 1


def at_line(line: int, place: str, problem: str, remedy: str = "") -> ApplicationError:
    """An error whose line is already known; the loader puts the file's name before it."""
    error = ApplicationError(place, problem, remedy)
    error.line = line
    return error


class _Builder:
    """Turns nodes into dicts, lists, texts and numbers."""

    def __init__(self) -> None:
        self._open: set[int] = set()  # nodes being built: an alias to one of them is a cycle
        self._built = 0

    def value(self, node: yaml.Node | None, place: tuple[str, ...]) -> Any:
        if node is None:
            return None
        self._built += 1
        if id(node) in self._open or self._built > _MOST_VALUES:
            what = "an alias refers to what it is part of" if id(node) in self._open else "the file is too large"
            raise self._error(node, place, what)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, place)
            return [self.value(child, (*place, str(i))) for i, child in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, place: tuple[str, ...]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        for key, child in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, place, "a key must be a name, not a list or mapping")
            here = (*place, key.value)
            if key.tag == _TAG + "merge":
                merged += self._merged(child, place)
            elif key.value in result:
                raise self._error(key, here, f"the key '{key.value}' appears twice", "keep one of them")
            else:
                result[key.value] = self.value(child, here)
        for mapping in merged:
            result = {**mapping, **result}
        return result

    def _merged(self, node: yaml.Node, place: tuple[str, ...]) -> list[dict[str, Any]]:
        given = self.value(node, place)
        mappings = given if isinstance(given, list) else [given]
        if not all(isinstance(mapping, dict) for mapping in mappings):
            raise self._error(node, place, "'<<' takes a mapping or a list of mappings")
        return mappings

    def _scalar(self, node: yaml.ScalarNode, place: tuple[str, ...]) -> Any:
        kind, text = node.tag.removeprefix(_TAG), node.value
        try:
            if kind == "int":
                return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
            if kind == "float":
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError as error:
            raise self._error(node, place, f"'{text[:40]}' is not a number that can be read") from error
        if kind == "null":
            return None
        if kind == "bool":
            return text.lower() == "true"
        if kind not in ("str", "merge"):
            raise self._error(node, place, f"the tag '{node.tag}' is not known here", "leave it out")
        return text

    def _error(self, node: yaml.Node, place: tuple[str, ...], problem: str, remedy: str = "") -> ApplicationError:
        return at_line(node.start_mark.line + 1, ".".join(place) or _WHOLE_FILE, problem, remedy)
