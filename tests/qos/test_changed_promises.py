"""The optimizer when promises and tolerances change during a run."""

from __future__ import annotations

from functools import partial

import pytest

from headgate.plan.model import Edge
from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.monitoring import Monitoring
from headgate.qos.optimizer import Optimizer
from headgate.qos.settings import OptimizerSettings, make_optimizer
from headgate.runtime.spark.promises import shedding_steps
from headgate.scheduling.events import (
    Event,
    QueryLingerChanged,
    QueryQosChanged,
    QueryToleranceChanged,
    SheddingChanged,
)
from tests.conformance.plans import feeder, make_plan, project
from tests.scheduling.driven_core import DrivenCore
from tests.scheduling.test_changes import rows

OFTEN = Monitoring(checks=10, shortest_s=1.0, longest_s=1.0)
EDGE = Edge("a/p", 0)


def promise(seconds: float) -> tuple[QosMeasure, ...]:
    return (QosMeasure("latency", "must", QosGraph(((0.0, seconds), (60.0, seconds)))),)


class Watched:
    """A core with an optimizer, as the Spark runtime has them."""

    def __init__(self) -> None:
        plan = make_plan({"s": feeder()}, [project("a/p", "s", cost=0.001)], {"a": "a/p"})
        self.driven = DrivenCore(plan)
        self.core = self.driven.core
        settings = OptimizerSettings("none", monitoring=OFTEN)
        steps = partial(shedding_steps, self.core, 1)
        self.optimizer: Optimizer = make_optimizer(self.core.board, settings, "fifo", 0, steps, 0.005)

    def handle(self, event: Event) -> list[Event]:
        """As `SparkRuntime`: tell the core, then the optimizer; returns what it decided."""
        self.driven.handle(event)
        self.optimizer.set_plan()
        return self.review()

    def review(self) -> list[Event]:
        if self.core.board.now < self.optimizer.next:
            return []
        changes = self.optimizer.review()
        for change in changes:
            self.driven.handle(change)
        return changes

    def late(self, at: float) -> list[Event]:
        """Tuples wait for far too long."""
        self.driven.now = self.core.board.now = at
        return self.review()

    @property
    def kinds(self) -> list[str]:
        return [one["kind"] for one in self.optimizer.as_data()]


@pytest.fixture
def shedding() -> Watched:
    """A query whose promise is broken, so that something is dropped."""
    found = Watched()
    found.handle(QueryToleranceChanged(0.0, "a", 0.5, None))
    found.handle(QueryQosChanged(0.0, "a", promise(0.001)))
    found.driven.arrive({"s": rows(0, 10)})
    changes = found.late(1.5)
    assert [type(one) for one in changes if isinstance(one, SheddingChanged)] == [SheddingChanged]
    assert found.core.shedders[EDGE].extra > 0
    return found


def test_without_promises_nothing_is_dropped_any_more_and_nothing_is_watched(shedding: Watched) -> None:
    changes = shedding.handle(QueryQosChanged(1.6, "a", ()))
    assert [(one.edge, one.extra) for one in changes if isinstance(one, SheddingChanged)][-1] == (EDGE, 0)
    assert shedding.core.shedders[EDGE].extra == 0
    assert shedding.kinds[-1] == "stop shedding"
    assert "nothing is promised any more" in shedding.optimizer.as_data()[-1]["reason"]
    assert shedding.optimizer.scores() == {}
    assert shedding.late(50.0) == []


def test_without_a_tolerance_nothing_is_dropped_however_late_it_is(shedding: Watched) -> None:
    shedding.handle(QueryToleranceChanged(1.6, "a", None, None))
    assert shedding.core.shedders == {}
    assert shedding.kinds[-1] == "stop shedding"
    decided = len(shedding.kinds)
    for at in (3.0, 5.0, 9.0):
        assert not [one for one in shedding.late(at) if isinstance(one, SheddingChanged)]
    assert len(shedding.kinds) == decided


def test_a_query_that_is_given_a_tolerance_can_be_shed() -> None:
    found = Watched()
    found.handle(QueryQosChanged(0.0, "a", promise(0.001)))
    found.driven.arrive({"s": rows(0, 10)})
    assert not [one for one in found.late(1.5) if isinstance(one, SheddingChanged)]
    found.handle(QueryToleranceChanged(1.6, "a", 0.5, None))
    assert [one for one in found.late(3.0) if isinstance(one, SheddingChanged)]


def test_another_promise_counts_from_the_next_look_and_keeps_what_is_dropped(shedding: Watched) -> None:
    before = shedding.core.shedders[EDGE].extra
    assert not shedding.handle(QueryQosChanged(1.6, "a", promise(100.0)))
    assert shedding.core.shedders[EDGE].extra == before
    changes = shedding.late(3.0)
    assert [one for one in changes if isinstance(one, SheddingChanged)], "the promise is kept by far: less is dropped"
    assert shedding.core.shedders[EDGE].extra < before
    assert shedding.kinds[-1] == "shed less"
    assert shedding.optimizer.score_of("a")["periods"] == 2  # type: ignore[index]


def test_a_linger_that_the_optimizer_chose_goes_with_the_promise() -> None:
    found = Watched()
    found.handle(QueryQosChanged(0.0, "a", promise(1.0)))
    found.driven.arrive({"s": rows(0, 1)})
    found.driven.drain()
    found.late(1.5)
    chosen = found.core.plan.linger_s("a")
    assert chosen is not None
    found.handle(QueryQosChanged(1.6, "a", promise(20.0)))
    found.driven.arrive({"s": rows(1, 1)})
    found.driven.drain()
    found.late(3.0)
    assert found.core.plan.linger_s("a") != chosen, "it is still the optimizer's to choose"
    changes = found.handle(QueryQosChanged(3.1, "a", ()))
    assert changes == [QueryLingerChanged(3.1, "a", None)]
    assert found.core.plan.linger_s("a") is None
