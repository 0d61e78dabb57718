"""Where calls have a fixed cost, classes are compared ten times a second, and frequencies do not grow without end."""

import pytest

from tests.conformance.plans import feeder, make_plan, project
from tests.policies.boards import TimedHarness


def harness(policy, call_fixed_s, idle_queries=0):
    idle = [f"idle{number}" for number in range(idle_queries)]
    plan = make_plan(
        {"s": feeder(), "t": feeder()} | {name: feeder() for name in idle},
        [project("a/x", "s", 0.001), project("b/y", "t", 0.001)] + [project(f"{name}/z", name) for name in idle],
        {"a": "a/x", "b": "b/y"} | {name: f"{name}/z" for name in idle},
        {"high": 2, "low": 1},
        {"a": "high", "b": "low"} | dict.fromkeys(idle, "low"),
    )
    slow_above = {"high": 0.5, "low": 0.1}  # nothing can mend that
    return TimedHarness(plan, policy, call_fixed_s=call_fixed_s, latencies=slow_above)


def after(run, seconds, step=0.001):
    for _ in range(round(seconds / step)):
        run.board.now += step
        for operator in ("a/x", "b/y"):
            run.feed(operator)
        for _ in range(2):
            claim = run.board.claim(0)
            if claim is not None:
                for queue in claim.decision.unit.queues:
                    queue.arrivals.clear()
                run.board.release(claim, 1, 1)
    return run.policy


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_with_a_fixed_cost_repairs_are_paced(policy):
    assert 5 <= after(harness(policy, 0.001), 1.0).updates <= 12


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_with_many_queries_repairs_are_fewer_because_each_takes_longer(policy):
    assert 2 <= after(harness(policy, 0.001, idle_queries=500), 3.0).updates <= 8


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_without_one_every_round_counts_as_in_the_dissertation(policy):
    assert after(harness(policy, 0.0), 0.2).updates > 40


@pytest.mark.parametrize("policy", ["mbd", "abd"])
def test_what_no_schedule_can_mend_does_not_make_rounds_ever_longer(policy):
    found = after(harness(policy, 0.001), 900.0, step=0.11)
    assert sum(found.frequencies) <= 4096
