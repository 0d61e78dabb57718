"""docs/cql.md is true: its queries compile against its catalog, and its tables of instants are recomputed."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from headgate.application.checked import CheckedApplication
from headgate.application.load import load_application
from headgate.language.catalog import Catalog
from headgate.language.compile import compile_query
from tests.conformance.cql_reference import Reference, stream_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "cql.md").read_text(encoding="utf-8")
LETTERS = [("a", "vowel", 0), ("b", "consonant", 3), ("c", "consonant", 4), ("d", "consonant", 8)]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def app(tmp_path: Path) -> CheckedApplication:
    """The application at the top of the page."""
    shutil.copy(ROOT / "examples" / "places.csv", tmp_path)
    file = tmp_path / "app.yaml"
    file.write_text(blocks("yaml")[0], encoding="utf-8")
    return load_application(file)


QUERIES = [query.strip() for block in blocks("sql") for query in re.split(r";\s*\n", block)]


@pytest.mark.parametrize("text", QUERIES)
def test_queries_compile(text: str, app: CheckedApplication) -> None:
    assert compile_query("q", text, Catalog(app.plan.streams, app.plan.tables)).operators


def test_there_is_something_to_compile() -> None:
    assert len(QUERIES) > 8


def rows(block: str) -> list[tuple[str, list[str]]]:
    """The lines of a table of instants: the text at its beginning, and a cell for each of the instants 0 to 8."""
    found = []
    for line in block.splitlines():
        name, cells = line[:34].strip(), line[34:]
        found.append((name, [cells[at : at + 5].strip() for at in range(0, 45, 5)]))
    return found


TABLES = [rows(block) for block in blocks("text") if block.startswith("instant")]


def evaluated(text: str) -> list[str]:
    """What a query over `letters` contains or outputs at each of the instants."""
    streams = {"letters": stream_of(("x", "kind", "t"), LETTERS, "t")}
    changes = Reference(streams, queries={"q": text}).changes("q")
    present: Counter[str] = Counter()
    found = []
    for instant in range(9):
        if "STREAM" in text:
            present.clear()
        for (sign, (letter,)), count in changes.get(instant, Counter()).items():
            present[letter] += count if sign == "+" else -count
        found.append("".join(sorted(present.elements())))
    return found


@pytest.mark.parametrize("table", TABLES)
def test_instants(table: list[tuple[str, list[str]]]) -> None:
    (_, instants), (_, tuples), *results = table
    assert instants == [str(instant) for instant in range(9)]
    assert tuples == [next((x for x, _, t in LETTERS if t == instant), "") for instant in range(9)]
    assert len(results) >= 3
    for name, cells in results:
        window = re.search(r"\[.*\]", name)
        assert window is not None, name
        text = f"SELECT x FROM letters {window[0]}"
        function = re.match(r"[IDR]STREAM", name)
        assert cells == evaluated(f"{function[0]}({text})" if function else text), name


def test_both_tables_are_there() -> None:
    assert len(TABLES) == 2
