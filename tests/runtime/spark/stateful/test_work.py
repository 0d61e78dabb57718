"""What a call costs, without a clock: rows that pass through the operators of its plan, and the size of the plan.

A call over n changes may cost n log n rows, and a call over many boundaries only what its results cost. A plan may not
grow with the windows that a row is in. Each of these was violated once: 12,000 changes took a hundred seconds, and
windows of an hour that hop by a minute took five minutes.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame

from headgate.plan.flows import Flow
from headgate.plan.operators import Aggregate, Port
from headgate.plan.operators.base import Operator
from headgate.plan.windows import Clock
from headgate.runtime.spark.internals.row_counts import nodes
from tests.runtime.spark.stateful.harness import Call, Runner
from tests.runtime.spark.stateful.test_sets import RELATION, STREAM, window
from tests.tiers import only_nightly

pytestmark = pytest.mark.spark

COLUMNS = "k INT, v INT, d DOUBLE"
FEW, TIMES = 64, 8
LIVE = 16  # rows of the relation at a time
# n log n, from FEW to TIMES * FEW: 8 * 9 / 6 is 12; n * n would be 64.
MOST_GROWTH = 14.0


def work(frame: DataFrame) -> int:
    """Rows that the operators of a plan output in its last run, plus pairs that its joins compared."""
    return sum(_rows_out(node) + _compared(node) for node in nodes(frame._jdf.queryExecution().executedPlan()))


def _rows_out(node: Any) -> int:
    metric = node.metrics().get("numOutputRows")
    return int(metric.get().value()) if metric.isDefined() else 0


def _compared(node: Any) -> int:
    """Pairs of a join with a condition that is more than equality."""
    if "Join" not in node.getClass().getSimpleName() or node.condition().isEmpty():
        return 0
    left, right = (_rows_out(_counting(child)) for child in (node.left(), node.right()))
    return left * right


def _counting(node: Any) -> Any:
    """The node, or the nearest below it, that counts its rows."""
    while not node.metrics().get("numOutputRows").isDefined():
        node = node.children().apply(0)
    return node


def updates(count: int, live: int | None) -> list[tuple[Any, ...]]:
    """At each instant a row is added, and the one added `live` instants before is removed."""
    found: list[tuple[Any, ...]] = []
    for at in range(count):
        found.append((at % 3, at % 7, at / 4, 0, at, at, 2**63 - 1, 1))
        if live is not None and at >= live:
            gone = at - live
            found.append((gone % 3, gone % 7, gone / 4, 0, at, at, 2**63 - 1, -1))
    return found


def aggregate(values: str, grouped: bool, win: Any = None) -> Aggregate:
    group = {"g": "k"} if grouped else {}
    return Aggregate(id="q/a", inputs=(Port("a"),), group=group, values={"x": values}, window=win)


def work_of_updates(session: Any, operator: Operator, live: int | None) -> list[int]:
    runner = Runner(session, operator, [COLUMNS], [RELATION])
    assert runner.prepared is not None
    found = []
    for count in (FEW, FEW * TIMES):
        runner.run([Call([updates(count, live)], count)])
        found.append(work(runner.prepared.frame))
    return found


def case(values: str, grouped: bool, live: int | None) -> tuple[str, bool, int | None]:
    return values, grouped, live


GROWING = case("max(v)", True, None)
PASSING = case("count(DISTINCT v)", False, LIVE)
CASES = [
    GROWING,
    PASSING,
    case("max(v)", False, LIVE),
    case("sum(v)", False, None),
    case("sum(v)", True, LIVE),
    case("sum(d)", True, LIVE),
    case("sort_array(collect_list(v))", True, LIVE),
]


@pytest.mark.parametrize("case", only_nightly(CASES, but=[GROWING, PASSING]), ids=str)
def test_a_call_over_many_changes(session: Any, case: tuple[str, bool, int | None]) -> None:
    values, grouped, live = case
    few, many = work_of_updates(session, aggregate(values, grouped), live)
    assert few > FEW
    assert many < MOST_GROWTH * few


@pytest.mark.parametrize("emits", ["relation", "final"])
def test_a_plan_does_not_grow_with_the_windows_of_a_row(session: Any, emits: Any) -> None:
    counts, lengths = set(), []
    for slide in ("30 minutes", "5 seconds"):  # 2 and 720 windows
        group = {"w": f"window(at, '1 hour', '{slide}')"}
        operator = Aggregate(id="q/a", inputs=(Port("a"),), group=group, values={"n": "count(*)"}, emits=emits)
        plan = list(nodes(executed_plan(session, operator, "at TIMESTAMP", Flow(Clock.EVENT))))
        counts.add(len(plan))
        lengths.append(sum(len(node.expressions().toString()) for node in plan))
    assert len(counts) == 1
    assert max(lengths) < 1.3 * min(lengths)  # the numbers of columns may have more or fewer digits


def executed_plan(session: Any, operator: Operator, columns: str, flow: Flow) -> Any:
    """The executed plan of a call without rows."""
    runner = Runner(session, operator, [columns], [flow])
    assert runner.prepared is not None
    return runner.prepared.frame._jdf.queryExecution().executedPlan()


@pytest.mark.parametrize("win", only_nightly([window(8, 2), window(8), window(200, 1)], but=[window(8, 2)]), ids=str)
def test_boundaries_at_which_nothing_happens_cost_nothing(session: Any, win: Any) -> None:
    runner = Runner(session, aggregate("max(v)", True, win), [COLUMNS], [STREAM])
    assert runner.prepared is not None
    found = []
    for gap in (1_000, 1_000_000):
        rows = [(1, at, 0.5, 0, at, at * gap) for at in range(3)]
        results = runner.run([Call([rows], 3 * gap)])
        found.append((work(runner.prepared.frame), results.num_rows))
    assert found[0] == found[1]
