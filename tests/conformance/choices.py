"""The settings of policies that runs on Spark try: every way in which a policy cuts a plan into units.

All of them take `make nightly`. `make test` runs `CHOSEN`, one setting for each thing that a policy can ask of the
runtime; what only the policy itself decides is the same in the simulator, where every policy runs in `make quick`.
"""

from collections.abc import Iterator
from typing import Any

from headgate.application.checked import PolicySettings
from headgate.policies.registry import POLICIES, policy_parameters
from tests.tiers import only_nightly


def choices(policy: str) -> Iterator[PolicySettings]:
    """A policy in every way that it can be told to cut a plan."""
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


ALL = [choice for name in POLICIES for choice in choices(name)]  # a new policy joins by being registered
# The reason for each; `test_choices.py` says when a new policy brings something that none of them has.
REASONS = {
    "fifo-operator": "a unit for each operator, and calls bounded in tuples",
    "rr-path": "a unit for each path, and calls bounded by a quantum of time",
    "prb": "a running call may be preempted by an arrival",
    "segment": "a unit for each segment, regrouped when statistics have been learned",
    "threshold": "units of paths, regrouped by the memory in use",
    "cqc": "classes in turn, each with a share of time; operators ranked by learned rates",
    "abd": "slices of time for classes, calls bounded in tuples by learned costs; groups of its own",
    "mbd": "a unit for each query, which slots meet on a walk; what is met while it runs is run once more",
    "mbd-3": "several queries are one unit, and one call",
    "ml": "units drawn by chance",
    "pct": "not work-conserving: a slot may stay idle while tuples wait",
}
CHOSEN = [choice for choice in ALL if label(choice) in REASONS]
SETTINGS: list[Any] = only_nightly(ALL, CHOSEN)  # as parameters of a test
