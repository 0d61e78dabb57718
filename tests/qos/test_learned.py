"""The learned table: forecasts, corrected by what is observed; trials only when nothing is at stake."""

from itertools import count
from types import SimpleNamespace

import pytest

from headgate.plan.quality import QosGraph, QosMeasure
from headgate.qos.decision_maker import Situation
from headgate.qos.learned import TRY_EVERY, CommonChoice, LearnedSelector
from headgate.qos.learned_table import LearnedTable
from headgate.qos.satisfaction import ScoreKeeper, qos_score, satisfaction

GRAPH = QosGraph(((0.0, 1.0), (10.0, 1.0)))
LATENCY = QosMeasure("latency", "must", GRAPH)
MEMORY = QosMeasure("memory", "best-effort", GRAPH)
FORECAST = {
    "rr": {"latency": 2.0, "memory": 0.5},
    "hr": {"latency": 0.8, "memory": 0.9},
    "chain": {"latency": 0.5, "memory": 0.5},
}


TIMES = count()


def situation(current="rr", latency=2.0, memory=0.5, measures=(LATENCY, MEMORY), query="q", offered=100.0, now=None):
    expected = {one.name: 1.0 for one in measures}
    measured = {"latency": latency, "memory": memory}
    return Situation(
        next(TIMES) if now is None else now, query, current, "must", {}, measures, measured, expected, offered
    )


def selectors(forecast=FORECAST, candidates=("rr", "hr"), queries=("q",), measures=(LATENCY, MEMORY)):
    """The selectors of some queries with the same promises; `forecast` may be a function of query and load."""
    table = LearnedTable(candidates, forecast if callable(forecast) else lambda *_: forecast, lambda: queries)
    common = CommonChoice(table)
    for query in queries:
        table.add(SimpleNamespace(name=query, qos=measures))
    return [LearnedSelector(common) for _ in queries]


def selector(**given):
    return selectors(**given)[0]


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


def test_a_summary_has_means_over_the_periods_in_which_something_was_known():
    keeper = ScoreKeeper()
    assert keeper.summary() == {"periods": 0, "score": None, "must_kept": None, "mean": {}}
    keeper.add(0.5, False, {"latency": 2.0, "memory": 1.0})
    keeper.add(1.0, True, {"latency": None, "memory": 3.0})
    means = {"latency": 2.0, "memory": 2.0}
    assert keeper.summary() == {"periods": 2, "score": 0.75, "must_kept": 0.5, "mean": means}


def test_the_first_choice_is_forecast_before_anything_has_gone_wrong():
    choice = selector().follow("rr")
    assert choice.policy == "hr"
    assert choice.scores["hr"] == 1.0
    assert selector().follow("hr") is None


def test_the_first_choice_leaves_a_policy_that_is_about_as_good():
    alike = {"rr": {"latency": 0.5, "memory": 0.5}, "hr": {"latency": 0.4, "memory": 0.5}}
    assert selector(forecast=alike).follow("hr") is None
    assert selector(forecast=alike).follow("rr") is None
    assert selector(forecast=alike).follow("mbd").policy == "rr"  # of which nothing is known


def test_without_a_forecast_nothing_changes_until_a_promise_is_broken():
    assert selector(forecast={}).follow("rr") is None


def test_the_candidate_with_the_best_forecast_is_chosen():
    assert selector().choose(situation()).policy == "hr"


def test_what_is_about_as_good_is_left_alone():
    assert selector().choose(situation("hr", latency=1.5)).policy == "hr"


def test_the_other_queries_follow():
    first, second = selectors(queries=("q", "r"))
    assert first.choose(situation(query="q")).policy == "hr"
    assert second.follow("rr").policy == "hr"
    assert second.follow("hr") is None


def test_a_choice_is_the_best_for_all_queries_together():
    forecasts = {
        "q": {"rr": {"latency": 2.0, "memory": 0.5}, "hr": {"latency": 1.0, "memory": 0.5}},
        "r": {"rr": {"latency": 0.5, "memory": 0.5}, "hr": {"latency": 9.0, "memory": 0.5}},
    }
    alone = selector(forecast=lambda query, _: forecasts[query])
    assert alone.choose(situation()).policy == "hr"
    both, _ = selectors(forecast=lambda query, _: forecasts[query], queries=("q", "r"))
    assert both.choose(situation()).policy == "rr"


