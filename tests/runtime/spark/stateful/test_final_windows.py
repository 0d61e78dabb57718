"""emit: final gives each window once, as Spark computes it from all its rows, however rows are cut into calls."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate, Port
from headgate.plan.windows import Clock
from tests.runtime.spark.stateful.harness import Runner, cut

pytestmark = pytest.mark.spark
COLUMNS = "k INT, v INT, ts TIMESTAMP"
STREAM = Flow(Clock.EVENT)
SECOND = 10**6
END = 60 * SECOND
MERGED = {"n": "count(*)", "top": "max(v)"}
WHOLE = {"n": "count(*)", "all": "sort_array(collect_list(v))", "mean": "sum(v / 3.0D)"}
GROUPS = [
    {"w": "window(ts, '10 seconds')", "k": "k"},
    {"w": "window(ts, '10 seconds', '4 seconds', '1 second')"},
    {"k": "k", "w": "session_window(ts, '5 seconds')"},
    {"w": "session_window(ts, '2 seconds')"},
]


def rows(seed: int) -> list[tuple[Any, ...]]:
    rng = random.Random(seed)
    times = sorted(rng.randrange(0, 55) for _ in range(30))  # whole seconds: some are exactly one gap apart
    return [(rng.choice([1, 2, None]), rng.randrange(9), t * SECOND, n, n, t * SECOND) for n, t in enumerate(times)]


FEW = [(GROUPS[0], MERGED), (GROUPS[1], WHOLE), (GROUPS[2], MERGED), (GROUPS[3], WHOLE)]
MORE = [(GROUPS[0], WHOLE), (GROUPS[1], MERGED), (GROUPS[2], WHOLE), (GROUPS[3], MERGED)]


@pytest.mark.parametrize(("group", "values"), [*FEW, *[pytest.param(*case, marks=pytest.mark.soak) for case in MORE]])
def test_each_window_once(session: Any, group: dict[str, str], values: dict[str, str]) -> None:
    given = rows(len(group))
    op = Aggregate(id="q/a", inputs=(Port("a"),), group=group, values=values, emits="final")
    runner = Runner(session, op, [COLUMNS], [STREAM], compact=True)
    assert runner.prepared is not None
    assert runner.prepared.reason is None
    table = session.createDataFrame([row[:3] for row in given], "k INT, v INT, ts LONG")
    table.selectExpr("k", "v", "timestamp_micros(ts) AS ts").createOrReplaceTempView("final_rows")
    keys, outputs = ", ".join(group.values()), ", ".join(f"{e} AS {n}" for n, e in (group | values).items())
    spark_says = session.sql(f"SELECT {outputs} FROM final_rows GROUP BY {keys}").toArrow().to_pylist()
    closed = [row for row in spark_says if row["w"]["end"].timestamp() * SECOND <= END]
    assert closed
    for stops in ([END], [7 * SECOND, 8 * SECOND, 31 * SECOND, END], [*range(0, END, 3 * SECOND), END]):
        found = runner.run(cut([given], stops, [5], lambda n: n % 2)).to_pylist()
        assert Counter(_text(row, values, group) for row in found) == Counter(
            _text(row, values, group) for row in closed
        )
        assert all(row["_time"] == row["w"]["end"].timestamp() * SECOND for row in found)


def _text(row: dict[str, Any], values: dict[str, str], group: dict[str, str]) -> str:
    return repr([row[name] for name in (*group, *values)])


def test_closed_windows_are_forgotten(session: Any) -> None:
    for group in GROUPS[::2]:
        op = Aggregate(id="q/a", inputs=(Port("a"),), group=group, values=WHOLE, emits="final")
        runner = Runner(session, op, [COLUMNS], [STREAM], compact=True)
        runner.run(cut([rows(3)], [20 * SECOND, 80 * SECOND], [5], lambda n: 0))
        assert runner.log("open").num_rows == 0, group
