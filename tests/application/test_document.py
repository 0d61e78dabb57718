"""YAML as an application file needs it: no silent losses, and a line for every place."""

from typing import Any

import pytest

from headgate.application.document import Document
from headgate.errors import ApplicationError


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("on: location", {"on": "location"}),
        ("null: NA", {"null": "NA"}),
        ("yes: no", {"yes": "no"}),
        ("1: one", {"1": "one"}),
        ("a: true\nb: False", {"a": True, "b": False}),
        ("a: 1e-6\nb: 010\nc: 0x10\nd: -3\ne: .5", {"a": 1e-6, "b": 10, "c": 16, "d": -3, "e": 0.5}),
        ("a: 12:30\nb: 2024-01-01", {"a": "12:30", "b": "2024-01-01"}),
        ("a: '5'\nb: ~\nc:", {"a": "5", "b": None, "c": None}),
        ("a: &x {p: 1}\nb: {<<: *x, q: 2}\nc: {<<: [*x], p: 3}", {"a": {"p": 1}, "b": {"p": 1, "q": 2}, "c": {"p": 3}}),
        ("[1, [2]]", [1, [2]]),
        ("", None),
    ],
)
def test_data(text: str, data: Any) -> None:
    assert Document(text).data == data


@pytest.mark.parametrize(
    ("text", "line", "fragment"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' appears twice"),
        ("q:\n  x: {a: 1, a: 2}\n", 2, "the key 'a' appears twice"),
        ("a: [1, 2\nb: 3\n", 2, "not valid YAML"),
        ("a: b: c\n", 1, "not valid YAML"),
        ("a:\n\t- 1\n", 2, "not valid YAML"),
        ("a: 1\nb: \x01\n", 2, "not valid YAML"),
        ("a: *nowhere\n", 1, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("a: &x [*x]\n", 1, "alias"),
        ("a: !!python/object:os.system x\n", 1, "not known here"),
        ("? [a, b]\n: 1\n", 1, "a key must be a name"),
        ("[" * 3000, 1, "nested too deeply"),
    ],
)
def test_refusals(text: str, line: int, fragment: str) -> None:
    with pytest.raises(ApplicationError, match=r".") as caught:
        Document(text)
    assert fragment in str(caught.value)
    assert caught.value.line == line


def test_aliases_cannot_blow_up() -> None:
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    with pytest.raises(ApplicationError, match="too large"):
        Document("a0: &a0 x\n" + levels)


def test_lines() -> None:
    document = Document("a: 1\nb:\n  c:\n    - {id: x, d: 1}\n    - id: y\n      d: 2\n  k.l: 3\n")
    places = {"a": 1, "b": 2, "b.c": 3, "b.c.x": 4, "b.c.1.d": 6, "b.c.y.d": 6, "b.k.l": 7, "b.nothing.at.all": 2}
    assert {place: document.line(place) for place in places} == places
