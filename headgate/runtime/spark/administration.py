"""What the administrator changes while a run goes on: the policy, priorities, the classes of queries."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

from headgate.application.checked import PolicySettings
from headgate.metrics.monitor import Monitor
from headgate.plan.model import Plan
from headgate.policies.parameters import whole
from headgate.policies.registry import make_policy
from headgate.runtime.spark.calls.caller import Caller
from headgate.scheduling.board import Board

log = logging.getLogger("headgate.spark")


class Administered(ABC):
    """The part of a run that can be changed from outside. Each change is made under the runtime's lock."""

    _board: Board
    _caller: Caller
    _changed: threading.Condition
    _monitor: Monitor
    _plan: Plan
    _policy: PolicySettings

    @abstractmethod
    def now(self) -> float:
        """Seconds since the run began."""

    def use(self, policy: PolicySettings, reason: str = "asked for") -> None:
        """Replace the policy while running."""
        with self._changed:
            self._board.now = self.now()
            self._board.install(make_policy(policy.name, policy.parameters))
            self._caller.keep(self._board.plan, self._board.units)
            log.info("policy %s takes over from %s: %s", policy.name, self._policy.name, reason)
            self._monitor.switched(self.now(), self._policy.name, policy.name, reason)
            self._policy = policy
            self._changed.notify_all()

    def set_priority(self, class_name: str, priority: int) -> None:
        """Give a class another priority while running; policies follow it as they do (see the docs)."""
        whole("priority", priority)
        with self._changed:
            before, plan = self._plan.priorities, self._plan.with_priority(class_name, priority)
            log.info("class %s has priority %d now, was %d", class_name, priority, before[class_name])
            self._set_classes(plan)

    def set_class(self, query: str, class_name: str) -> None:
        """Put a query into another class while running. What it gave so far counts for that class too, from now on."""
        with self._changed:
            before, plan = self._plan.queries, self._plan.with_class(query, class_name)
            log.info("query %s is in class %s now, was in %s", query, class_name, before[query].class_name)
            self._set_classes(plan)

    def _set_classes(self, plan: Plan) -> None:
        """Go on with other priorities, or other classes of queries. Lock held."""
        self._plan = plan
        self._board.set_classes(plan)
        self._caller.keep(self._board.plan, self._board.units)
        self._monitor.use(self.now(), plan)
        self._changed.notify_all()
