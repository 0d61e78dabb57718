"""aggregate against an evaluation instant by instant; sums of DOUBLE are equal to the last bit however rows are cut."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate, Port
from headgate.plan.windows import Clock, RangeWindow
from headgate.runtime.spark.stateful.chained import Chained
from headgate.runtime.spark.stateful.instant_tree import InstantTreeAggregate
from headgate.runtime.spark.stateful.panes import PaneAggregate
from headgate.runtime.spark.stateful.recompute import RecomputeAggregate
from headgate.runtime.spark.stateful.retracting import RetractingAggregate
from headgate.runtime.spark.stateful.running import RunningAggregate
from tests.runtime.spark.stateful import reference as ref
from tests.runtime.spark.stateful.harness import Runner, contents, cut, stream_content
from tests.runtime.spark.stateful.test_sets import END, RELATION, STREAM, cuts, window
from tests.tiers import only_nightly

pytestmark = pytest.mark.spark
COLUMNS = "k INT, v INT, d DOUBLE"
INSTANTS = range(-8, END + 1)
MONOTONE = Flow(Clock.LOGICAL, relation=True)


def rows(seed: int, count: int = 40) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    found: list[tuple[Any, ...]] = []
    for n in range(count):
        time = None if rng.random() < 0.05 else rng.choice([rng.randrange(-5, 12), rng.randrange(24, 30)])
        found.append((rng.choice([1, 2, None]), rng.choice([None, *range(9)]), rng.random() * 10**6, n, n, time))
    return found


def changes(seed: int, monotone: bool = False) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    found: list[tuple[Any, ...]] = []
    for n in range(25):
        values = (rng.choice([1, 2, None]), rng.choice([None, 3, 4]), rng.choice([0.1, 0.7, 1e9]))
        time, copies = rng.randrange(0, 25), rng.choice([1, 1, 2])
        until = ref.FOREVER if monotone else rng.choice([time + rng.randrange(1, 9), ref.FOREVER])
        found.append((*values, n, n, time, until, copies))
        if not monotone and until == ref.FOREVER and rng.random() < 0.7:
            found.append((*values, n, n, time + rng.randrange(0, 8), ref.FOREVER, -copies))
    return found


def known(values: list[Any]) -> list[Any]:
    return [v for v in values if v is not None]


# Each value in Spark SQL, and as a function of a list of rows (k, v, d).
VALUES: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "n": ("count(*)", len),
    "nv": ("count(v)", lambda g: len(known([r[1] for r in g]))),
    "total": ("sum(v)", lambda g: sum(known([r[1] for r in g])) if known([r[1] for r in g]) else None),
    "least": ("min(v)", lambda g: min(known([r[1] for r in g]), default=None)),
    "most": ("max(v)", lambda g: max(known([r[1] for r in g]), default=None)),
    "high": ("count_if(v > 4)", lambda g: sum(r[1] is not None and r[1] > 4 for r in g)),
    "some": ("any(v > 7)", lambda g: max([r[1] > 7 for r in g if r[1] is not None], default=None)),
    "all": ("every(v > 2)", lambda g: min([r[1] > 2 for r in g if r[1] is not None], default=None)),
    "big": ("count(*) FILTER (WHERE v > 3) + 1", lambda g: sum(r[1] is not None and r[1] > 3 for r in g) + 1),
    "mean": ("sum(v) / count(v)", lambda g: _mean(known([r[1] for r in g]))),
    "avg": ("avg(v)", lambda g: _mean(known([r[1] for r in g]))),
}
EXACT = {name: VALUES[name] for name in ("n", "nv", "total", "high", "big", "mean", "avg")}
WHOLE: dict[str, tuple[str, Callable[[list[Any]], Any]]] = {
    "kinds": ("count(DISTINCT v)", lambda g: len(set(known([r[1] for r in g])))),
    "list": ("sort_array(collect_list(v))", lambda g: sorted(known([r[1] for r in g]))),
    "n": ("count(*)", len),
}


def _mean(values: list[int]) -> float | None:
    return sum(values) / len(values) if values else None


def meaning(rows: Counter[Any], values: Any, grouped: bool, began: bool) -> Counter[str]:
    groups: dict[Any, list[Any]] = {} if grouped or not began else {None: []}
    for row in rows.elements():
        groups.setdefault(row[0] if grouped else None, []).append(row)
    found = [([k] if grouped else []) + [f(g) for _, f in values.values()] for k, g in groups.items()]
    return Counter(map(repr, found))


def wanted(relation: Any, values: Any, grouped: bool) -> dict[int, Counter[str]]:
    first = min((r[1] for r in relation if r[1] < r[2]), default=10**9)
    return {t: meaning(ref.at(relation, t), values, grouped, t >= first) for t in INSTANTS}


def operator(values: Any, grouped: bool, win: RangeWindow | None) -> Aggregate:
    return Aggregate(
        id="q/a",
        inputs=(Port("a"),),
        group={"g": "k"} if grouped else {},
        values={name: text for name, (text, _) in values.items()},
        window=win,
    )


# window or relation, values, the expected method, grouped
CASES: list[tuple[Any, Any, Any, bool]] = [
    ((6, 4), VALUES, PaneAggregate, True),
    ((3, 5), VALUES, PaneAggregate, False),
    ((None, 4), VALUES, RunningAggregate, False),
    ("monotone", VALUES, RunningAggregate, True),
    ((5, None), VALUES, InstantTreeAggregate, True),
    ("relation", VALUES, InstantTreeAggregate, False),
    ((5, None), EXACT, RetractingAggregate, False),
    ("relation", EXACT, RetractingAggregate, True),
    ((5, None), WHOLE, RecomputeAggregate, True),
    ("relation", WHOLE, RecomputeAggregate, False),
]
MORE: list[tuple[Any, Any, Any, bool]] = [
    ((6, 4), VALUES, PaneAggregate, False),
    ((4, 4), VALUES, PaneAggregate, True),
    ((3, 5), VALUES, PaneAggregate, True),
    ((None, None), VALUES, RunningAggregate, True),
    ((5, None), VALUES, InstantTreeAggregate, False),
    ((5, None), EXACT, RetractingAggregate, True),
    ("relation", EXACT, RetractingAggregate, False),
    ((6, 4), WHOLE, RecomputeAggregate, False),
    ((None, None), WHOLE, RecomputeAggregate, False),
    ("relation", VALUES, InstantTreeAggregate, True),
]


@pytest.mark.parametrize(
    "case",
    only_nightly(CASES + MORE, but=CASES),
    ids=lambda case: f"{case[0]}-{case[2].__name__}-{case[3]}-{len(case[1])}",
)
def test_meaning(session: Any, case: Any) -> None:
    shape, values, way, grouped = case
    if isinstance(shape, str):
        given, flow, win = changes(3, shape == "monotone"), MONOTONE if shape == "monotone" else RELATION, None
        relation = ref.intervals(given, 3, relation=True)
    else:
        given, flow, win = rows(1), STREAM, window(*shape)
        relation = ref.intervals(given, 3, *shape)
    op = operator(values, grouped, win)
    runner = Runner(session, op, [COLUMNS], [flow], compact=True)
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    assert isinstance(runner.stateful, way)
    want = wanted(relation, values, grouped)
    for calls in cuts([given], [5]):
        assert contents(runner.run(calls), INSTANTS) == want


EMITS = ["changes", "istream", "dstream", "rstream"]


@pytest.mark.parametrize(
    ("values", "emits"),
    [
        pytest.param(values, emits, marks=() if (values is EXACT) == (emits in EMITS[::2]) else pytest.mark.nightly)
        for values in (EXACT, WHOLE)
        for emits in EMITS
    ],
)
def test_an_aggregate_emits_its_own_changes_and_streams(session: Any, emits: Any, values: Any) -> None:
    """The same result as `changes` or `rstream` over the relation, but computed by the aggregate itself."""
    shape = (6, 4) if values is EXACT else (3, 5)
    for grouped in (True, False) if emits == "changes" else (True,):
        op = replace(operator(values, grouped, window(*shape)), emits=emits)
        relation = wanted(ref.intervals(rows(1), 3, *shape), values, grouped)
        _check_emitted(Runner(session, op, [COLUMNS], [STREAM], compact=True), relation, emits, shape[1])


def _check_emitted(runner: Runner, relation: Any, emits: str, slide: int) -> None:
    difference = ref.differences(lambda t: relation.get(t, Counter()), INSTANTS)
    for calls in cuts([rows(1)], [5])[:2]:
        results = runner.run(calls)
        if emits == "changes":
            assert contents(results, INSTANTS) == relation
            assert results.num_rows == sum((plus + minus).total() for plus, minus in difference.values())
            continue
        if emits == "rstream":
            want = {t: rows for t, rows in relation.items() if t % slide == 0}
        else:
            want = {t: pair[emits == "dstream"] for t, pair in difference.items()}
        flat = Counter({f"({row}, {t})": n for t, rows in want.items() for row, n in rows.items()})
        assert stream_content(results) == flat


def test_values_that_may_fail_or_have_odd_names(session: Any) -> None:
    """Values are computed only for groups that exist, by Spark's own functions, and under any name."""
    values = {
        "share": "100 / count(*)",
        "text": "to_char(sum(v), '99999.0')",
        "quoted": "count(*) FILTER (WHERE concat(v, '''') = '3''')",
        "_partial_0": "count(*)",
    }
    for more, way in (({}, PaneAggregate), ({"pairs": "map('n', count(*))"}, Chained)):
        op = Aggregate(
            id="q/a", inputs=(Port("a"),), group={"g": "k"}, values=values | more, window=window(4, 4), emits="changes"
        )
        runner = Runner(session, op, [COLUMNS], [STREAM])
        assert isinstance(runner.stateful, way)
        given = [(1, 3, 0.5, 0, 0, 1), (1, 4, 0.5, 1, 1, 2), (2, 3, 0.5, 2, 2, 6)]
        found = runner.run(cut([given], [3, 5, END], [5], lambda n: 0)).to_pylist()
        shown = sorted((r["_time"], r["_change"], r["g"], r["share"], r["text"].strip(), r["quoted"]) for r in found)
        first, second = (1, 50.0, "7.0", 1), (2, 100.0, "3.0", 1)
        assert shown == [(4, 1, *first), (8, -1, *first), (8, 1, *second), (12, -1, *second)]


