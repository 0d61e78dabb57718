"""Whatever is done to a good file, it loads or gives one ApplicationError, never a traceback."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.application.document import Document
from headgate.application.explain import explain
from headgate.application.load import load_application
from headgate.errors import ApplicationError
from tests.application.apps import GOOD, write_app
from tests.tiers import examples

pytestmark = pytest.mark.slow

NASTY = (
    """
sensors|clicks|fire|hot|parts.low|rr|select|split|csv|feeder|recorded|.|k|k > 1|k +|sum(k)|(SELECT 1)|k.a.b > 1|'|`
a AS b|*|k INT|k INT) x|k ARRAY<INT>|k STRUCT<a: INT>|x DECIMAL(400,3)|1us|uniform 0 1|zipf 3 1|normal 0 1e308|\0
case when|DROP x|k -> k|json:a|interval
""".strip()
    .replace("\n", "|")
    .split("|")
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.sampled_from([0, 1, -1, 2, 10**400]),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(NASTY),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
DATA = Document(GOOD).data


def places(value: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in nested data, as keys and indexes."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [above] if above else []
    for key, child in items:
        found += places(child, (*above, key))
    return found


PLACES = places(DATA)


@st.composite
def mutated(draw: st.DrawFn) -> Any:
    data = copy.deepcopy(DATA)
    for place in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        _change(data, place, draw)
    return data


def _change(data: Any, place: tuple[Any, ...], draw: st.DrawFn) -> None:
    *above, key = place
    try:
        for part in above:
            data = data[part]
        change = draw(st.sampled_from(["replace", "swap", "delete", "rename"]))
        if change == "delete":
            del data[key]
        elif change == "rename" and isinstance(data, dict):
            data[draw(st.text(min_size=1, max_size=6))] = data.pop(key)
        elif change == "swap":
            other: Any = DATA
            for part in draw(st.sampled_from(PLACES)):
                other = other[part]
            data[key] = copy.deepcopy(other)
        else:
            data[key] = draw(VALUES)
    except (KeyError, IndexError, TypeError):
        pass  # an earlier change removed the place


def attempt(path: Path, *changes: str) -> None:
    """Load and explain the file; any error other than an ApplicationError that says where fails the test."""
    problem: ApplicationError | None = None
    try:
        explain(load_application(path, changes))
    except ApplicationError as error:
        problem = error
    if problem is not None:
        assert problem.problem
        assert problem.where is None or problem.where.startswith((str(path), "--set"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


@settings(max_examples=examples(100, 400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated())
def test_changed_data(folder: Path, data: Any) -> None:
    attempt(write_app(folder, yaml.safe_dump(data, allow_unicode=True, sort_keys=False)))


@settings(max_examples=examples(75, 300), deadline=None)
@given(st.integers(0, len(GOOD)), st.integers(0, 30), st.text(max_size=8))
def test_changed_text(folder: Path, start: int, cut: int, new: str) -> None:
    text = GOOD[:start] + new + GOOD[start + cut :]
    path = write_app(folder, text.encode("utf-8", "replace").decode())
    attempt(path)


@settings(max_examples=examples(50, 200), deadline=None)
@given(st.sampled_from(PLACES), st.text(max_size=12) | st.sampled_from(["", "[", "{a: 1}", "-1", "null", "1e999"]))
def test_changed_by_set(folder: Path, place: tuple[Any, ...], value: str) -> None:
    attempt(write_app(folder), f"{'.'.join(map(str, place))}={value}")


@settings(max_examples=examples(50, 200), deadline=None)
@given(st.text(max_size=30))
def test_any_set(folder: Path, text: str) -> None:
    attempt(write_app(folder), text)
