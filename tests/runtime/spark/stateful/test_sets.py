"""changes, istream, dstream, distinct, except, intersect against an evaluation instant by instant."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from headgate.plan.flows import Flow
from headgate.plan.operators import Changes, Distinct, Except, Intersect, Operator, Port
from headgate.plan.windows import Clock, RangeWindow, Span
from tests.runtime.spark.stateful import reference as ref
from tests.runtime.spark.stateful.harness import Call, Runner, contents, cut, stream_content

pytestmark = pytest.mark.spark
COLUMNS = "k INT, s STRING"
STREAM = Flow(Clock.LOGICAL)
RELATION = Flow(Clock.LOGICAL, relation=True, expires=True, retracts=True)
END = 40
P = (Port("a"), Port("b"))


def rows(seed: int, count: int = 40) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    found: list[tuple[Any, ...]] = []
    for n in range(count):
        time = None if rng.random() < 0.05 else rng.randrange(-5, 30)
        found.append((rng.choice([1, 2, None]), rng.choice(["x", None]), n, n, time))
    return found


def changes(seed: int, count: int = 25) -> list[tuple[Any, ...]]:
    """Rows of a relation: some have an end, some are removed later."""
    rng = random.Random(seed)
    found: list[tuple[Any, ...]] = []
    for n in range(count):
        time, copies = rng.randrange(0, 25), rng.choice([1, 1, 2])
        values = (rng.choice([1, 2, None]), rng.choice(["x", None]))
        until = rng.choice([time + rng.randrange(1, 9), ref.FOREVER])
        found.append((*values, n, n, time, until, copies))
        if until == ref.FOREVER and rng.random() < 0.7:
            found.append((*values, n, n, time + rng.randrange(0, 8), ref.FOREVER, -copies))
    return found


def cuts(inputs: list[list[tuple[Any, ...]]], time_at: list[int]) -> list[list[Call]]:
    return [
        cut(inputs, [END], time_at, lambda n: 0),
        cut(inputs, [*range(-6, END, 6), END], time_at, lambda n: n % 3),
        cut(inputs, [3, 4, 15, 16, END], time_at, lambda n: n % 2),
    ]


def window(length: int | None = None, slide: int | None = None) -> RangeWindow:
    return RangeWindow(Span(length) if length else None, Span(slide) if slide else None)


WINDOWS = [(None, None), (1, None), (5, None), (6, 4), (3, 5), (None, 4)]


@pytest.mark.parametrize("mode", ["changes", "istream", "dstream"])
def test_changes(session: Any, mode: Any) -> None:
    for length, slide in WINDOWS if mode == "changes" else WINDOWS[1:4]:
        given = rows(1)
        relation = ref.intervals(given, 2, length, slide)
        op = Changes(id="q/c", inputs=P[:1], mode=mode, window=window(length, slide))
        _check_changes(session, op, STREAM, given, relation, mode)
    given = changes(2)
    op = Changes(id="q/c", inputs=P[:1], mode=mode)
    _check_changes(session, op, RELATION, given, ref.intervals(given, 2, relation=True), mode)


def _check_changes(session: Any, op: Operator, flow: Flow, given: Any, relation: Any, mode: str) -> None:
    runner = Runner(session, op, [COLUMNS], [flow])
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    instants = range(-8, END + 1)
    difference = ref.differences(lambda t: ref.at(relation, t), instants)
    for calls in cuts([given], [4]):
        results = runner.run(calls)
        if mode == "changes":
            assert set(results["_change"].to_pylist()) <= {1, -1}
            wanted = {t: ref.text(ref.at(relation, t)) for t in instants}
            assert contents(results, instants) == wanted
            assert results.num_rows == sum((p + m).total() for p, m in difference.values())
        else:
            which = 0 if mode == "istream" else 1
            want = Counter({repr((list(v), t)): n for t, pair in difference.items() for v, n in pair[which].items()})
            assert stream_content(results) == want


def meaning(op: Operator, first: Counter[Any], second: Counter[Any]) -> Counter[Any]:
    match op:
        case Distinct():
            return Counter(set(first))
        case Except(all=True):
            return first - second
        case Except():
            return Counter(set(first) - set(second))
        case Intersect(all=True):
            return first & second
    return Counter(set(first) & set(second))


@pytest.mark.parametrize(
    ("kind", "compact"),
    [("distinct", False), *[(k, True) for k in ("distinct", "except", "except all", "intersect", "intersect all")]],
)
def test_sets(session: Any, kind: str, compact: bool) -> None:
    for length, slide in [(5, None), (6, 4)] if not compact else [(None, None)]:
        given = [rows(3), rows(4)]
        relations = [ref.intervals(g, 2, length, slide) for g in given]
        _check_sets(session, kind, [STREAM, STREAM], given, relations, window(length, slide), compact)
    given = [changes(5), changes(6)]
    _check_sets(
        session, kind, [RELATION, RELATION], given, [ref.intervals(g, 2, relation=True) for g in given], None, compact
    )


def _check_sets(session: Any, kind: str, flows: Any, given: Any, relations: Any, win: Any, compact: bool) -> None:
    if kind == "distinct":
        op: Operator = Distinct(id="q/d", inputs=P[:1], window=win)
        flows, given, relations = flows[:1], given[:1], relations[:1]
    else:
        make = Except if kind.startswith("except") else Intersect
        op = make(id="q/d", inputs=P, all=kind.endswith("all"), left_window=win, right_window=win)
    runner = Runner(session, op, [COLUMNS] * len(flows), flows, compact=compact)
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    instants = range(-8, END + 1)
    wanted = {t: ref.text(meaning(op, *([ref.at(r, t) for r in relations] + [Counter()])[:2])) for t in instants}
    for calls in cuts(given, [4] * len(given)):
        assert contents(runner.run(calls), instants) == wanted


def test_several_partitions_give_the_same(session: Any) -> None:
    given = [changes(7), changes(8)]
    op = Except(id="q/e", inputs=P, all=True)
    calls = cut(given, [7, 20, END], [4, 4], lambda n: n % 2)
    alike = [
        contents(Runner(session, op, [COLUMNS] * 2, [RELATION] * 2, single=s).run(calls), range(END))
        for s in (True, False)
    ]
    assert alike[0] == alike[1]
