"""The cut of a checkpoint: references to everything that a run needs to go on, taken between calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.application.fingerprint import fingerprint
from headgate.plan.changed_settings import policy_data, settings_of
from headgate.plan.model import Plan
from headgate.runtime.spark.clock import RunClock
from headgate.runtime.spark.joining import Joining
from headgate.runtime.spark.query_sinks import QuerySinks
from headgate.runtime.spark.stateful.state import States
from headgate.scheduling.core import Core
from headgate.scheduling.core_state import state_of


@dataclass(frozen=True)
class Cut:
    """A run at one moment. Nothing in it changes any more, so it can be written while the run goes on."""

    state: dict[str, Any]  # without what follows from the plan
    plan: Plan
    given: Mapping[str, Any]  # settings of its queries as they joined, without what was changed since
    seed: int

    @property
    def whole_state(self) -> dict[str, Any]:
        """What a checkpoint holds. Takes a while with many queries."""
        settings = [dict(self.given), settings_of(self.plan)]
        return {**self.state, "application": fingerprint(self.plan, self.seed), "settings": settings}


def take_cut(
    app: CheckedApplication,
    core: Core,
    states: States,
    sinks: QuerySinks,
    positions: Mapping[str, Any],
    clock: RunClock,
    joining: Joining,
) -> Cut:
    """The run now. The caller holds the lock, and no call is in flight. SpillError: rows on disk cannot be held."""
    state = {
        "at": clock.now(),
        "epoch_us": clock.epoch_us,
        "groups": [[list(names), list(beside)] for names, beside in joining.groups],
        "running": list(core.plan.queries),
        "policy": [policy_data(app.policy), policy_data(PolicySettings(core.policy, core.changes.parameters))],
        "core": state_of(core),
        "operators": states.state(),
        "sources": dict(positions),
        "sinks": sinks.end_epochs(),
        "staged": [query for query, sink in [*sinks.items()] if sink in sinks.staged],
    }
    return Cut(state, core.plan, {key: dict(found) for key, found in joining.given.items()}, app.seed)