SUMS = {"s": ("sum(d)", len), "a": ("avg(d)", len), "r": ("sum(d * 3) / sum(d)", len)}


@pytest.mark.parametrize("shape", only_nightly([(6, 4), (None, None), (5, None), "relation"], but=[(6, 4), "relation"]))
def test_sums_are_equal_to_the_last_bit_however_rows_are_cut(session: Any, shape: Any) -> None:
    if isinstance(shape, str):
        given, flow, win = changes(3), RELATION, None
    else:
        given, flow, win = rows(7, 60), STREAM, window(*shape)
    runner = Runner(session, operator(SUMS, True, win), [COLUMNS], [flow])
    found = [contents(runner.run(calls), INSTANTS) for calls in cuts([given], [5])]
    assert any(found[0].values())
    assert found[0] == found[1] == found[2]
    ordinary = Runner(session, operator(SUMS, True, win), [COLUMNS], [flow], single=False)
    assert contents(ordinary.run(cut([given], [9, END], [5], lambda n: 0)), INSTANTS) == found[0]


@pytest.mark.parametrize(
    "group",
    [
        {"w": "window(ts, '4 seconds')"},
        {"w": "window(ts, '4 seconds', '2 seconds')", "g": "k"},
        {"g": "k", "w": "session_window(ts, '3 seconds')"},
    ],
)
@pytest.mark.parametrize("win", only_nightly([(None, None), (9, None)], but=[(9, None)]))
def test_windows_of_spark(session: Any, group: dict[str, str], win: Any) -> None:
    """At each instant the values are those that Spark computes over the rows of that instant."""
    columns = "k INT, v INT, ts TIMESTAMP"
    rng = random.Random(5)
    given = [(rng.choice([1, None]), n, rng.randrange(0, 20) * 10**6, n, n, rng.randrange(0, 20)) for n in range(25)]
    values = {"n": "count(*)", "s": "sum(v)", "c": "max(v) + 1"}
    op = Aggregate(id="q/a", inputs=(Port("a"),), group=group, values=values, window=window(*win))
    runner = Runner(session, op, [columns], [STREAM])
    assert runner.prepared is not None
    assert runner.prepared.reason in (None, "its plan has a MergingSessionsExec")
    relation = ref.intervals(given, 3, *win)
    table = session.createDataFrame([(*r[0], r[1], r[2]) for r in relation], "k INT, v INT, ts LONG, a LONG, b LONG")
    table = table.selectExpr("k", "v", "timestamp_micros(ts) AS ts", "a", "b")
    table.createOrReplaceTempView("relation_rows")
    keys, outputs = ", ".join(group.values()), ", ".join(f"{e} AS {n}" for n, e in (group | values).items())
    found = [contents(runner.run(calls), INSTANTS) for calls in cuts([given], [5])[:2]]
    for t in (0, 3, 7, 12, 19, 26):
        query = f"SELECT {outputs} FROM relation_rows WHERE a <= {t} AND {t} < b GROUP BY {keys}"
        assert found[0][t] == Counter(repr(list(row.values())) for row in session.sql(query).toArrow().to_pylist())
    assert found[0] == found[1]


