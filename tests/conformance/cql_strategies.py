"""Random queries in CQL and random streams, for tests that must hold for all of them.

Every query has the columns k and x, so that any of them can appear in the FROM of another.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.conformance.cql_runs import Data, Row

LENGTHS = st.integers(1, 9)
SIGNS = ("<", "<=", "=", "<>", ">", ">=")


class Item(NamedTuple):
    """An item of FROM: its text without alias, and its second column. `stream`: whether it may have a window."""

    text: str
    value: str
    stream: bool
    ordered: bool = False  # tuples of one instant have an order, so ROWS is well defined


@st.composite
def windows(draw: st.DrawFn, rows: bool) -> str:
    kinds = ["", "now", "range", "range", "slide", "forever"] + (["rows", "rows slide", "partition"] if rows else [])
    kind = draw(st.sampled_from(kinds))
    a, b = draw(LENGTHS), draw(st.integers(1, 6))
    return {
        "": "",
        "now": " [NOW]",
        "range": f" [RANGE {a}]",
        "slide": f" [RANGE {a} SLIDE {b}]",
        "forever": " [RANGE UNBOUNDED]",
        "rows": f" [ROWS {b}]",
        "rows slide": f" [ROWS {a} SLIDE {b}]",
        "partition": f" [PARTITION BY k ROWS {b}]",
    }[kind]


@st.composite
def items(draw: st.DrawFn, alias: str, depth: int, names: tuple[Item, ...]) -> tuple[str, str]:
    """An item of FROM with its alias, and the name of its second column."""
    base = [Item("s", "v", True, True), Item("r", "w", True, True), Item("c", "p", False), *names]
    found = draw(st.sampled_from([*base, *base[:2]]))
    if depth and draw(st.integers(0, 3)) == 0:
        text, stream = draw(queries(depth - 1, names))
        found = Item(f"({text})", "x", stream)
    window = draw(windows(found.ordered)) if found.stream else ""
    return f"{found.text}{window} AS {alias}", f"{alias}.{found.value}"


@st.composite
def conditions(draw: st.DrawFn, *values: str) -> str:
    value = draw(st.sampled_from(values))
    other = draw(st.sampled_from([str(draw(st.integers(0, 9))), *values]))
    return draw(
        st.sampled_from(
            [
                f"{value} {draw(st.sampled_from(SIGNS))} {other}",
                f"{value} % 2 = 0",
                f"{value} IS NOT NULL",
                f"{value} > 2",
            ]
        )
    )


@st.composite
def queries(draw: st.DrawFn, depth: int = 1, names: tuple[Item, ...] = ()) -> tuple[str, bool]:
    """The text of a query, and whether its result is a stream."""
    text, stream = draw(plain(depth, names))
    function = draw(st.sampled_from(["", "", "", "ISTREAM", "DSTREAM", "RSTREAM"]))
    return (f"{function}({text})", True) if function else (text, stream)


@st.composite
def plain(draw: st.DrawFn, depth: int, names: tuple[Item, ...]) -> tuple[str, bool]:
    kind = draw(
        st.sampled_from(["select", "group", "group", "one", "distinct", "set", "join", "join", "table", "left"])
    )
    item, value = draw(items("a", depth, names))
    where = f" WHERE {draw(conditions('a.k', value))}" if draw(st.booleans()) else ""
    if kind == "select":
        return f"SELECT a.k, {value} + 1 AS x FROM {item}{where}", _is_stream(item, names)
    if kind == "group":
        total = draw(
            st.sampled_from(["count(*)", "count({})", "sum({})", "min({})", "max({})", "avg({})", "count(DISTINCT {})"])
        )
        having = draw(st.sampled_from(["", " HAVING count(*) > 1", f" HAVING max({value}) > 3"]))
        return f"SELECT a.k, {total.format(value)} AS x FROM {item}{where} GROUP BY a.k{having}", False
    if kind == "one":
        return f"SELECT count(*) AS k, sum({value}) AS x FROM {item}{where}", False
    if kind == "distinct":
        return f"SELECT DISTINCT a.k, {value} % 3 AS x FROM {item}{where}", False
    other, theirs = draw(items("b", depth, names))
    if kind == "set":
        word = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "EXCEPT ALL", "INTERSECT", "INTERSECT ALL"]))
        both = _is_stream(item, names) and _is_stream(other, names) and word == "UNION ALL"
        return f"SELECT a.k, {value} AS x FROM {item}{where} {word} SELECT b.k, {theirs} AS x FROM {other}", both
    if kind == "table":
        text = f"SELECT a.k, p.floor AS x FROM {item}, places AS p WHERE a.k = p.k"
        return text, _is_stream(item, names)
    if kind == "left":
        return f"SELECT a.k, p.floor AS x FROM {item} LEFT JOIN places AS p ON a.k = p.k{where}", _is_stream(
            item, names
        )
    on = draw(st.sampled_from(["a.k = b.k", f"{value} < {theirs}", f"a.k = b.k AND {value} <> {theirs}"]))
    if draw(st.integers(0, 3)) == 0:
        third, _ = draw(items("d", 0, names))
        return f"SELECT a.k, {theirs} AS x FROM {item}, {other}, {third} WHERE {on} AND b.k = d.k", False
    return f"SELECT a.k, {theirs} AS x FROM {item} JOIN {other} ON {on}", False


def _is_stream(item: str, names: tuple[Item, ...]) -> bool:
    """Whether an item of FROM is an unbounded stream."""
    source = item.removesuffix(" AS a").removesuffix(" AS b").removesuffix(" [RANGE UNBOUNDED]")
    return source in ("s", "r") or any(source == known.text and known.stream for known in names)


@st.composite
def applications(draw: st.DrawFn, most: int = 3, depth: int = 1) -> dict[str, str]:
    """Queries by name; each may read those before it."""
    made: dict[str, str] = {}
    names: tuple[Item, ...] = ()
    for number in range(draw(st.integers(1, most))):
        text, stream = draw(queries(depth, names))
        made[f"q{number}"] = text
        names += (Item(f"q{number}", "x", stream),)
    return made


@st.composite
def rows(draw: st.DrawFn, most: int = 14) -> list[Row]:
    """Rows of s or r: times rise and sometimes fall a little, so that some rows are late; a few have no time."""
    found: list[Row] = []
    clock = 0
    keys, values = st.none() | st.integers(0, 3), st.none() | st.integers(0, 9)
    for step in draw(st.lists(st.integers(-3, 5), max_size=most)):
        clock = max(0, clock + step)
        found.append((draw(keys), draw(values), clock if draw(st.integers(0, 15)) else None))
    return found


@st.composite
def data(draw: st.DrawFn) -> Data:
    present: list[Row] = []
    changes: list[tuple[Row, int]] = []
    clock = 0
    for step in draw(st.lists(st.integers(0, 4), max_size=10)):
        clock += step
        if present and draw(st.booleans()):
            removed = present.pop(draw(st.integers(0, len(present) - 1)))
            changes.append(((*removed[:-1], clock), -1))
        else:
            row: Row = (draw(st.none() | st.integers(0, 3)), draw(st.integers(0, 9)), clock)
            present.append(row)
            changes.append((row, 1))
    streams: dict[str, Any] = {"s": draw(rows()), "r": draw(rows()), "c": [row for row, _ in changes]}
    return Data(streams, [sign for _, sign in changes])
