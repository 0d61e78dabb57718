"""The selectors study: plans have the load and the promises that they are made for, and claims say what was found."""

import pytest

from headgate.runtime.simulated.sources import make_sources
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.selectors import STUDY, workload
from headgate_lab.studies.selectors.bursts import feeder_settings
from headgate_lab.studies.selectors.claims import CLAIMS
from headgate_lab.studies.selectors.plans import ARRIVALS, DEVELOPMENT, HELD_OUT, drawn
from headgate_lab.studies.selectors.quantities import best_fixed
from headgate_lab.studies.selectors.runs import points, run
from headgate_lab.studies.selectors.workload import CANDIDATES, SELECTIONS, application
from headgate_lab.studies.sweep import sweep


@pytest.fixture
def any_promise(monkeypatch):
    """Promises without the runs that they follow from."""
    values = {"latency": 0.1, "memory": 1e3, "throughput": 1.0}
    monkeypatch.setattr(
        workload,
        "promised",
        lambda name: {(query, p.measure): values[p.measure] for query, ps in drawn(name).promises.items() for p in ps},
    )


def load(plan):
    """Seconds of work per second, from the operators."""
    total = 0.0
    for operators in plan.queries.values():
        flows = dict(plan.rates)
        for one in operators:
            coming = sum(flows[name] for name in one.get("inputs") or [one["input"]])
            flows[one["id"]] = coming * one.get("selectivity", 1.0)
            total += coming * one["cost"]
    return total


@pytest.mark.parametrize("name", [*DEVELOPMENT, *HELD_OUT])
def test_a_drawn_plan_has_its_load_and_promises_for_every_query(name):
    plan = drawn(name)
    assert load(plan) == pytest.approx(plan.load)
    assert plan.promises.keys() == plan.queries.keys()
    assert all(1 <= len(found) <= 3 for found in plan.promises.values())
    assert len({(query, one.measure) for query, found in plan.promises.items() for one in found}) == sum(
        len(found) for found in plan.promises.values()
    )


def test_no_two_plans_are_alike():
    assert len({str(drawn(name).queries) for name in (*DEVELOPMENT, *HELD_OUT)}) == len(DEVELOPMENT) + len(HELD_OUT)


@pytest.mark.parametrize("process", ARRIVALS)
def test_bursts_have_a_mean_rate_near_the_one_asked_for(process, any_promise):
    name = f"development {ARRIVALS.index(process)}"
    assert drawn(name).arrivals == process
    count, seconds, expected = 0, 120.0, 0.0
    for seed in range(5):
        app = application({"plan": name, "policy": "rr", "seed": seed, "tuples": 12_000})
        count += sum(int((source.arrivals.take(60_000) < seconds).sum()) for source in make_sources(app))
        expected += seconds * sum(drawn(name).rates.values())
    assert count == pytest.approx(expected, rel=0.3)


def test_bursts_are_drawn_by_seed_and_the_same_for_all_streams():
    assert feeder_settings("surges", 100.0, 60.0, "a 1") == feeder_settings("surges", 100.0, 60.0, "a 1")
    assert feeder_settings("surges", 100.0, 60.0, "a 1") != feeder_settings("surges", 100.0, 60.0, "a 2")


def test_a_point_has_its_selection_and_its_candidates(any_promise):
    point = {"plan": "development 0", "policy": "learned", "seed": 0, "tuples": 3_000}
    app = application(point)
    assert (app.policy.name, app.optimizer.selection, app.optimizer.candidates) == ("rr", "learned", CANDIDATES)
    fixed = application({**point, "policy": "pcs"})
    assert (fixed.policy.name, fixed.optimizer.selection) == ("pcs", "none")


def test_a_full_run_has_only_plans_that_nothing_was_tuned_on():
    assert {one["plan"] for one in points(STUDY.full)} == set(HELD_OUT)
    assert {one["plan"] for one in points(STUDY.quick)} < set(DEVELOPMENT)


def test_a_run_measures_how_well_promises_are_kept(any_promise):
    for policy in ("rr", "table"):
        found = run({"plan": "development 0", "policy": policy, "seed": 0, "tuples": 1})
        assert 0.0 < found["score"] <= 1.0


def results(learned, roulette, best=0.9, plans=("held-out 0", "held-out 1")):
    """Made-up results: pcs is the best fixed policy."""
    given = dict.fromkeys(CANDIDATES, 0.5) | {"pcs": best, "table": 0.7}
    given |= {"learned": learned, "roulette": roulette}
    assert given.keys() == {*CANDIDATES, *SELECTIONS}
    return SweepResults(
        {"plan": plan, "policy": policy, "seed": seed, "score": score + 0.001 * seed}
        for plan in plans
        for policy, score in given.items()
        for seed in range(5)
    )


def verdicts(found):
    return [claim.judged(found)["verdict"] for claim in CLAIMS]


def test_claims_compare_with_the_best_fixed_policy_and_the_wheel():
    assert best_fixed(results(0.88, 0.8), "held-out 0") == "pcs"
    assert verdicts(results(0.88, 0.8)) == ["reproduced"] * 5
    assert verdicts(results(0.80, 0.7)) == ["refuted", "refuted", "reproduced", "reproduced", "reproduced"]
    assert verdicts(results(0.88, 0.89)) == ["reproduced", "reproduced", "refuted", "refuted", "reproduced"]


def test_a_small_study_is_judged():
    few = [one for one in points(STUDY.quick) if one["plan"] == DEVELOPMENT[0]]
    found = SweepResults(sweep(run, [{**one, "tuples": 1} for one in few]))
    assert all(claim.judged(found)["seeds"] == STUDY.quick.seeds for claim in CLAIMS)
    assert {chart.name for chart in STUDY.charts(found)} == {"selections", "fixed"}