def test_a_query_that_is_gone_does_not_count():
    queries = ["q", "r"]
    forecasts = {
        "q": {"rr": {"latency": 2.0}, "hr": {"latency": 1.0}},
        "r": {"rr": {"latency": 0.5}, "hr": {"latency": 9.0}},
    }
    first, _ = selectors(forecast=lambda query, _: forecasts[query], queries=queries, measures=(LATENCY,))
    assert first.choose(situation()).policy == "rr"
    queries.remove("r")
    assert first.choose(situation()).policy == "hr"


def test_the_loads_of_the_last_periods_count_and_the_latest_most():
    calm, burst = ({"rr": {"latency": a}, "hr": {"latency": b}} for a, b in ((1.0, 1.4), (4.0, 1.4)))
    learned = selector(forecast=lambda _, offered: burst if (offered or 0.0) > 150.0 else calm, measures=(LATENCY,))
    for _ in range(10):
        learned.observe(situation("rr", latency=None, measures=(LATENCY,)))
    learned.observe(situation("rr", latency=None, measures=(LATENCY,), offered=200.0))
    assert learned.choose(situation("rr", measures=(LATENCY,))).policy == "rr"  # one burst is not enough
    for _ in range(5):
        learned.observe(situation("rr", latency=None, measures=(LATENCY,), offered=200.0))
    assert learned.choose(situation("rr", measures=(LATENCY,))).policy == "hr"


def test_observations_correct_a_forecast():
    learned = selector()
    for _ in range(10):  # hr is ten times as slow as was forecast, rr is as forecast
        for _ in range(3):
            learned.observe(situation("hr", latency=8.0))
        for _ in range(3):
            learned.observe(situation("rr", latency=2.0))
    assert learned.choose(situation("hr", latency=8.0)).policy == "rr"


def test_what_the_input_does_to_all_is_not_held_against_the_candidate_in_charge():
    learned = selector()
    for _ in range(30):  # everything takes three times as long as was forecast
        learned.observe(situation("hr", latency=2.4))
    assert learned.choose(situation("hr", latency=2.4)).policy == "hr"


def test_where_nothing_is_forecast_what_was_seen_counts_and_before_that_the_table_of_the_thesis():
    learned = selector(forecast={}, candidates=("segment", "pcs"), measures=(LATENCY,))
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
    assert tried(selector(), current="hr", latency=0.65, memory=0.5) == []  # rr would break the promise
    safe = selector(candidates=("hr", "chain"))
    assert tried(safe, current="hr", latency=0.5, memory=0.5)[0] == "chain"


def test_nothing_is_tried_while_a_promise_of_another_query_is_at_stake():
    first, second = selectors(candidates=("hr", "chain"), queries=("q", "r"))
    for _ in range(TRY_EVERY):
        assert second.observe(situation("hr", query="r", latency=2.0)) is None
        assert first.observe(situation("hr", query="q", latency=0.5)) is None


def test_after_a_trial_the_query_goes_back():
    learned = selector(candidates=("hr", "chain"))
    choice = None
    while choice is None:
        choice = learned.observe(situation("hr", latency=0.5))
    assert choice.policy == "chain"
    assert learned.observe(situation("chain", latency=0.6)).policy == "hr"


def test_a_trial_lasts_until_it_was_in_charge_for_a_period():
    first, second = selectors(candidates=("hr", "chain"), queries=("q", "r"))
    choice = None
    while choice is None:
        assert second.observe(situation("hr", query="r", latency=0.5)) is None
        choice = first.observe(situation("hr", query="q", latency=0.5))
    assert second.observe(situation("hr", query="r", latency=0.5)) is None  # in the same review
    assert second.follow("hr").policy == "chain"
    assert second.observe(situation("chain", query="r", latency=0.6)).policy == "hr"


def test_many_queries_do_not_make_trials_more_frequent_than_every_second_round():
    names = [f"q{number}" for number in range(20)]
    known = {"rr": {"latency": 0.5, "memory": 0.5}, "hr": {"latency": 0.5, "memory": 0.5}}
    learned = selectors(forecast=known, queries=names)
    trials, current = 0, "rr"
    for round_ in range(12):
        for name, one in zip(names, learned, strict=True):
            choice = one.observe(situation(current, latency=0.4, query=name, now=round_))
            if choice is not None:
                trials += "tried" in choice.note
        following = learned[0].follow(current)
        current = current if following is None else following.policy
    assert 2 <= trials <= 6


def test_queries_that_are_looked_at_together_share_the_scores():
    asked = []

    def forecast(query, offered):
        asked.append(query)
        return FORECAST

    learned = selectors(forecast=forecast, queries=[f"q{number}" for number in range(10)])
    for number, one in enumerate(learned):
        one.choose(situation(query=f"q{number}", now=5.0))
    assert len(asked) == 10  # each query once, not once for each of them
