"""What a run goes on from: the state in a checkpoint, fitted to the application as it is now."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.application.fingerprint import fingerprint, what_changed
from headgate.errors import ApplicationError, first_few
from headgate.plan.added_queries import merge_plans, plan_of_added
from headgate.plan.changed_settings import policy_data, with_changes
from headgate.plan.model import Plan
from headgate.plan.weighing import weighed
from headgate.runtime.spark.checkpoint.store import Saved
from headgate.runtime.spark.joining import Group

log = logging.getLogger("headgate.checkpoint")


@dataclass(frozen=True)
class Resumed:
    """A checkpoint, as far as it concerns the application."""

    saved: Saved
    plan: Plan  # of the queries that go on
    fresh: tuple[str, ...]  # queries that begin anew: those that the checkpoint does not have, or that had ended
    policy: PolicySettings
    later: frozenset[str]  # places of queries and streams that have a name of the checkpoint and are others

    @property
    def state(self) -> Mapping[str, Any]:
        """What the checkpoint holds."""
        found: Mapping[str, Any] = self.saved.state
        return found

    def parts(self, key: str, place: str) -> dict[str, Any]:
        """What the checkpoint holds under `sinks` or `sources`, of the queries or streams that are still the same."""
        return {name: one for name, one in self.state[key].items() if f"{place}.{name}" not in self.later}


def resume(app: CheckedApplication, saved: Saved) -> Resumed:
    """Fit a checkpoint to an application. ApplicationError: streams or queries are not what they were."""
    state = saved.state
    since = app.checkpoint.since if app.checkpoint is not None else None
    later = _begun_after(state, since or {})
    others = {name for name in app.plan.queries if f"queries.{name}" in later}
    running = [name for name in state["running"] if name in app.plan.queries and name not in others]
    fresh = tuple(name for name in app.plan.queries if name not in running)
    plan = joined(app.plan.without(others), state["groups"], running)
    _refuse_changes(saved, what_changed(state["application"], fingerprint(plan, app.seed)))
    _log_differences(state, app, fresh, others)
    if since is None:
        plan = with_changes(plan, *state["settings"])
    return Resumed(saved, plan, fresh, _policy(app.policy, *state["policy"]), later)


def _begun_after(state: Mapping[str, Any], since: Mapping[str, float]) -> frozenset[str]:
    """The places of what is in the application since a time after the cut."""
    return frozenset(place for place, at in since.items() if at > state["epoch_us"] / 1e6 + state["at"])


def joined(plan: Plan, groups: Iterable[Group], running: Collection[str]) -> Plan:
    """The plan of the running queries, with the operators that they got when they joined.

    `plan` is that of all queries at once. Queries that join later have operators of their own (`plan.added_queries`).
    """
    found = plan.without(plan.queries)
    for names, beside in groups:
        before = [name for name in beside if name in plan.queries]
        part = plan.without(plan.queries.keys() - {*before, *names})
        added = weighed(plan_of_added(part, before))
        found = merge_plans(found, added.without(added.queries.keys() - set(running)))
    return found


def _refuse_changes(saved: Saved, changed: Mapping[str, str]) -> None:
    if not changed:
        return
    (place, problem), *others = changed.items()
    also = f"; also changed: {', '.join(name for name, _ in others)}" if others else ""
    remedy = "change it back, give it another name so that it begins anew, or start over with --fresh"
    what = f"it is not what it was in checkpoint {saved.number} of {saved.written}: {problem}{also}"
    raise ApplicationError(place, what, remedy)


def _log_differences(
    state: Mapping[str, Any], app: CheckedApplication, fresh: Sequence[str], others: Collection[str]
) -> None:
    known = {name for names, _ in state["groups"] for name in names}
    if gone := [name for name in state["running"] if name not in app.plan.queries]:
        log.warning("the state of queries that are not in the application any more is dropped: %s", first_few(gone))
    for name in fresh:
        if name in known and name not in others:
            log.warning("query %s had ended: it begins anew, with what arrives from now on", name)
        else:
            log.info("query %s is new: it begins with what arrives from now on", name)


def _policy(given: PolicySettings, before: Mapping[str, Any], after: Mapping[str, Any]) -> PolicySettings:
    """The policy that was chosen while it ran, unless the application has another one now."""
    if policy_data(given) != before or before == after:
        return given
    return PolicySettings(after["name"], after["parameters"])
