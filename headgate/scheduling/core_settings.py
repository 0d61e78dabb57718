"""What the core of a run needs to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.plan.model import Plan
from headgate.scheduling.policy import Policy

MakePolicy = Callable[[str, Mapping[str, Any], Plan], Policy]


@dataclass(frozen=True)
class CoreSettings:
    """Enough to make the same core again."""

    plan: Plan
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    slots: int = 1
    seed: int = 0
    linger_s: float = 0.0  # of classes and queries that do not say
