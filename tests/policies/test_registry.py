"""Policies by name, and wrong parameters."""

import pytest

from headgate.policies.registry import POLICIES, make_policy, policy_parameters
from headgate.scheduling.policy import PolicyError


def test_every_name_makes_a_new_policy():
    for name, kind in POLICIES.items():
        assert type(make_policy(name)) is kind
        assert make_policy(name).name == name
        assert make_policy(name) is not make_policy(name)


def test_parameters_and_their_defaults():
    assert policy_parameters(POLICIES["rr"]) == {"quantum": 0.1, "unit": "operator"}
    assert policy_parameters(POLICIES["fifo"]) == {"unit": "path"}
    policy = make_policy("rr", {"quantum": 1, "unit": "query"})
    assert (policy.quantum, policy.unit) == (1.0, "query")


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("fifoo", {}, "there is no policy 'fifoo'; did you mean 'fifo'"),
        ("rr", {"quantm": 1}, "policy 'rr' has no parameter 'quantm'; did you mean 'quantum'"),
        ("fifo", {"quantum": 1}, "policy 'fifo' has no parameter 'quantum'"),
        ("rr", {"quantum": 0}, "quantum is 0; it must be a number above 0"),
        ("rr", {"quantum": 10**400}, "it must be a number above 0"),
        ("rr", {"quantum": True}, "quantum is True"),
        ("rr", {"quantum": "soon"}, "quantum is 'soon'"),
        ("rr", {"unit": "segment"}, "unit is 'segment'; it must be one of operator, path, query"),
        ("fifo", {"unit": None}, "unit is None"),
    ],
)
def test_wrong_settings(name, parameters, problem):
    with pytest.raises(PolicyError) as caught:
        make_policy(name, parameters)
    assert problem in str(caught.value)