def test_types_equal_those_of_spark(session: Any) -> None:
    columns = "b TINYINT, f FLOAT, m DECIMAL(9,2), t STRING, k INT"
    values = {
        "a": "sum(b)",
        "c": "sum(f)",
        "e": "sum(m)",
        "h": "max(t)",
        "i": "round(avg(b), 1)",
        "j": "cast(count(*) AS INT)",
        "l": "sum(m) / count(*)",
        "o": "concat(max(t), '!')",
    }
    want = session.createDataFrame([], columns).selectExpr(*[f"{e} AS {n}" for n, e in values.items()]).schema
    for win in (window(6, 4), window(), window(5)):
        op = Aggregate(id="q/a", inputs=(Port("a"),), group={"k": "k"}, values=values, window=win)
        runner = Runner(session, op, [columns], [STREAM])
        assert runner.prepared is not None
        assert [f.dataType for f in runner.prepared.output_schema][1:-5] == [f.dataType for f in want]


def test_values_may_refer_to_groups(session: Any) -> None:
    for win, texts in ((window(6, 4), "k + count(*)"), (window(5), "k + count(DISTINCT v)")):
        op = Aggregate(id="q/a", inputs=(Port("a"),), group={"g": "k"}, values={"x": texts}, window=win)
        found = Runner(session, op, [COLUMNS], [STREAM]).run(cut([[(1, 2, 0.5, 0, 0, 4)]], [END], [5], lambda n: 0))
        assert found.to_pylist()[0]["x"] == 2


def test_decimals_keep_their_digits_when_rows_are_removed(session: Any) -> None:
    first, second = Decimal("1.0000000001"), Decimal("2.0000000002")
    given = [(first, 0, 0, 1, ref.FOREVER, 1), (second, 1, 1, 2, ref.FOREVER, 1), (first, 2, 2, 5, ref.FOREVER, -1)]
    for more in ({}, {"m": "max(d)"}):
        op = Aggregate(id="q/a", inputs=(Port("a"),), group={}, values={"s": "sum(d)"} | more)
        runner = Runner(session, op, ["d DECIMAL(18,10)"], [RELATION])
        found = contents(runner.run(cut([given], [3, END], [3], lambda n: 0)), [END])
        assert "3.0000000003" not in str(found)
        assert str(second) in str(found), found
