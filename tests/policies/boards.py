"""A board with queues of arrival times, for the tests of policies and of the board itself."""

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


class Bench:
    """A policy at work: `feed` its queues, `run` its decisions one after another."""

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
