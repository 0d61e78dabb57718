"""join, rows windows and rstream against an evaluation instant by instant."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headgate.plan.flows import Flow
from headgate.plan.operators import Port, RowWindow, RStream, StreamJoin
from headgate.plan.windows import Clock, RangeWindow, RowsWindow, Span
from tests.runtime.spark.stateful import reference as ref
from tests.runtime.spark.stateful.harness import Call, Runner, contents, cut, stream_content
from tests.runtime.spark.stateful.test_sets import COLUMNS, END, RELATION, STREAM, changes, cuts, rows, window
from tests.tiers import only_nightly

pytestmark = pytest.mark.spark
INSTANTS = range(-8, END + 1)
NAMES = ({"lk": "k", "ls": "s"}, {"rk": "k", "rs": "s"})


@pytest.mark.parametrize("condition", ["lk = rk AND coalesce(ls, '') <= coalesce(rs, '')", "lk < rk", ""])
def test_join(session: Any, condition: str) -> None:
    def fits(a: Any, b: Any) -> bool:
        if condition.startswith("lk = rk"):
            return a[0] is not None and a[0] == b[0] and (a[1] or "") <= (b[1] or "")
        return not condition or (a[0] is not None and b[0] is not None and a[0] < b[0])

    for kind in ("range", "slide", "relation"):
        if kind == "relation":
            given, flows, wins = [changes(5), changes(6)], [RELATION] * 2, (None, None)
            sides = [ref.intervals(g, 2, relation=True) for g in given]
        else:
            given, flows = [rows(1), rows(2)], [STREAM] * 2
            lengths = [(5, None), (3, None)] if kind == "range" else [(6, 4), (4, 4)]
            wins = tuple(window(*x) for x in lengths)
            sides = [ref.intervals(g, 2, *x) for g, x in zip(given, lengths, strict=True)]
        op = StreamJoin(
            id="q/j",
            inputs=(Port("a"), Port("b")),
            left=NAMES[0],
            right=NAMES[1],
            condition=condition,
            left_window=wins[0],
            right_window=wins[1],
        )
        runner = Runner(session, op, [COLUMNS] * 2, flows, compact=kind == "relation")
        assert runner.prepared is not None
        assert runner.prepared.reason is None
        wanted = {}
        for t in INSTANTS:
            left, right = (ref.at(side, t) for side in sides)
            pairs = {(*a, *b): n * m for a, n in left.items() for b, m in right.items() if fits(a, b)}
            wanted[t] = ref.text(Counter(pairs))
        for calls in cuts(given, [4, 4]):
            assert contents(runner.run(calls), INSTANTS) == wanted


def positions(given: list[Any], win: RowsWindow) -> tuple[list[ref.Interval], list[Any]]:
    """The relation of a rows window, and the tuples that reach its boundaries."""
    in_order = sorted((r for r in given if r[4] is not None), key=lambda r: (r[4], r[3]))
    parts: dict[Any, list[Any]] = {}
    for row in in_order:
        parts.setdefault(row[0] if win.partition else None, []).append(row)
    found, boundaries = [], []
    for part in parts.values():
        for p, row in enumerate(part, start=1):
            enter = -(-p // win.slide) * win.slide
            leave = -(-(p + win.count) // win.slide) * win.slide
            if p % win.slide == 0:
                boundaries.append(row)
            if enter <= len(part):
                until = part[leave - 1][4] if leave <= len(part) else ref.FOREVER
                found.append((row[:2], part[enter - 1][4], until, 1))
    return found, boundaries


@pytest.mark.parametrize(
    ("count", "partition"),
    [
        ((1, 1), ()),
        ((5, 2), ("K",)),
        *[
            pytest.param(*case, marks=pytest.mark.nightly)
            for case in (((3, 1), ("K",)), ((5, 2), ()), ((2, 3), ("K",)))
        ],
    ],
)
def test_row_window(session: Any, count: tuple[int, int], partition: tuple[str, ...]) -> None:
    win = RowsWindow(*count, partition)
    given = rows(9, 50)
    relation, boundaries = positions(given, win)
    op = RowWindow(id="q/w", inputs=(Port("a"),), window=win)
    runner = Runner(session, op, [COLUMNS], [STREAM], compact=True)
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    wanted = {t: ref.text(ref.at(relation, t)) for t in INSTANTS}
    for calls in cuts([given], [4]):
        assert contents(runner.run(calls), INSTANTS) == wanted
        left = runner.log("placed").num_rows
        assert left <= (count[0] + count[1]) * (3 if partition else 1)
    op = RowWindow(id="q/w", inputs=(Port("a"),), window=win, boundaries=True)
    runner = Runner(session, op, [COLUMNS], [STREAM], compact=True)
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    for calls in cuts([given], [4]):
        assert stream_content(runner.run(calls)) == Counter(repr((list(r[:2]), r[4])) for r in boundaries)


@pytest.mark.parametrize("kind", only_nightly(["tuples", "slides", "both", "relation"], but=["both", "relation"]))
def test_rstream(session: Any, kind: str) -> None:
    slides = () if kind == "tuples" else (Span(4), Span(6))
    length = 5
    given = [changes(3) if kind == "relation" else rows(1, 15), *([] if kind == "slides" else [rows(2, 12)])]
    flows = [RELATION if kind == "relation" else STREAM, *[STREAM for _ in given[1:]]]
    win = None if kind == "relation" else window(length)
    relation = ref.intervals(given[0], 2, length, relation=kind == "relation")
    triggers = {r[4] for g in given[1:] for r in g if r[4] is not None}
    triggers |= {t for t in INSTANTS for s in slides if t % int(s.amount) == 0}
    want: Counter[str] = Counter()
    for t in triggers:
        for values, n in ref.at(relation, t).items():
            want[repr((list(values), t))] += n
    op = RStream(id="q/r", inputs=tuple(Port(str(i)) for i in range(len(given))), window=win, slides=slides)
    runner = Runner(session, op, [COLUMNS] * len(given), flows, compact=True)
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    for calls in cuts(given, [4] * len(given)):
        assert stream_content(runner.run(calls)) == want


def test_several_partitions_give_the_same(session: Any) -> None:
    given = [changes(5), changes(6)]
    op = StreamJoin(id="q/j", inputs=(Port("a"), Port("b")), left=NAMES[0], right=NAMES[1], condition="lk = rk")
    calls = cut(given, [7, END], [4, 4], lambda n: n % 2)
    found = [Runner(session, op, [COLUMNS] * 2, [RELATION] * 2, single=s).run(calls) for s in (True, False)]
    assert contents(found[0], INSTANTS) == contents(found[1], INSTANTS)
    ops = [
        RowWindow(id="q/w", inputs=(Port("a"),), window=RowsWindow(3, 2, ("k",))),
        RowWindow(id="q/w", inputs=(Port("a"),), window=RowsWindow(3, 2)),
    ]
    for row_op in ops:
        both = [
            Runner(session, row_op, [COLUMNS], [STREAM], single=s).run(cut([rows(4)], [7, END], [4], lambda n: 0))
            for s in (True, False)
        ]
        assert contents(both[0], INSTANTS) == contents(both[1], INSTANTS)


def test_lengths_on_time_clocks_are_microseconds(session: Any) -> None:
    """Windows of 1 and 2 seconds over rows at 0 and 500,000 us."""
    flow = Flow(Clock.EVENT)
    op = StreamJoin(
        id="q/j",
        inputs=(Port("a"), Port("b")),
        left={"a": "k"},
        right={"b": "k"},
        condition="a = b",
        left_window=RangeWindow(Span(1, "seconds")),
        right_window=RangeWindow(Span(2, "seconds")),
    )
    runner = Runner(session, op, ["k INT"] * 2, [flow, flow])
    found = runner.run([Call([[(1, 0, 0, 0)], []], 10), Call([[], [(1, 5, 5, 500_000)]], 10**6)])
    assert found.select(["_time", "_until"]).to_pylist() == [{"_time": 500_000, "_until": 1_000_000}]
