"""What Spark's analyzer is asked: once for each shape of an operator, however many queries have it."""

from typing import Any

import pytest

from headgate.runtime.spark.analysis import schemas
from headgate.runtime.spark.calls.composer import Composer
from headgate.runtime.spark.internals.row_counts import Markers
from headgate.runtime.spark.launch.session import own_session
from tests.applications import application

pytestmark = pytest.mark.spark

SHAPES = {
    "large": "SELECT k, v FROM {s} WHERE v > 0.5",
    "larger": "SELECT k, v FROM {s} WHERE v > 0.6",
    "counts": "SELECT k, count(*) AS n FROM {s} [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k",
    "sums": "SELECT k, sum(v) AS n FROM {s} [RANGE 1 SECOND SLIDE 1 SECOND] GROUP BY k",
    "kinds": "SELECT DISTINCT k FROM {s} [RANGE 2 SECONDS]",
}


def app_of(copies: int) -> Any:
    streams = {f"s{n}": "k INT, v DOUBLE" for n in range(copies)}
    queries = {f"{name}{n}": text.format(s=f"s{n}") for n in range(copies) for name, text in SHAPES.items()}
    return application(streams | {"other": "k BIGINT, v DOUBLE"}, queries | {"odd": SHAPES["large"].format(s="other")})


def test_equal_operators_are_analyzed_once(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    outputs, step = Composer.outputs, Composer.step

    def counted(how: Any) -> Any:
        def ask(self: Composer, operator: Any, *more: Any) -> Any:
            asked.append(operator.id)
            return how(self, operator, *more)

        return ask

    monkeypatch.setattr(Composer, "outputs", counted(outputs))
    monkeypatch.setattr(Composer, "step", counted(step))
    session, few = own_session(spark), []
    for copies in (1, 20):
        plan = app_of(copies).checked().plan
        asked.clear()
        found = schemas.typed(session, plan, {}, Markers(plan))
        few.append(len(asked))
        assert found.schemas.keys() == plan.schemas.keys()
        assert found.single.keys() == found.spread.keys() == {n for n, one in plan.operators.items() if one.stateful}
    assert few[0] == few[1]


def test_a_copy_is_typed_as_if_it_were_alone(spark: Any) -> None:
    """In particular, those that read another type, or have another constant, are not taken for copies."""
    session = own_session(spark)
    plan = app_of(2).checked().plan
    together = schemas.typed(session, plan, {}, Markers(plan))
    for name, query in plan.queries.items():
        alone = plan.without([other for other in plan.queries if other != name])
        found = schemas.typed(session, alone, {}, Markers(alone))
        for operator in query.operators:
            for port in plan.operators[operator].ports:
                assert found.schemas[port] == together.schemas[port]
            if plan.operators[operator].stateful:
                assert found.single[operator].logs == together.single[operator].logs
                assert found.spread[operator].logs == together.spread[operator].logs
