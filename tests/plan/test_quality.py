"""QoS graphs and goals."""

import pytest

from headgate.plan.quality import Goal, QosGraph, QosMeasure, read_goals

GRAPH = QosGraph(((0.0, 1.0), (10.0, 3.0), (20.0, 5.0), (30.0, 5.0)))


def test_a_graph_is_linear_in_intervals_and_gaps_and_constant_outside() -> None:
    """T8 of the MavStream specification."""
    assert [GRAPH.expected(at) for at in (5.0, 10.0, 15.0, 25.0, 40.0)] == [2.0, 3.0, 4.0, 5.0, 5.0]
    assert QosGraph(((10.0, 7.0), (20.0, 7.0))).expected(0.0) == 7.0


def test_looking_ahead_does_not_change_what_is_expected_now() -> None:
    """The thesis removes intervals that have passed, so its answer for now would change after one for later."""
    assert (GRAPH.expected(25.0), GRAPH.expected(5.0)) == (5.0, 2.0)


def test_a_step_holds_until_its_time() -> None:
    step = QosGraph(((0.0, 10.0), (500.0, 10.0), (500.0, 1.0), (900.0, 1.0)))
    assert [step.expected(at) for at in (499.0, 500.0, 500.1)] == [10.0, 10.0, 1.0]
    assert [step.interval(at) for at in (0.0, 500.0, 500.1, 2000.0)] == [0, 0, 1, 1]


def test_gaps_belong_to_the_next_interval() -> None:
    assert [GRAPH.interval(at) for at in (0.0, 10.0, 10.1, 15.0, 30.0, 99.0)] == [0, 0, 1, 1, 1, 1]
    assert [GRAPH.length(number) for number in (0, 1)] == [10.0, 10.0]


def test_what_violates_a_promise() -> None:
    latency = QosMeasure("latency", "must", GRAPH)
    throughput = QosMeasure("throughput", "must", GRAPH)
    assert [latency.violated(value, 5.0) for value in (1.9, 2.0, 2.1, None)] == [False, False, True, False]
    assert [throughput.violated(value, 5.0) for value in (1.9, 2.0, 2.1, None)] == [True, False, False, False]
    assert [latency.violated(1.9, 5.0, share) for share in (1.0, 0.8)] == [False, True]
    assert [throughput.violated(2.1, 5.0, share) for share in (1.0, 0.8)] == [False, True]


def test_goals_have_natural_directions_and_weights_of_one() -> None:
    thirds = [{"statistic": name, "weight": 0.33} for name in ("latency", "memory", "throughput")]
    goals = read_goals(thirds)
    assert [goal.goal for goal in goals] == ["minimize", "minimize", "maximize"]
    assert sum(goal.weight for goal in goals) == pytest.approx(1.0)
    assert read_goals([{"statistic": "memory", "goal": "maximize", "weight": 1}]) == (Goal("memory", "maximize", 1.0),)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "no goals"),
        ([{"statistic": "memory", "weight": 0.5}], "add up to 0.5"),
        ([{"statistic": "memory", "weight": 0.5}, {"statistic": "memory", "weight": 0.5}], "two goals"),
        ([{"statistic": "speed", "weight": 1}], "'speed'"),
        ([{"statistic": "memory", "weight": 0}], "above 0"),
        ([{"statistic": "memory", "weight": True}], "above 0"),
        ([{"statistic": "memory", "weight": 1, "goal": "less"}], "'less'"),
        ([{"statistic": "memory", "wight": 1}], "is not a goal"),
        (["memory"], "is not a goal"),
    ],
)
def test_wrong_goals_are_refused(given: list[object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_goals(given)
