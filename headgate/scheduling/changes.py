"""What is changed in a running application from outside: policies, priorities, classes, promises, streams, tables."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headgate.errors import first_few
from headgate.plan.model import Plan
from headgate.plan.weighing import lacks_weights, sheddable
from headgate.scheduling.core_settings import CoreSettings, MakePolicy
from headgate.scheduling.events import (
    ClassAdded,
    ClassRemoved,
    Event,
    PolicyReplaced,
    PriorityChanged,
    QueryClassChanged,
    QueryLingerChanged,
    QueryPolicyChanged,
    QueryQosChanged,
    QueryToleranceChanged,
    SheddingChanged,
    StreamRemoved,
    TableRemoved,
)
from headgate.scheduling.policy import Policy
from headgate.scheduling.shedder import shedders_of

if TYPE_CHECKING:
    from headgate.scheduling.core import Core

log = logging.getLogger("headgate.scheduling")


class Changes:
    """Applies changes to the core, and knows the application's policy. A change is applied at once or refused."""

    def __init__(self, core: Core, settings: CoreSettings, make_policy: MakePolicy) -> None:
        self.policy = settings.policy  # its name,
        self.parameters = settings.parameters  # and its parameters
        self._core = core
        self._seed = settings.seed
        self._make_policy = make_policy

    def apply(self, change: Event) -> None:
        """Raises ValueError if it is refused; then nothing has changed."""
        core = self._core
        match change:
            case PolicyReplaced():
                self._replace_policy(change)
            case PriorityChanged(class_name=name, priority=priority):
                before = core.plan.priorities
                plan = core.plan.with_priority(name, priority)
                log.info("class %s has priority %d now, was %d", name, priority, before[name])
                self._set_classes(plan)
            case QueryClassChanged(query=query, class_name=name):
                known = core.plan.queries
                plan = core.plan.with_class(query, name)
                log.info("query %s is in class %s now, was in %s", query, name, known[query].class_name)
                self._set_classes(plan)
            case QueryPolicyChanged():
                self._set_query_policy(change)
            case QueryLingerChanged(query=query, linger_s=linger_s):
                plan = core.plan.with_linger(query, linger_s)
                core.board.set_lingers(plan)
                core.go_on(plan)
            case SheddingChanged(edge=edge, extra=extra):
                if edge in core.shedders:  # else its query has ended, or tolerates nothing any more
                    core.shedders[edge].set(extra)
            case QueryQosChanged(query=query, qos=qos):
                self._set_promises(core.plan.with_qos(query, qos))
                log.info("query %s is promised %s now", query, ", ".join(one.name for one in qos) or "nothing")
            case QueryToleranceChanged():
                self._set_tolerance(change)
            case ClassAdded(added=added):
                self._set_known_classes(core.plan.with_added_class(added))
            case ClassRemoved(class_name=name):
                self._remove_class(name)
            case StreamRemoved(stream=name):
                self._set_sources(core.plan.without_stream(name))
            case TableRemoved(table=name):
                self._set_sources(core.plan.without_table(name))
            case _:
                raise TypeError(f"{type(change).__name__} is not an event that the core knows")

    def first_policy(self) -> Policy:
        """The policy to start with."""
        return self._make_policy(self.policy, self.parameters, self._core.plan)

    def policy_for(self, plan: Plan) -> Policy:
        """The policy for a changed plan: another one only if queries now have policies of their own, or no longer."""
        fresh = self._make_policy(self.policy, self.parameters, plan)
        current = self._core.board.policy
        return current if type(fresh) is type(current) else fresh

    def _replace_policy(self, change: PolicyReplaced) -> None:
        core = self._core
        self._install(core.plan, self._make_policy(change.name, change.parameters, core.plan))
        fields = {"kind": "policy", "to": change.name, "from": self.policy, "reason": change.reason}
        log.info("policy %s takes over from %s: %s", change.name, self.policy, change.reason, extra=fields)
        core.monitor.switched(change.at, self.policy, change.name, change.reason)
        self.policy, self.parameters = change.name, change.parameters

    def _set_query_policy(self, change: QueryPolicyChanged) -> None:
        core, query = self._core, change.query
        plan = core.plan.with_policy(query, change.policy)
        before = core.plan.queries[query].policy
        names = [self.policy if one is None else one.name for one in (before, change.policy)]
        self._install(plan, self.policy_for(plan))
        fields = {"kind": "policy", "query": query, "to": names[1], "from": names[0], "reason": change.reason}
        log.info("query %s: policy %s takes over from %s: %s", query, *names[::-1], change.reason, extra=fields)
        core.monitor.switched_query(change.at, query, names[0], names[1], change.reason)

    def _install(self, plan: Plan, policy: Policy) -> None:
        self._core.board.install(policy, plan)
        self._core.go_on(plan)

    def _set_classes(self, plan: Plan) -> None:
        """Continue with changed priorities, or changed classes of queries."""
        self._core.board.set_classes(plan)
        self._core.monitor.set_plan(self._core.board.now, plan)
        self._core.go_on(plan)

    def _set_known_classes(self, plan: Plan) -> None:
        """Continue with one class more or less: policies may keep lists of classes."""
        self._core.monitor.set_plan(self._core.board.now, plan)
        self._install(plan, self.policy_for(plan))

    def _remove_class(self, name: str) -> None:
        plan = self._core.plan.without_class(name)
        if members := [query.name for query in self._core.monitor.plan.queries.values() if query.class_name == name]:
            raise ValueError(f"it is the class of {first_few(members)}; remove them, or put them into another class")
        self._set_known_classes(plan)

    def _set_promises(self, plan: Plan) -> None:
        """Continue with a plan in which a query is promised something else, or tolerates another error."""
        self._core.board.set_promises(plan)
        self._core.monitor.set_plan(self._core.board.now, plan)
        self._core.go_on(plan)

    def _set_tolerance(self, change: QueryToleranceChanged) -> None:
        core, name = self._core, change.query
        plan = core.plan.with_tolerance(name, change.tolerance, change.shed)
        query = plan.queries[name]
        if sheddable(plan, query) and lacks_weights(plan, query):
            problem = "it was registered without a tolerance, so its results cannot count for what would be dropped"
            raise ValueError(f"{problem}; remove it and register it again with the tolerance")
        others = {edge: one for edge, one in core.shedders.items() if one.query != name}
        fresh = {edge: one for edge, one in shedders_of(plan, self._seed).items() if one.query == name}
        core.shedders = others | fresh  # which drop nothing yet
        self._set_promises(plan)
        log.info("query %s tolerates an error of %s now", name, change.tolerance or "nothing")

    def _set_sources(self, plan: Plan) -> None:
        """Continue without a stream or a table: another may take its name."""
        core = self._core
        core.board.plan = plan
        core.time.forget(plan)
        core.stats.forget_streams(plan)
        core.recent.forget(plan.streams)
        core.profile.forget(plan)
        core.go_on(plan)
