"""Hostile queries that get as far as Spark's analyzer: each is valid, or gives one clean error at its place.

Half of the texts come from `tests/language/test_hostile.py`. The other half are well-formed queries around an
expression in which some words are replaced, so that more of them pass the parser.
"""

from __future__ import annotations

import random
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from headgate.application.explain import explain
from headgate.application.load import load_application
from headgate.errors import ApplicationError
from headgate.runtime.spark.analysis.check import check
from tests.language.catalogs import SENSORS
from tests.language.test_hostile import hostile_text

pytestmark = pytest.mark.spark

EXPRESSIONS = Path(__file__).with_name("expressions.txt").read_text(encoding="utf-8").splitlines()
WORDS = (
    *("location", "humidity", "temperature", "ts", "k", "v", "tags", "user", "user.id", "x", "s", "tags[0]"),
    *("1", "-1", "'a'", "NULL", "TRUE", "*", "INTERVAL '1' DAY", "array(1)", "map('a', 1)"),
)
AGGREGATES = ("max", "count", "sum", "collect_list", "any_value", "listagg", "median")
# What nobody should see in an error: Java, py4j, or a position in a text that only Spark knows.
RAW = re.compile(r"\n|An error occurred|\bo\d{2,}\.|Traceback|\bpos \d+|py4j|>= 3\.0:$|org\.apache|\bjava\.")
LONGEST = 3000  # characters of an error


def query_text(draw: random.Random) -> str:
    """A well-formed query around an expression in which up to two words are replaced."""
    text = draw.choice(EXPRESSIONS)
    for _ in range(draw.randrange(3)):
        start = draw.randrange(len(text) + 1)
        word = re.search(r"\b[a-z_]+\b", text[start:])
        if word:
            text = text[: start + word.start()] + draw.choice(WORDS) + text[start + word.end() :]
    text = re.sub(r"\bxs\b", "tags", re.sub(r"\bt\b", "user.name", text))
    mine = re.sub(r"(?<![.])\b(v|k|tags|user)\b", r"a.\1", text)
    return draw.choice(
        [
            f"SELECT {text} AS c FROM clicks",
            f"SELECT k FROM clicks WHERE {text} = {draw.choice(WORDS)}",
            f"SELECT k, {draw.choice(AGGREGATES)}({text}) AS c FROM clicks GROUP BY k",
            f"SELECT {text} AS c, count(*) AS n FROM clicks [ROWS 5] GROUP BY {text}",
            f"SELECT a.k FROM clicks [ROWS 5] AS a, clicks [ROWS 3] AS b WHERE a.k = b.k AND {mine} IS NOT NULL",
            f"SELECT DISTINCT {text} AS c FROM clicks",
        ]
    )


def app_file(text: str) -> str:
    """An application with the streams and tables of `tests/language/catalogs.py` and one query."""

    def section(name: str) -> dict[str, Any]:
        stream = SENSORS.streams[name]
        schema = ", ".join(f"{column.name} {column.type}" for column in stream.schema)
        time = {"time": stream.time} if stream.time else {}
        return {"schema": schema, "source": {"kind": "json", "path": "rows.json"}, **time}

    return yaml.safe_dump(
        {
            "streams": {name: section(name) for name in SENSORS.streams},
            "tables": {
                "places": {"kind": "csv", "path": "places.csv", "schema": "location STRING, floor INT"},
                "floors": {"kind": "csv", "path": "floors.csv", "schema": "floor INT, name STRING"},
            },
            "queries": {"q": {"cql": text}},
        }
    )


def written(folder: Path, text: str) -> Path:
    (folder / "rows.json").touch()
    (folder / "places.csv").write_text("location,floor\n")
    (folder / "floors.csv").write_text("floor,name\n")
    path = folder / "app.yaml"
    path.write_text(app_file(text))
    return path


def faults(count: int, seed: int, folder: Path) -> Iterator[tuple[str, str]]:
    """The texts that gave neither a plan nor a clean error, each with what it gave."""
    draw = random.Random(seed)
    for _ in range(count):
        text = hostile_text(draw) if draw.random() < 0.5 else query_text(draw)
        fault = fault_of(written(folder, text))
        if fault is not None:
            yield text, fault


def fault_of(path: Path) -> str | None:
    try:
        app = load_application(path)
        explain(app)
        check(app)
    except ApplicationError as error:
        return unclean(error)
    except Exception as error:
        return "".join(traceback.format_exception(error))[-900:]
    return None


def unclean(error: ApplicationError) -> str | None:
    """The message, if nobody could act on it."""
    message = str(error)
    if RAW.search(message) or not error.problem or len(message) > LONGEST:
        return message
    return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Spark gets 2 = map(..), and knows of no place for values that it cannot compare.
        ("SELECT k FROM clicks WHERE 1 - -1 = map('a', 1)", "line 1, character 35: [DATATYPE_MISMATCH"),
        ("SELECT DISTINCT map('a', k) AS c FROM clicks", "line 1, character 8: values of type MAP cannot be compared"),
        ("SELECT named_struct('select', 1).select AS c FROM clicks", None),
    ],
)
def test_mistakes_that_only_spark_finds_have_a_place(
    session: Any, tmp_path: Path, text: str, expected: str | None
) -> None:
    found = None
    try:
        check(load_application(written(tmp_path, text)))
    except ApplicationError as error:
        found = error.problem[: len(expected or "")]
    assert found == expected


def test_some_hostile_queries(session: Any, tmp_path: Path) -> None:
    assert list(faults(30, 20, tmp_path)) == []


@pytest.mark.nightly
def test_two_thousand_hostile_queries(session: Any, tmp_path: Path) -> None:
    assert list(faults(2_000, 21, tmp_path)) == []
