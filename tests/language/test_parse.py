"""Windows and stream functions are found, removed from the text, and attached where they belong."""

import pytest
from sqlglot import exp

from headgate.language.parse import parse
from headgate.language.query_text import read_query_text
from headgate.plan.operators import Project
from headgate.plan.windows import NOW, UNBOUNDED, RangeWindow, RowsWindow, Span, Window
from tests.language.catalogs import plan_of

SECONDS = Span(5.0, "seconds")
WINDOWS = {
    "[NOW]": NOW,
    "[now]": NOW,
    "[RANGE 5 SECONDS]": RangeWindow(SECONDS),
    "[range 5 seconds\n  slide 5 Seconds]": RangeWindow(SECONDS, SECONDS),
    "[RANGE UNBOUNDED]": UNBOUNDED,
    "[RANGE UNBOUNDED SLIDE 5 SECONDS]": RangeWindow(None, SECONDS),
    "[RANGE 20]": RangeWindow(Span(20.0)),
    "[ROWS 3]": RowsWindow(3),
    "[ROWS 3 SLIDE 2]": RowsWindow(3, 2),
    "[Partition By a, b Rows 3]": RowsWindow(3, 1, ("a", "b")),
}


def windows_of(text: str) -> dict[str, Window]:
    return {
        node.alias_or_name: node.meta["window"].window
        for node in parse(text).tree.find_all(exp.Table, exp.Subquery)
        if "window" in node.meta
    }


@pytest.mark.parametrize("text", WINDOWS)
def test_windows(text: str) -> None:
    assert windows_of(f"SELECT * FROM s {text} AS x, t WHERE a[0] = 'x [NOW]'") == {"x": WINDOWS[text]}
    assert windows_of(f"SELECT * FROM t, s{text}") == {"s": WINDOWS[text]}
    assert windows_of(f"SELECT * FROM s AS y {text}, t") == {"y": WINDOWS[text]}
    assert windows_of(f"SELECT * FROM (SELECT * FROM s) {text} x JOIN t ON a = b") == {"x": WINDOWS[text]}


def test_each_window_goes_to_its_stream() -> None:
    found = windows_of(
        "WITH v AS (SELECT * FROM a [ROWS 1]) SELECT * FROM v [ROWS 2], (SELECT * FROM b [ROWS 3] AS c) [ROWS 4] AS d "
        "JOIN `odd-name` [ROWS 5] ON x = y[0]"
    )
    assert {name: window.count for name, window in found.items() if isinstance(window, RowsWindow)} == {
        "a": 1,
        "v": 2,
        "c": 3,
        "d": 4,
        "odd-name": 5,
    }


def test_subscripts_and_strings_are_not_windows() -> None:
    text = read_query_text("SELECT a[0], m['now'], b[rows_of], '[NOW]', `[NOW]` FROM s -- [NOW]\n WHERE x = 1")
    assert not text.windows
    assert text.blanked == text.original


def functions_of(text: str) -> dict[str, str]:
    return {node.meta["stream"].name: node.sql() for node in parse(text).tree.walk() if "stream" in node.meta}


@pytest.mark.parametrize(
    ("text", "function", "query"),
    [
        ("ISTREAM(SELECT a FROM s)", "ISTREAM", "SELECT a FROM s"),
        (" dstream (\nSELECT a FROM s\n) ;", "DSTREAM", "SELECT a FROM s"),
        ("ISTREAM(SELECT a FROM s UNION SELECT b FROM t)", "ISTREAM", "SELECT a FROM s UNION SELECT b FROM t"),
        ("ISTREAM(SELECT a FROM s) UNION ALL SELECT b FROM t", "ISTREAM", "SELECT a FROM s"),
        ("SELECT * FROM RSTREAM(SELECT * FROM s) AS x", "RSTREAM", "SELECT * FROM s"),
        ("SELECT * FROM (RSTREAM(SELECT * FROM s))", "RSTREAM", "SELECT * FROM s"),
        ("WITH v AS (ISTREAM(SELECT * FROM s)) SELECT * FROM v", "ISTREAM", "SELECT * FROM s"),
        ("WITH v AS ISTREAM(SELECT * FROM s) SELECT * FROM v", "ISTREAM", "SELECT * FROM s"),
        (
            "ISTREAM(WITH v AS (SELECT 1 FROM t) SELECT 2 FROM v)",
            "ISTREAM",
            "WITH v AS (SELECT 1 FROM t) SELECT 2 FROM v",
        ),
        (
            "WITH v AS (SELECT 1 FROM t) ISTREAM(SELECT 2 FROM v)",
            "ISTREAM",
            "WITH v AS (SELECT 1 FROM t) SELECT 2 FROM v",
        ),
        (
            "SELECT * FROM (SELECT * FROM ISTREAM(SELECT * FROM (SELECT 1 FROM t)))",
            "ISTREAM",
            "SELECT * FROM (SELECT 1 FROM t)",
        ),
    ],
)
def test_stream_functions(text: str, function: str, query: str) -> None:
    assert functions_of(text) == {function: query}


@pytest.mark.parametrize("word", ["select", "from", "where", "union", "not"])
def test_a_field_may_be_called_like_a_keyword(word: str) -> None:
    text = f"named_struct('{word}', 1).{word}"
    (operator,) = plan_of(f"SELECT {text} AS c, user.{word} FROM clicks").operators.values()
    assert isinstance(operator, Project)
    assert operator.columns == {"c": text, word: f"user.{word}"}


def test_a_column_may_have_the_name_of_a_stream_function() -> None:
    assert functions_of("SELECT istream, `ISTREAM`, 'ISTREAM(' FROM s") == {}
