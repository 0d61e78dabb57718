"""What the base class of policies provides, and what it refuses."""

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.policies.registry import POLICIES, make_policy
from headgate.scheduling.policy import Policy, PolicyError
from headgate.scheduling.units import Group
from tests.conformance.plans import feeder, make_plan, project


class BySegment(Policy):
    name = "by-segment"
    unit = "segment"

    def choose(self, slot):
        return None


@pytest.fixture
def plan():
    return make_plan({"s": feeder()}, [project("q/a", "s")], {"q": "q/a"})


@pytest.mark.parametrize("unit", ["segment", "class"])
def test_a_granularity_without_a_grouping_needs_units_of_its_own(plan, unit):
    policy = BySegment()
    policy.unit = unit
    with pytest.raises(PolicyError, match=f"'by-segment' schedules by {unit}: it must define `units`"):
        policy.units(plan, DeclaredStats(plan))


def test_a_policy_may_define_its_units(plan):
    class Own(BySegment):
        def units(self, plan, stats):
            return [Group("all", tuple(plan.operators))]

    assert Own().units(plan, DeclaredStats(plan)) == [Group("all", ("q/a",))]


@pytest.mark.parametrize(("preemption", "asked"), [("none", False), ("quantum", False), ("arrival", True)])
def test_only_arrivals_make_a_policy_preemptive(preemption, asked):
    policy = BySegment()
    policy.preemption = preemption
    assert policy.preemptive is asked


def test_which_policies_allow_calls_to_be_stopped():
    assert make_policy("rr").preemption == "quantum"
    assert make_policy("prb").preemption == "arrival"
    stops = {name for name in POLICIES if make_policy(name).preemption != "none"}
    assert stops == {"rr", "wrr", "prb"}
