"""The learned table: forecasts, corrected by what is observed; trials only when nothing is at stake."""

import pytest

from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.decision_maker import Situation
from headgate.qos.learned import TRY_EVERY, LearnedSelector
from headgate.qos.satisfaction import ScoreKeeper, qos_score, satisfaction

GRAPH = QosGraph(((0.0, 1.0), (10.0, 1.0)))
LATENCY = QosMeasure("latency", "must", GRAPH)
MEMORY = QosMeasure("memory", "best-effort", GRAPH)
FORECAST = {"rr": {"latency": 2.0, "memory": 0.5}, "hr": {"latency": 0.8, "memory": 0.9}, "chain": {"latency": 0.5}}


def situation(current="rr", latency=2.0, memory=0.5, measures=(LATENCY, MEMORY)):
    expected = {one.name: 1.0 for one in measures}
    measured = {"latency": latency, "memory": memory}
    return Situation(0.0, "q", current, "must", {}, measures, measured, expected, 100.0)


def selector(forecast=FORECAST, candidates=("rr", "hr")):
    return LearnedSelector(candidates, lambda query, offered: forecast)


@pytest.mark.parametrize(
    ("name", "value", "met"),
    [("latency", 2.0, 0.5), ("latency", 0.5, 1.0), ("throughput", 0.5, 0.5), ("throughput", 2.0, 1.0)],
)
def test_a_measure_that_is_half_as_good_counts_half(name, value, met):
    assert satisfaction(name, value, 1.0) == met


def test_a_score_is_weighted_by_priorities():
    assert qos_score((LATENCY, MEMORY), {"latency": 2.0, "memory": 0.5}, {"latency": 1.0, "memory": 1.0}) == (
        pytest.approx((1.0 * 0.5 + 0.5 * 1.0) / 1.5)
    )
    assert qos_score((LATENCY,), {"latency": None}, {"latency": 1.0}) == 1.0
    keeper = ScoreKeeper()
    assert keeper.summary()["score"] is None
    keeper.add(0.5, False)
    keeper.add(1.0, True)
    assert keeper.summary() == {"periods": 2, "score": 0.75, "must_kept": 0.5}


def test_the_candidate_with_the_best_forecast_is_chosen():
    choice = selector().choose(situation())
    assert choice.policy == "hr"
    assert choice.scores["hr"] == 1.0


def test_what_is_about_as_good_is_left_alone():
    assert selector().choose(situation("hr", latency=1.5)).policy == "hr"


def test_observations_correct_a_forecast():
    learned = selector()
    for _ in range(20):  # hr is ten times as slow as was forecast, rr is as forecast
        learned.observe(situation("hr", latency=8.0))
    for _ in range(5):
        learned.observe(situation("rr", latency=2.0))
    assert learned.choose(situation("hr", latency=8.0)).policy == "rr"


def test_where_nothing_is_forecast_what_was_seen_counts_and_before_that_the_table_of_the_thesis():
    learned = selector({}, ("segment", "pcs"))
    assert learned.choose(situation("segment", latency=2.0, measures=(LATENCY,))).policy == "pcs"
    for _ in range(5):
        learned.observe(situation("pcs", latency=9.0, measures=(LATENCY,)))
        learned.observe(situation("segment", latency=1.2, measures=(LATENCY,)))
    assert learned.choose(situation("pcs", latency=9.0, measures=(LATENCY,))).policy == "segment"


def tried(learned, **given):
    return [choice.policy for _ in range(TRY_EVERY * 2) if (choice := learned.observe(situation(**given)))]


def test_others_are_tried_only_when_nothing_is_at_stake():
    assert tried(selector(), current="hr", latency=2.0) == []
    assert tried(selector(), current="hr", latency=0.9, memory=0.5) == []  # kept, but not by much
    assert tried(selector(), current="hr", latency=0.5, memory=0.5) == []  # rr would break the promise
    safe = selector(candidates=("hr", "chain"))
    assert tried(safe, current="hr", latency=0.5, memory=0.5)[0] == "chain"


def test_after_a_trial_the_query_goes_back():
    learned = selector(candidates=("hr", "chain"))
    choice = None
    while choice is None:
        choice = learned.observe(situation("hr", latency=0.5))
    assert choice.policy == "chain"
    assert learned.observe(situation("chain", latency=0.6)).policy in ("hr", "chain")
