"""`headgate bench policies`: its application, its fit of costs, and how it compares figures. Nothing is timed."""

import pytest

from headgate.application.checked import PolicySettings, RunLimits
from headgate.plan.paths import find_paths
from headgate.runtime.simulated import simulate
from headgate_lab.bench import policies
from headgate_lab.bench.policies_workload import HASH_S, Costs, TimedCall, application, draw_paths, fit, full_rates

COSTS = Costs(0.01, 28.0, {step.id: step.hashes * HASH_S for path in draw_paths().values() for step in path})


def figures(latency, memory):
    return {"mean_latency": latency, "mean_memory": memory}


def found(spark, simulated):
    """Policy -> runtime -> figures, from (latency, memory) by policy."""
    return {name: {"spark": figures(*spark[name]), "simulated": figures(*simulated[name])} for name in spark}


def test_plan_is_the_same_each_time_and_has_20_operators_on_6_paths():
    sources = policies.bursts(COSTS, 1.0)
    first, second = (application(PolicySettings("fifo"), sources, COSTS).plan for _ in range(2))
    assert first.operators == second.operators
    assert len(first.operators) == 20
    assert [len(path.operators) for path in find_paths(first)] == [4, 4, 3, 3, 3, 3]
    assert [path.stream for path in find_paths(first)] == ["a"] * 3 + ["b"] * 3


def test_leaves_are_the_cheapest_of_their_paths():
    for steps in draw_paths().values():
        assert steps[0].hashes == min(step.hashes for step in steps)
        assert steps[0].hashes * 5 >= max(step.hashes for step in steps) - 5  # each number of hashes is rounded
        assert all(0.05 <= step.share <= 1.0 for step in steps)


def test_operators_do_not_change_the_size_of_tuples():
    app = application(PolicySettings("fifo"), policies.bursts(COSTS, 1.0), COSTS)
    assert {stream.source["bytes"] for stream in app.plan.streams.values()} == {COSTS.tuple_bytes}
    assert {operator.declared.tuple_bytes for operator in app.plan.operators.values()} == {COSTS.tuple_bytes}


def test_rates_give_the_load():
    seconds = 5.0
    app = application(PolicySettings("pcs"), policies.bursts(COSTS, seconds), COSTS, call_s=0.0)
    result = simulate(app, RunLimits(until_idle=True))
    work = sum(counts["processed"] * COSTS.operators[name] for name, counts in result.operators.items())
    assert work == pytest.approx(policies.LOAD * seconds, rel=0.05)


def test_one_burst_brings_its_work_within_a_second():
    rates = full_rates(COSTS)
    for name, source in policies.one_burst(COSTS).items():
        assert source["rows"] == pytest.approx(rates[name] * policies.BURST_S, abs=1)
        assert source["rows"] / source["rate"] == pytest.approx(1.0, rel=0.01)


def test_fit_separates_the_cost_of_a_call_from_that_of_its_tuples():
    truth = {"x": 2e-6, "y": 300e-6}
    calls = [TimedCall(name, rows, 0.012 + rows * cost) for name, cost in truth.items() for rows in (10, 500, 2000)]
    call_s, costs = fit(calls)
    assert call_s == pytest.approx(0.012)
    assert costs == pytest.approx(truth)


def test_fit_gives_no_operator_a_cost_of_0():
    """Noise may make larger calls quicker, but to a policy a cost of 0 would be infinitely attractive."""
    _, costs = fit(
        [TimedCall("x", 10, 0.02), TimedCall("x", 20, 0.01), TimedCall("y", 10, 0.01), TimedCall("y", 20, 0.03)]
    )
    assert costs["x"] > 0.0


def test_drift_is_the_ratio_of_costs():
    after = Costs(COSTS.call_s * 2, 28.0, {name: cost * 1.5 for name, cost in COSTS.operators.items()})
    assert policies.drift(COSTS, after) == pytest.approx({"call": 2.0, "tuples": 1.5})


def test_claims_have_a_verdict_and_both_figures():
    spark = {
        "fifo": (3.0, 400.0),
        "pcs": (1.0, 50.0),
        "chain": (2.0, 100.0),
        "segment": (0.5, 40.0),
        "simplified-segment": (2.0, 40.0),
    }
    judged = policies.claims(found(spark, spark))
    assert len(judged) == 8
    assert judged["mean_latency of pcs below chain"] == {"holds": True, "pcs": 1.0, "chain": 2.0, "ratio": 0.5}
    assert not judged["mean_latency of pcs below segment"]["holds"]
    assert judged["mean_memory of chain below pcs"] == {"holds": False, "chain": 100.0, "pcs": 50.0, "ratio": 2.0}
    assert all(judged[f"mean_memory of {name} below fifo"]["holds"] for name in policies.SAVING)


def test_agreement_finds_best_and_worst():
    spark = {"fifo": (3.0, 9.0), "pcs": (1.0, 2.0), "chain": (2.0, 1.0)}
    simulated = {"fifo": (9.0, 5.0), "pcs": (4.0, 3.0), "chain": (5.0, 4.0)}
    latency = policies.agreement(found(spark, simulated), "mean_latency")
    assert latency == {
        "best": True,
        "worst": True,
        "spark": ["pcs", "chain", "fifo"],
        "simulated": ["pcs", "chain", "fifo"],
    }
    memory = policies.agreement(found(spark, simulated), "mean_memory")
    assert (memory["best"], memory["worst"]) == (False, True)


def test_a_report_has_all_figures():
    sources = policies.bursts(COSTS, 0.5)
    report = simulate(application(PolicySettings("chain"), sources, COSTS), RunLimits(until_idle=True)).report
    found = policies.figures(report)
    assert set(found) == {"mean_latency", "p95_latency", "mean_memory", "peak_memory", "throughput", "seconds"}
    assert all(value > 0.0 for value in found.values())
