"""Makes policies by name. What names mean is registered in `registry.py`: policies that use others import this."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from headgate.errors import known_names
from headgate.extensions import Registry
from headgate.plan.model import Plan, PolicySettings
from headgate.scheduling.policy import Policy, PolicyError

MASTER = "master"
POLICIES: Registry[Policy] = Registry("policy", Policy, "name", "headgate.policies")  # type: ignore[type-abstract]


def make_policy(name: str, parameters: Mapping[str, Any] | None = None, plan: Plan | None = None) -> Policy:
    """A fresh policy. Called by runtimes, never shared between runs; raises PolicyError for wrong settings.

    Where queries of the plan have policies of their own, it is a `master` over these and the one asked for.
    """
    if plan is not None and name != MASTER and any(query.policy is not None for query in plan.queries.values()):
        return make_policy(MASTER, {"default": {"name": name, **(parameters or {})}})
    if name not in POLICIES:
        raise PolicyError(f"there is no policy '{name}'; {known_names('policies', POLICIES, name)}")
    kind = POLICIES[name]
    given = dict(parameters or {})
    known = policy_parameters(kind)
    for key in given:
        if key not in known:
            raise PolicyError(f"policy '{name}' has no parameter '{key}'; {known_names('parameters', known, key)}")
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise PolicyError(f"policy '{name}': {error}") from error


def policy_parameters(kind: type[Policy]) -> dict[str, Any]:
    """Names and defaults of a policy's parameters."""
    if kind.__init__ is object.__init__:
        return {}
    return {p.name: p.default for p in list(inspect.signature(kind).parameters.values())}


def read_policy(given: Any) -> PolicySettings:
    """A policy as files write it: a name, or a mapping with `name` and parameters. ValueError: it is neither."""
    if isinstance(given, PolicySettings):
        return given
    if isinstance(given, str):
        return PolicySettings(given)
    if isinstance(given, Mapping) and isinstance(given.get("name"), str):
        return PolicySettings(given["name"], {key: value for key, value in given.items() if key != "name"})
    raise ValueError(f"{given!r} does not name a policy; write a name, or {{name: rr, quantum: 0.05}}")
