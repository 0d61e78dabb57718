"""The ways in which policies cut a plan into units."""

from collections.abc import Iterator

from headgate.application.checked import PolicySettings
from headgate.policies.registry import POLICIES, policy_parameters


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


ALL = [choice for name in POLICIES for choice in choices(name)]  # a new policy joins by being registered


def label(policy: PolicySettings) -> str:
    return "-".join([policy.name, *map(str, policy.parameters.values())])
