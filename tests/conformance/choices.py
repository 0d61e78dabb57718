"""The policy settings that the tests run on Spark: every way in which a policy cuts a plan into units.

`make nightly` runs all of them. `make test` runs `CHOSEN`, one setting for each thing that a policy can ask of the
runtime; what the policy alone decides is the same in the simulator, where `make quick` runs every policy.
"""

from collections.abc import Iterator
from typing import Any

from headgate.application.checked import PolicySettings
from headgate.policies.registry import POLICIES, policy_parameters
from tests.tiers import only_nightly


def choices(policy: str) -> Iterator[PolicySettings]:
    """A policy with every setting that changes how it cuts a plan."""
    known = policy_parameters(POLICIES[policy])
    if "unit" in known:
        for unit in ("operator", "path", "query"):
            yield PolicySettings(policy, {"unit": unit})
        return
    yield PolicySettings(policy)
    if "together" in known:
        yield PolicySettings(policy, {"together": 3})


def label(policy: PolicySettings) -> str:
    return "-".join([policy.name, *map(str, policy.parameters.values())])


ALL = [choice for name in POLICIES for choice in choices(name)]  # a registered policy is included automatically
# Why each is chosen; `test_choices.py` fails if a new policy asks for something that none of them asks for.
REASONS = {
    "fifo-operator": "a unit for each operator, and calls bounded by a number of tuples",
    "rr-path": "a unit for each path, and calls bounded by a quantum of time",
    "prb": "a running call may be preempted by an arrival",
    "segment": "a unit for each segment, regrouped when statistics have been learned",
    "threshold": "a unit for each path, regrouped according to the memory in use",
    "cqc": "classes take turns, each with a share of the time; operators ranked by learned rates",
    "abd": "time slices for classes, calls bounded in tuples according to learned costs; its own groups",
    "mbd": "a unit for each query, in a round shared by all slots; one that comes up while it runs is run once more",
    "mbd-3": "several queries form one unit and share one call",
    "ml": "units drawn at random",
    "adaptive": "units of another kind whenever another candidate takes over",
    "pct": "not work-conserving: a slot may stay idle while tuples wait",
}
CHOSEN = [choice for choice in ALL if label(choice) in REASONS]
SETTINGS: list[Any] = only_nightly(ALL, CHOSEN)  # to parametrize tests
