"""The pure parts of the page: words, the list of queries, changed cells, places in CQL, forms."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import ApplicationError
from headgate.server.page import words
from headgate.server.page.class_rows import promise_words
from headgate.server.page.cql_editor import caret, span
from headgate.server.page.live_table import changed_cells
from headgate.server.page.new import feeder_values
from headgate.server.page.qos_editor import drawable
from headgate.server.page.query_changes import SHARED, changed, shown
from headgate.server.page.query_list import ALL_CLASSES, ALL_STATES, found, in_order, row
from headgate.server.page.sights import Promise, tightest_promises


def query(class_name: str = "c", state: str = "running", mean: float | None = 0.1, waiting: int = 0) -> dict[str, Any]:
    latency = {"mean": mean, "max": None if mean is None else 2 * mean}
    return {"class": class_name, "state": state, "latency": latency, "waiting": waiting, "results": 5, "shedding": 0.0}


QUERIES = {
    "slow": query(mean=2.0, waiting=3),
    "Fast": query("d", mean=0.01, waiting=9),
    "silent": query("d", "stopped", mean=None),
}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0, "0 s"),
        (2.5e-7, "250 ns"),
        (1.234e-5, "12.3 µs"),
        (0.0204, "20.4 ms"),
        (0.99999, "1.00 s"),
        (1.0, "1.00 s"),
        (4321.0, "4,321 s"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


def test_other_words() -> None:
    assert (words.count(1234567), words.count(None)) == ("1,234,567", "–")
    assert (words.rate(12.345), words.rate(3000.0), words.rate(None)) == ("12.3/s", "3,000/s", "–")
    assert (words.share(0.256), words.size(2_500_000)) == ("26 %", "2.5 MB")
    assert [words.since(0.0, at) for at in (5, 125, 7300, 90_000)] == ["5 s ago", "2 min ago", "2 h ago", "1 d ago"]
    assert [words.plain(one) for one in (None, True, 1.5, 12, "<b>")] == ["null", "true", "1.5", "12", "<b>"]


def test_queries_are_found_by_name_class_and_state() -> None:
    assert found(QUERIES, " FAST ", ALL_CLASSES, ALL_STATES) == ["Fast"]
    assert found(QUERIES, "", "d", ALL_STATES) == ["Fast", "silent"]
    assert found(QUERIES, "", "d", "stopped") == ["silent"]


@pytest.mark.parametrize(
    ("by", "down", "names"),
    [
        ("name", False, ["Fast", "silent", "slow"]),
        ("mean", True, ["slow", "Fast", "silent"]),
        ("mean", False, ["Fast", "slow", "silent"]),
        ("waiting", True, ["Fast", "slow", "silent"]),
    ],
)
def test_queries_in_order(by: str, down: bool, names: list[str]) -> None:
    """What is not known comes last, either way."""
    assert in_order(QUERIES, list(QUERIES), by, down) == names


def test_a_row_has_a_cell_for_every_column() -> None:
    assert row("slow", QUERIES["slow"]) == ["slow", "c", "running", "2.00 s", "4.00 s", "3", "5", "–"]


TABLES = st.lists(st.lists(st.sampled_from(["a", "b", "c"]), min_size=3, max_size=3), max_size=5)


@given(TABLES, TABLES)
def test_changed_cells_make_the_new_table(before: list[list[str]], after: list[list[str]]) -> None:
    changes = changed_cells(before, after)
    if changes is None:
        return
    table = [list(one) for one in before]
    for at, column, text in changes:
        table[at][column] = text
    assert table == after


def test_one_changed_cell_is_sent_alone() -> None:
    assert changed_cells([["a", "1", "2"]], [["a", "1", "3"]]) == [(0, 2, "3")]
    assert changed_cells([["a", "1"]], [["b", "1"]]) is None


@given(st.text(alphabet="ab \n'", max_size=20), st.integers(0, 5), st.integers(1, 25))
def test_a_mark_is_never_empty_nor_outside(text: str, line: int, character: int) -> None:
    place = span(text, line, character)
    if place is not None:
        assert 0 <= place[0] < place[1] <= len(text)
    assert "^" in caret(text, max(1, line), character)


def test_the_word_at_the_place_is_marked() -> None:
    text = "SELECT a,\n  prise FROM t"
    place = span(text, 2, 3)
    assert place is not None
    assert text[slice(*place)] == "prise"
    assert caret(text, 2, 3) == "  prise FROM t\n  ^ line 2, character 3"


def test_half_typed_points_are_left_out_of_the_graph() -> None:
    assert drawable([[60.0, 1.0], [None, 2.0], [0.0, None], [0.0, 0.5], [float("nan"), 1.0]]) == [
        [0.0, 0.5],
        [60.0, 1.0],
    ]


def test_only_what_a_form_changes_is_sent() -> None:
    before = shown({"class": "c", "tolerance": 0.1, "policy": {"name": "rr", "quantum": 1}})
    assert before == {"class": "c", "tolerance": 10.0, "policy": "rr"}
    assert changed(before, before) == {}
    assert changed(before, {"class": "d", "tolerance": 5.0, "policy": SHARED}) == {
        "class": "d",
        "tolerance": 0.05,
        "policy": None,
    }
    assert changed(before, {**before, "tolerance": None}) == {"tolerance": None}


def test_values_of_a_feeder() -> None:
    assert feeder_values("price: uniform 0 1\n\n k : choice a b") == {"price": "uniform 0 1", "k": "choice a b"}
    with pytest.raises(ApplicationError, match="line 2"):
        feeder_values("price: uniform 0 1\nk choice a b")


def test_the_tightest_promise_of_a_class_counts() -> None:
    def section(seconds: float) -> dict[str, Any]:
        return {"qos": {"latency": {"priority": "must", "points": [[0, seconds], [60, seconds]]}}}

    sections = {"a": section(0.5), "b": section(0.2), "c": section(0.1), "d": {}}
    states = {"a": query(), "b": query(), "c": query(state="stopped"), "d": query()}
    assert tightest_promises(sections, {"at": 5.0, "queries": states}) == {"c": Promise("b", 0.2)}


def test_promises_are_kept_or_late_or_not_known() -> None:
    promise = Promise("q", 0.5)
    said = [promise_words(promise, p95) for p95 in (0.2, 0.7, None)]
    assert said == ["500 ms kept", "500 ms late", "500 ms"]
    assert promise_words(None, 0.2) == "–"
