"""What happens at set times of a run, besides arrivals and calls.

Priorities change, selectivities are measured, the policy looks at how things went, and so does the optimizer.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from headgate.application.checked import Change
from headgate.metrics.monitor import Monitor
from headgate.plan.model import Plan, PolicySettings
from headgate.policies.registry import make_policy
from headgate.qos.optimizer import Optimizer
from headgate.runtime.simulated.network import Network, NetworkNode
from headgate.scheduling.board import Board
from headgate.scheduling.events import QueryLingerChanged, QueryPolicyChanged, SheddingChanged

MEASURE_EVERY_S = 0.1  # between two measurements of selectivities that change
WINDOW_S = 0.5  # a selectivity is measured over this time,
LEAST_TUPLES = 200  # or over this many tuples if they take longer


class TimedChanges:
    """The changes still to come. `next` is the time of the first one; `apply_due` makes those that are due."""

    def __init__(
        self,
        changes: Sequence[Change],
        varying: Sequence[str],
        network: Network,
        board: Board,
        monitor: Monitor,
        policy: PolicySettings,
        optimizer: Optimizer | None = None,
    ) -> None:
        self._changes = deque(sorted(changes, key=lambda change: change.at_s))
        self._network = network
        self._board = board
        self._monitor = monitor
        self._policy = policy
        self._optimizer = optimizer
        self._varying = [_VaryingOperator(network.nodes[name]) for name in varying]
        self._measure_at = MEASURE_EVERY_S if varying else math.inf
        self.next = math.inf
        self._find_next()

    def apply_due(self) -> None:
        """Make the changes that are due at the board's time."""
        now = self._board.now
        while self._changes and self._changes[0].at_s <= now:
            for name, priority in self._changes.popleft().priorities.items():
                plan = self._board.plan.with_priority(name, priority)
                self._board.set_classes(plan)
                self._monitor.set_plan(now, plan)
        if self._measure_at <= now:
            self._measure_at += MEASURE_EVERY_S
            for operator in self._varying:
                operator.measure(now, self._network)
            self._board.learned()
        if self._board.policy.review_at <= now:
            self._board.review()
        if self._optimizer is not None and self._optimizer.next <= now:
            self._optimize(self._optimizer)
        self._find_next()

    def _optimize(self, optimizer: Optimizer) -> None:
        plan, switched, lingers = self._board.plan, False, False
        for change in optimizer.review():
            if isinstance(change, QueryPolicyChanged):
                plan, switched = self._switch(plan, change), True
            elif isinstance(change, QueryLingerChanged):
                plan = plan.with_linger(change.query, change.linger_s)
                lingers = True
            elif isinstance(change, SheddingChanged):
                self._network.shedders[change.edge].set(change.extra)
        if lingers:
            self._board.set_lingers(plan)
        if switched:
            policy = make_policy(self._policy.name, self._policy.parameters, plan)
            kept = self._board.policy if type(policy) is type(self._board.policy) else policy
            self._board.install(kept, plan)

    def _switch(self, plan: Plan, change: QueryPolicyChanged) -> Plan:
        before = plan.queries[change.query].policy or self._policy
        after = change.policy or self._policy
        self._monitor.switched_query(change.at, change.query, before.name, after.name, change.reason)
        return plan.with_policy(change.query, change.policy)

    def _find_next(self) -> None:
        change = self._changes[0].at_s if self._changes else math.inf
        optimizer = math.inf if self._optimizer is None else self._optimizer.next
        self.next = min(change, self._measure_at, self._board.policy.review_at, optimizer)


class _VaryingOperator:
    """An operator whose selectivity changes, and its counters at the last measurements."""

    def __init__(self, node: NetworkNode) -> None:
        self._node = node
        self._seen: deque[tuple[float, int, float]] = deque([(0.0, 0, 0.0)])  # time, tuples in, tuples out

    def measure(self, now: float, network: Network) -> None:
        tuples, passed, seen = self._node.processed, float(self._node.out), self._seen
        while len(seen) > 1 and seen[1][0] <= now - WINDOW_S and tuples - seen[1][1] >= LEAST_TUPLES:
            seen.popleft()
        _, tuples_then, passed_then = seen[0]
        if tuples > tuples_then:
            network.stats.measured(self._node.id, (passed - passed_then) / (tuples - tuples_then))
        seen.append((now, tuples, passed))
