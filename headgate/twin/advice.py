"""Advice: what every alternative would do, and which one to take."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.errors import ApplicationError
from headgate.plan.model import PolicySettings
from headgate.policies.making import MASTER
from headgate.policies.registry import POLICIES, make_policy, policy_parameters
from headgate.scheduling.policy import PolicyError
from headgate.twin.helper import Answer, Failed
from headgate.twin.prediction import SECONDS, Alternative, Forecast, ranked, recommendation
from headgate.twin.process import Helper
from headgate.twin.snapshot import Snapshot

ADAPTIVE = "adaptive"
LINGERS_S = (0.0, 0.02)  # tried with the best policy


@dataclass(frozen=True)
class Advice:
    """Forecasts, the present policy first, and a recommendation in one sentence."""

    current: Alternative
    forecasts: Sequence[Forecast]
    failed: Sequence[Failed]
    seconds: float

    @property
    def ranked(self) -> list[Forecast]:
        """Best first."""
        return ranked(self.forecasts)

    @property
    def best(self) -> Forecast:
        """The alternative to take."""
        return self.ranked[0]

    @property
    def recommendation(self) -> str:
        """What to do, for people."""
        return recommendation(self.forecasts, self.current)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "recommendation": self.recommendation,
            "best": self.best.as_data(),
            "current": str(self.current),
            "seconds": self.seconds,
            "forecasts": [one.as_data() for one in self.forecasts],
            "failed": {str(one.alternative): one.reason for one in self.failed},
        }


def advise(
    snapshot: bytes,
    policies: Iterable[PolicySettings] | None = None,
    lingers_s: Sequence[float] = LINGERS_S,
    seconds: float = SECONDS,
    done: Callable[[int, int], None] = lambda made, of: None,
) -> Advice:
    """Forecast the present policy, these others (None: all that are registered), and the best with other lingers.

    In a helper process; `done(made, of)` is called after each forecast. PolicyError: one of `policies` is wrong.
    ApplicationError: nothing more will happen in the run.
    """
    now: Snapshot = pickle.loads(snapshot)
    if not now.waiting and not any(trace.open for trace in now.streams.values()):
        remedy = "let a source go on for longer, as a feeder without `rows` does"
        raise ApplicationError("streams", "all of them have ended, so there is nothing to forecast", remedy)
    settings = now.settings
    current = Alternative(PolicySettings(settings.policy, settings.parameters))
    chosen = _all_others(current.policy) if policies is None else list(policies)
    for policy in chosen:
        make_policy(policy.name, policy.parameters)
    first = [current, *(Alternative(policy) for policy in chosen if policy != current.policy)]
    total = len(first) + len(lingers_s)
    found: list[Answer] = []
    for one in Helper(snapshot, first, seconds):
        found.append(one)
        done(len(found), total)
    made = [one for one in found if not isinstance(one, Failed)]
    if not made:
        raise PolicyError(found[0].reason if isinstance(found[0], Failed) else "nothing was forecast")
    winner = ranked(made)[0].alternative.policy
    for one in Helper(snapshot, [Alternative(winner, linger) for linger in lingers_s], seconds):
        found.append(one)
        done(len(found), total)
    failed = [one for one in found if isinstance(one, Failed)]
    return Advice(current, [one for one in found if not isinstance(one, Failed)], failed, seconds)


def _all_others(current: PolicySettings) -> list[PolicySettings]:
    """Every policy, but those that choose among others. Those that can schedule whole queries do: fewer calls."""
    found = []
    for name, kind in POLICIES.items():
        if name not in (MASTER, ADAPTIVE):
            found.append(PolicySettings(name, {"unit": "query"} if "unit" in policy_parameters(kind) else {}))
    return [one for one in found if one != current]
