"""The decision table: the worked examples of the thesis, with its errata (T1 to T7 of the MavStream specification)."""

import pytest

from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.decision_table import PAPERS_TABLE, DecisionTable, reduced_weight

GRAPH = QosGraph(((0.0, 2.0), (100.0, 2.0)))


def test_t1_memory_violated() -> None:
    """Table 4.2 prints 0.66 for the simplified segment; 3 of 4 is 0.75."""
    scores = PAPERS_TABLE.scores({"memory": 1.0})
    assert scores == {"rr": 0.5, "pcs": 0.25, "segment": 1.0, "simplified-segment": 0.75}
    assert PAPERS_TABLE.choose({"memory": 1.0}, "must", "pcs") == "segment"


def test_t2_everything_violated() -> None:
    weights = dict.fromkeys(("latency", "memory", "throughput"), 1.0)
    scores = PAPERS_TABLE.scores(weights)
    assert scores == {"rr": 1.5, "pcs": 2.25, "segment": 1.5, "simplified-segment": 2.25}
    assert PAPERS_TABLE.choose(weights, "must", "rr") == "pcs", "of equals the first in the table"
    assert PAPERS_TABLE.choose(weights, "must", "simplified-segment") == "simplified-segment", "or the current one"


def test_t3_a_satisfied_measure_of_a_higher_class_counts_less_the_better_it_is() -> None:
    latency = QosMeasure("latency", "must", GRAPH)
    weight = reduced_weight(latency, observed=1.0, expected=2.0)
    assert weight == 0.75
    scores = PAPERS_TABLE.scores({"memory": 0.5, "latency": weight})
    assert scores == {"rr": 0.625, "pcs": 0.875, "segment": 0.6875, "simplified-segment": 0.9375}
    mixed = PAPERS_TABLE.scores({"memory": 1.0, "latency": 0.5, "throughput": 0.5})
    assert mixed == {"rr": 1.0, "pcs": 1.25, "segment": 1.25, "simplified-segment": 1.5}
    assert PAPERS_TABLE.choose({"memory": 1.0}, "must", "rr") == "segment", "class by class: memory alone is a must"


@pytest.mark.parametrize(("observed", "weight"), [(0.0, 0.5005), (2.0, 1.0), (5.0, 1.0)])
def test_a_reduced_weight_stays_above_the_next_class(observed: float, weight: float) -> None:
    latency = QosMeasure("latency", "must", GRAPH)
    assert reduced_weight(latency, observed, 2.0) == pytest.approx(weight)


def test_throughput_is_reduced_where_there_is_more_of_it_than_expected() -> None:
    """Equation (4.2) has the wrong sign for a measure that should be large."""
    throughput = QosMeasure("throughput", "best-effort", GRAPH)
    assert reduced_weight(throughput, observed=3.0, expected=2.0) == pytest.approx(0.5 - 0.5 * 0.49)
    assert reduced_weight(throughput, observed=1.0, expected=2.0) == 0.5


def test_t6_ranks_of_three_strategies_alone_cannot_decide() -> None:
    three = DecisionTable(
        {
            "latency": {"pcs": 3, "segment": 1, "simplified-segment": 2},
            "memory": {"pcs": 1, "segment": 3, "simplified-segment": 2},
        }
    )
    both = three.scores({"latency": 1.0, "memory": 1.0})
    assert set(both.values()) == {4 / 3}


def test_t7_memory_that_nobody_cares_about_has_no_effect() -> None:
    for tenths in range(5, 11):
        weights = {"memory": 0.01, "latency": tenths / 10}
        assert PAPERS_TABLE.choose(weights, "dont-care", "pcs") == "pcs"


def test_a_class_that_nobody_cares_about_takes_the_best_of_the_better_ones() -> None:
    assert PAPERS_TABLE.choose({"memory": 0.01}, "dont-care", "rr") == "segment"
    assert PAPERS_TABLE.choose({"memory": 0.01}, "dont-care", "segment") == "segment"
    assert PAPERS_TABLE.choose({"memory": 0.01}, "dont-care", "mbd") == "segment", "not in the table"
