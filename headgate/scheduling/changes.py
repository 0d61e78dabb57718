"""What is changed in a running application from outside: its policy, policies of queries, priorities, classes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headgate.plan.model import Plan
from headgate.scheduling.core_settings import CoreSettings, MakePolicy
from headgate.scheduling.events import PolicyReplaced, PriorityChanged, QueryClassChanged, QueryPolicyChanged
from headgate.scheduling.policy import Policy

if TYPE_CHECKING:
    from headgate.scheduling.core import Core

log = logging.getLogger("headgate.scheduling")

Change = PolicyReplaced | PriorityChanged | QueryClassChanged | QueryPolicyChanged


class Changes:
    """Applies changes to the core, and knows the application's policy. A change is applied at once or refused."""

    def __init__(self, core: Core, settings: CoreSettings, make_policy: MakePolicy) -> None:
        self.policy = settings.policy  # its name,
        self.parameters = settings.parameters  # and its parameters
        self._core = core
        self._make_policy = make_policy

    def apply(self, change: Change) -> None:
        """Raises ValueError if it is refused; then nothing has changed."""
        match change:
            case PolicyReplaced():
                self._replace_policy(change)
            case PriorityChanged(class_name=name, priority=priority):
                before = self._core.plan.priorities
                plan = self._core.plan.with_priority(name, priority)
                log.info("class %s has priority %d now, was %d", name, priority, before[name])
                self._core.set_classes(plan)
            case QueryClassChanged(query=query, class_name=name):
                known = self._core.plan.queries
                plan = self._core.plan.with_class(query, name)
                log.info("query %s is in class %s now, was in %s", query, name, known[query].class_name)
                self._core.set_classes(plan)
            case QueryPolicyChanged():
                self._set_query_policy(change)

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
        core.carry_on(core.plan, self._make_policy(change.name, change.parameters, core.plan))
        log.info("policy %s takes over from %s: %s", change.name, self.policy, change.reason)
        core.monitor.switched(change.at, self.policy, change.name, change.reason)
        self.policy, self.parameters = change.name, change.parameters

    def _set_query_policy(self, change: QueryPolicyChanged) -> None:
        core, query = self._core, change.query
        plan = core.plan.with_policy(query, change.policy)
        before = core.plan.queries[query].policy
        names = [self.policy if one is None else one.name for one in (before, change.policy)]
        core.carry_on(plan, self.policy_for(plan))
        log.info("query %s: policy %s takes over from %s: %s", query, names[1], names[0], change.reason)
        core.monitor.switched_query(change.at, query, names[0], names[1], change.reason)
