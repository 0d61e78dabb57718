"""The settings that `make test` runs on Spark ask the runtime for everything that any policy asks for."""

from collections.abc import Iterable

import pytest

from headgate.application.checked import PolicySettings
from headgate.policies.registry import make_policy
from headgate.scheduling.policy import Policy
from tests.conformance.choices import ALL, CHOSEN, REASONS, label


def asks(choice: PolicySettings) -> set[str]:
    """What a setting asks of a runtime, as far as its class declares it."""
    policy = make_policy(choice.name, choice.parameters)
    asked = {f"{name}: {getattr(policy, name)}" for name in ("unit", "preemption", "watches_queues", "work_conserving")}
    asked |= {f"parameter {name}" for name in choice.parameters}
    return asked | {f"defines {name}" for name in ("units", "regroups", "ran_dry") if _defines(type(policy), name)}


def _defines(kind: type[Policy], name: str) -> bool:
    return getattr(kind, name) is not getattr(Policy, name)


def missing(chosen: Iterable[PolicySettings]) -> set[str]:
    return set().union(*map(asks, ALL)) - set().union(*map(asks, chosen))


def test_each_reason_is_for_one_setting() -> None:
    assert sorted(map(label, CHOSEN)) == sorted(REASONS)


def test_the_chosen_settings_ask_for_all_that_any_setting_asks_for() -> None:
    assert missing(CHOSEN) == set(), "add a setting that asks for it to REASONS in choices.py"


@pytest.mark.parametrize("only", ["rr-path", "prb", "mbd-3", "pct"])
def test_leaving_out_the_only_setting_that_asks_is_noticed(only: str) -> None:
    assert missing(choice for choice in CHOSEN if label(choice) != only)
