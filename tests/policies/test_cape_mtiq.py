"""Table 1 of Sutherland, Pielech and Rundensteiner (CAPE): mtiq and fifo on the plan of their figure 1.

Op1 (selectivity 0.9, 1 s), Op2 (0.1, 0.25 s), Op3 (1, 0.75 s); a batch arrives at Op1 at 0, 1, 2, ... Queues hold
fractions of batches. A call takes up to one batch and always lasts equally long. The simulator cannot do this: its
tuples are whole, and the time of a call depends on their number. So the example has a small loop of its own; the
policy and the board are the real ones.
"""

from fractions import Fraction as F
from itertools import pairwise

import pytest

from headgate.metrics.stats import DeclaredStats
from headgate.plan.model import Edge
from headgate.policies.registry import make_policy
from headgate.scheduling.board import Board
from tests.conformance.plans import feeder, make_plan, select

NAMES = ("q/Op1", "q/Op2", "q/Op3")
PASSED = dict(zip(NAMES, (F(9, 10), F(1, 10), F(1)), strict=True))
TIMES = dict(zip(NAMES, (F(1), F(1, 4), F(3, 4)), strict=True))
NEXT = dict(pairwise(NAMES))


class FractionQueue:
    """A queue of parts of batches: (arrival of the batch, amount)."""

    def __init__(self):
        self.parts = []

    count = property(lambda self: sum(amount for _, amount in self.parts))
    oldest = property(lambda self: self.parts[0][0] if self.parts else None)
    bytes = property(lambda self: 8.0 * float(self.count))

    def take(self):
        """Take at most one batch. Returns the amounts, each with the batch it comes from."""
        left, taken = F(1), []
        while left and self.parts:
            arrival, amount = self.parts.pop(0)
            part = min(left, amount)
            taken.append((arrival, part))
            if amount > part:
                self.parts.insert(0, (arrival, amount - part))
            left -= part
        return taken


class Example:
    """The plan under a policy; `totals` and `given` are Table 1's columns, `calls` lists what ran when."""

    def __init__(self, policy, until, **parameters):
        sources = dict(zip(NAMES, ("s", *NAMES), strict=False))
        operators = [select(name, sources[name], float(TIMES[name]), float(PASSED[name])) for name in NAMES]
        plan = make_plan({"s": feeder()}, operators, {"q": NAMES[-1]})
        self.queues = {name: FractionQueue() for name in NAMES}
        queues = {Edge(name, 0): queue for name, queue in self.queues.items()}
        self.board = Board(plan, queues, make_policy(policy, parameters), DeclaredStats(plan), slots=1)
        self.calls, self.totals, self.given = [], [], []
        self._done = F(0)
        self._run(until)

    def waiting(self):
        return tuple(queue.count for queue in self.queues.values())

    def put(self, name, parts):
        self.queues[name].parts += parts
        self.board.fed(Edge(name, 0))

    def _run(self, until):
        """The order of events at an instant: a call ends, a batch arrives, the state is recorded, a call begins."""
        now, arrival, claim, ends, taken = F(0), 0, None, None, []
        while now <= until:
            self.board.now = float(now)
            if claim is not None and ends == now:
                self._finish(claim, taken)
                claim = None
            if arrival == now:
                self.put(NAMES[0], [(arrival, F(1))])
                arrival += 1
                self.totals.append(sum(self.waiting()))
                self.given.append(self._done)
            if claim is None and (claim := self.board.claim(0)) is not None:
                name = claim.decision.unit.id
                self.calls.append((now, name.removeprefix("q/"), self.waiting()))
                taken = self.queues[name].take()
                ends = now + TIMES[name]
            now = min(arrival, arrival if claim is None else ends)

    def _finish(self, claim, taken):
        name = claim.decision.unit.id
        passed = [(arrival, amount * PASSED[name]) for arrival, amount in taken]
        if name in NEXT:
            self.put(NEXT[name], passed)
        else:
            self._done += sum(amount for _, amount in passed)
        self.board.release(claim, 1, 0)


def exactly(*numbers):
    return [F(number) for number in numbers]


def test_mtiq_column():
    example = Example("mtiq", 12)
    assert example.totals[:6] == exactly("1", "1.9", "2.8", "1.9", "1.9", "1.9")
    # The continuation: at 11.75 Op1 and Op2 hold 2 each, and the one nearer to the source runs.
    assert example.totals[6:] == exactly("2.9", "3.8", "4.7", "3.8", "3.8", "3.8", "4.7")
    assert set(example.given) == {0}


def test_what_mtiq_runs():
    calls = Example("mtiq", 12).calls
    assert calls[:6] == [
        (0, "Op1", (1, 0, 0)),
        (1, "Op1", (1, F("0.9"), 0)),
        (2, "Op2", (1, F("1.8"), 0)),
        (F("2.25"), "Op1", (1, F("0.8"), F("0.1"))),
        (F("3.25"), "Op2", (1, F("1.7"), F("0.1"))),
        (F("3.5"), "Op1", (1, F("0.7"), F("0.2"))),
    ]
    assert next((name, queues[:2]) for at, name, queues in calls if at == F("11.75")) == ("Op1", (2, 2))


def test_mtiq_starves_the_last_operator():
    """The paper has Op3 run at 14; by its own rules, queues before it grow faster than Op3's."""
    example = Example("mtiq", 200)
    assert {name for _, name, _ in example.calls} == {"Op1", "Op2"}
    first, second, third = (float(amount) / 200 for amount in example.waiting())
    assert (first, second, third) == pytest.approx((0.1525, 0.1525, 0.061), rel=0.05)


def test_fifo_column():
    """Operator by operator, the oldest batch first: it passes all three before the next one begins."""
    example = Example("fifo", 10, unit="operator")
    assert example.totals == exactly("1", "1.9", "2", "2.9", "3", "3.9", "4", "4.9", "5", "5.9", "6")
    assert example.given == [F("0.09") * (at // 2) for at in range(11)]
