"""wrr and mtiq, decision by decision."""

import pytest

from headgate.plan.operators import Declared, Port, TableJoin
from tests.conformance.plans import feeder, make_plan, project
from tests.conformance.strategies import TABLE
from tests.policies.boards import PolicyHarness


def chain(*costs):
    operators = [project(f"q/{at}", f"q/{at - 1}" if at else "s", cost) for at, cost in enumerate(costs)]
    return make_plan({"s": feeder()}, operators, {"q": f"q/{len(costs) - 1}"})


def with_join():
    joined = TableJoin(
        id="q/join",
        inputs=(Port("q/a"),),
        declared=Declared(cost_s=1.0),
        table="places",
        table_schema=TABLE.schema,
        on={"k": "k"},
    )
    operators = [project("q/a", "s"), joined, project("q/b", "q/join")]
    return make_plan({"s": feeder()}, operators, {"q": "q/b"}, tables={"places": TABLE})


def test_leaves_and_joins_have_longer_turns():
    harness = PolicyHarness(with_join(), "wrr", quantum=0.5, leaf=3, join=2)
    for operator in ("q/a", "q/join", "q/b"):
        harness.feed(operator, 1.0, 2.0)
    turns = [(d.unit.id, d.seconds, d.ends_round) for d in iter(harness.run, None)]
    assert turns == [("q/a", 1.5, False), ("q/join", 1.0, False), ("q/b", 0.5, True)] * 2


def test_a_unit_of_several_operators_has_its_largest_weight():
    harness = PolicyHarness(with_join(), "wrr", unit="query", leaf=1.5, join=4)
    harness.feed("q/b", 1.0)
    assert harness.run().seconds == pytest.approx(0.4)


@pytest.mark.parametrize("parameters", [{"leaf": 0}, {"join": -1}, {"quantum": None}, {"quantum": 0}])
def test_wrong_weights(parameters):
    with pytest.raises(ValueError, match="must be a number above 0"):
        PolicyHarness(chain(1.0), "wrr", **parameters)


def test_the_longest_queue_first_ties_nearest_to_the_source():
    harness = PolicyHarness(chain(1.0, 1.0, 1.0), "mtiq")
    harness.feed("q/0", 1.0, 1.0)
    harness.feed("q/1", 1.0, 1.0)
    harness.feed("q/2", 1.0, 1.0, 1.0)
    assert harness.order() == ["q/2", "q/0", "q/1", "q/2", "q/0", "q/1", "q/2"]


def test_mtiq_inspects_every_ready_queue_and_takes_its_batch():
    harness = PolicyHarness(chain(1.0, 1.0), "mtiq")
    harness.feed("q/0", 1.0)
    harness.feed("q/1", 1.0)
    assert harness.run()[1:5] == (1, None, False, 2)
    harness = PolicyHarness(chain(1.0, 1.0), "mtiq", batch=100)
    harness.feed("q/0", 1.0)
    assert harness.run().tuples == 100
