"""Tables fit the terminal: units are shown, words stay whole, nothing is cut off."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from headgate.display.report import print_report
from headgate.display.tables import FittedTable, TableColumn, share_out
from headgate.errors import first_few
from tests.cli.test_reporting import LATENCY, REPORT

LONG = {f"a_query_with_a_long_name_{number}": {**REPORT["queries"]["fire"], "latency": LATENCY} for number in (1, 2)}


def shown(table: FittedTable, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 105, 140])
def test_reports_at_every_width(width: int) -> None:
    """Below 105 columns, names and times used to be cut off: `criti…`, `1.04…`."""
    out = io.StringIO()
    print_report(REPORT | {"queries": LONG}, Console(file=out, width=width))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    for whole in ("critical", "archive", "a_query_with_a_long_name_2", "200 ms", "500 ms"):
        assert whole in text
    assert text.count("p50") == {40: 0, 60: 0, 80: 1, 105: 2, 140: 2}[width], "what can be spared is dropped first"
    assert " 7\n" not in text, "the number of shed tuples is in a column with a title"
    assert "shed" in text


def test_text_wraps_at_words_before_columns_are_dropped() -> None:
    table = FittedTable(
        (TableColumn("name"), TableColumn("what it does")), [("a", "one two three four five six seven eight")]
    )
    assert shown(table, 30) == [
        "name  what it does",
        "──────────────────────────────",
        "a     one two three four five",
        "      six seven eight",
    ]


def test_columns_are_dropped_by_rank() -> None:
    columns = (
        TableColumn("name"),
        TableColumn("some", number=True, spare=1),
        TableColumn("more", number=True, spare=2),
    )
    table = FittedTable(columns, [("alpha", "100 ms", "200 ms")])
    assert shown(table, 21)[0] == "name     some    more"
    assert shown(table, 20) == ["name     some", "─────────────", "alpha  100 ms"]
    assert shown(table, 12) == ["name", "─────", "alpha"]


def test_a_row_becomes_a_list_where_there_is_no_room_for_a_table() -> None:
    table = FittedTable(
        (TableColumn("name"), TableColumn("class"), TableColumn("mean", number=True)), [("alpha", "critical", "2 ms")]
    )
    assert shown(table, 20) == ["alpha", "  class critical", "  mean 2 ms"]


def test_cells_are_not_read_as_markup() -> None:
    table = FittedTable((TableColumn("a"), TableColumn("b")), [("[RANGE 1 HOUR]", Text("[bold]"))])
    assert shown(table, 40)[-1] == "[RANGE 1 HOUR]  [bold]"


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=8), st.integers(1, 200))
def test_widths_are_shared_out(columns: list[tuple[int, int]], width: int) -> None:
    natural, least = [max(pair) for pair in columns], [min(pair) for pair in columns]
    room = width - 2 * (len(columns) - 1)
    widths = share_out(natural, least, width)
    if widths is None:
        assert sum(least) > room
    else:
        assert all(low <= one <= high for low, one, high in zip(least, widths, natural, strict=True))
        assert sum(widths) == min(sum(natural), max(room, sum(least)))


def test_only_the_first_few_of_many_names_are_listed() -> None:
    assert first_few(["a", "b"]) == "a, b"
    assert first_few([str(n) for n in range(9)]) == "0, 1, 2, 3, 4, 5 and 3 more"
