"""All policies by name. A new policy is one file and one line here."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from headgate.errors import known_names
from headgate.extensions import Registry
from headgate.policies.abd import AdaptiveBroadcastDisk
from headgate.policies.chain import Chain
from headgate.policies.cqc import ContinuousQueryClasses
from headgate.policies.fifo import Fifo
from headgate.policies.hnr import HighestNormalizedRate
from headgate.policies.hr import HighestRate
from headgate.policies.lottery import OperatorLottery, QueryLottery
from headgate.policies.mbd import AffineBroadcastDisk, MultiBroadcastDisk
from headgate.policies.mrr import OperatorRoundRobin, PortionRoundRobin, QueryRoundRobin
from headgate.policies.mtiq import MostTuplesInQueue
from headgate.policies.pcs import PathCapacity
from headgate.policies.pct import SplitThreads, ThreadPerClass
from headgate.policies.prb import PreemptiveRateBased
from headgate.policies.rb import RateBased
from headgate.policies.rr import RoundRobin
from headgate.policies.segment import Segments
from headgate.policies.simplified_segment import SimplifiedSegments
from headgate.policies.threshold import Threshold
from headgate.policies.train import Train
from headgate.policies.wehr import WeightedHighestRate
from headgate.policies.wrr import WeightedRoundRobin
from headgate.scheduling.policy import Policy, PolicyError

ALL: tuple[type[Policy], ...] = (
    Fifo,
    RoundRobin,
    WeightedRoundRobin,
    MostTuplesInQueue,
    RateBased,
    PreemptiveRateBased,
    Train,
    HighestRate,
    HighestNormalizedRate,
    Chain,
    PathCapacity,
    Segments,
    SimplifiedSegments,
    Threshold,
    WeightedHighestRate,
    ContinuousQueryClasses,
    AdaptiveBroadcastDisk,
    MultiBroadcastDisk,
    AffineBroadcastDisk,
    QueryRoundRobin,
    OperatorRoundRobin,
    QueryLottery,
    OperatorLottery,
    PortionRoundRobin,
    ThreadPerClass,
    SplitThreads,
)
POLICIES: Registry[Policy] = Registry("policy", Policy, "name", "headgate.policies", ALL)  # type: ignore[type-abstract]


def make_policy(name: str, parameters: Mapping[str, Any] | None = None) -> Policy:
    """A fresh policy. Called by runtimes, never shared between runs; raises PolicyError for wrong settings."""
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
