"""Harnesses that drive a policy on a real board, with queues of arrival times instead of tuples."""

from dataclasses import replace

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board


class Waiting:
    """A queue as the scheduler sees it: arrival times only."""

    def __init__(self):
        self.arrivals = []

    count = property(lambda self: len(self.arrivals))
    oldest = property(lambda self: self.arrivals[0] if self.arrivals else None)
    bytes = property(lambda self: 8.0 * len(self.arrivals))


class PolicyHarness:
    """Drives a policy: `feed` fills its queues, `run` carries out one decision."""

    def __init__(self, plan, name, call_fixed_s=0.0, slots=1, **parameters):
        self.queues = {edge: Waiting() for edge in plan.edges}
        self.policy = make_policy(name, parameters)
        self.stats = DeclaredStats(plan)  # a test may replace them; `board.learned()` notifies the policy
        self.board = Board(plan, self.queues, self.policy, self, slots, call_fixed_s)

    def of(self, operator):
        """Statistics as the board asks for them."""
        return self.stats.of(operator)

    def stream_bytes(self, stream):
        return self.stats.stream_bytes(stream)

    def feed(self, operator, *arrivals, port=0):
        edge = Edge(operator, port)
        self.queues[edge].arrivals += arrivals
        self.board.fed(edge)

    def run(self):
        """Carry out one decision, which takes one tuple, the oldest."""
        claim = self.board.claim(0)
        if claim is None:
            return None
        unit = claim.decision.unit
        first = min((q for q in unit.queues if q.arrivals), key=lambda q: q.oldest)
        first.arrivals.pop(0)
        self.board.release(claim, 1, 0)
        return claim.decision

    def order(self):
        """The units of all decisions until no tuple waits."""
        return [decision.unit.id for decision in iter(self.run, None)]


class TimedHarness:
    """Drives a policy that has several slots, by a clock that the test moves."""

    def __init__(self, plan, name, slots=1, call_fixed_s=0.0, latencies=None, **parameters):
        self.queues = {edge: Waiting() for edge in plan.edges}
        self.latencies = latencies or {}
        self.stats = AdjustableStats(plan)
        self.policy = make_policy(name, parameters)
        self.board = Board(plan, self.queues, self.policy, self.stats, slots, call_fixed_s, self.latency)

    def latency(self, name, now, statistic, since):
        """The latency of a class, as set by the test."""
        return self.latencies.get(name)

    def feed(self, operator, tuples=1):
        edge = Edge(operator, 0)
        self.queues[edge].arrivals += [self.board.now] * tuples
        self.board.fed(edge)

    def begin(self, slot=0):
        """Carry out a decision and take its input. Returns the claim, or None."""
        claim = self.board.claim(slot)
        if claim is not None:
            left = claim.decision.tuples
            for queue in claim.decision.unit.queues:
                taken = len(queue.arrivals) if left is None else min(left, len(queue.arrivals))
                del queue.arrivals[:taken]
        return claim

    def end(self, claim, seconds=0.0, tuples=1):
        self.board.now += seconds
        self.board.release(claim, tuples, 0)

    def run(self, seconds=0.0):
        """Carry out a whole call. Returns its decision, or None."""
        claim = self.begin()
        if claim is None:
            return None
        self.end(claim, seconds)
        return claim.decision


class AdjustableStats:
    """Declared statistics, except for the selectivities that a test sets."""

    def __init__(self, plan):
        self._declared = DeclaredStats(plan)
        self.selectivities = {}

    def of(self, operator):
        stats = self._declared.of(operator)
        passed = self.selectivities.get(operator)
        return stats if passed is None else replace(stats, selectivity=passed)

    def stream_bytes(self, stream):
        return None
