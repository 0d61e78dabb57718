"""cqc: classes in turn, each for its slice of time; in a class the highest rate first."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.base import Decision, View
from headgate.policies.class_order import ClassOrder
from headgate.policies.credit import Credit, slices
from headgate.policies.hr import HighestRate
from headgate.policies.parameters import one_of, positive
from headgate.policies.worth import Worth


class ContinuousQueryClasses(HighestRate):
    """Weighted round robin over classes with debt, and hr within a class (Al Moakar, chapter 4).

    Of each `cycle` seconds a class has the part of its priority. A call is not stopped: what a class takes too much it
    pays back by losing turns; what it leaves is lost. A class without input hands on at once. `leaves: last` runs the
    operators that read streams only when nothing else of the class is ready, as a single core does that also reads the
    sources. `fixed_costs: ignored` ranks by the cost a tuple alone, as the source does; `literal` counts debt as its
    Algorithm 1 is printed. For one slot; several share the turn.
    """

    name = "cqc"
    paper = (
        "Al Moakar: Class-Based Continuous Query Scheduling in Data Stream Management Systems (Pittsburgh, 2013), "
        "chapter 4"
    )

    def __init__(
        self, cycle: float = 1.0, leaves: str = "ranked", fixed_costs: str = "amortised", literal: bool = False
    ) -> None:
        super().__init__()
        self.cycle = positive("cycle", cycle)
        self._leaves_last = one_of("leaves", leaves, ("ranked", "last")) == "last"
        self._amortised = one_of("fixed_costs", fixed_costs, ("amortised", "ignored")) == "amortised"
        self._literal = one_of("literal", literal, (False, True))

    def start(self, view: View) -> None:
        self._order = ClassOrder(view)
        self._classes_version = view.classes_version
        self._credit = Credit(slices(self._order.priorities, self.cycle), self._literal)
        self._turn = 0  # the class that has it,
        self._since: float | None = None  # since then; None: not begun
        super().start(view)

    def lines(self) -> Sequence[int]:
        """Two lines for each class: in the second those that read streams, if they are to run last."""
        streams = self.view.plan.streams
        operators = self.view.plan.operators
        found = []
        for unit in self.view.units:
            reads = any(port.node in streams for port in operators[unit.operators[0]].inputs)
            found.append(2 * self._order.place_of[unit.index] + (self._leaves_last and reads))
        return found

    @property
    def line_count(self) -> int:
        return 2 * len(self._order.names)

    def worths(self) -> Sequence[Worth | None]:
        found = super().worths()
        return found if self._amortised else [None if w is None else w._replace(fixed_s=0.0) for w in found]

    def choose(self, slot: int) -> Decision | None:
        if self._version != self.view.stats_version:
            self._refresh()
        if self._classes_version != self.view.classes_version:
            self.start(self.view)
        now, looked, idle = self.view.now, 0, 0
        while idle < len(self._order.names):  # classes without input, one after the other
            looked += 1
            lines = (2 * self._turn, 2 * self._turn + 1)
            if self._may_go_on(now):
                unit = self.best(lines[0]) or self.best(lines[1])
                if unit is not None:
                    self._entries[unit.index] = None
                    return Decision(unit, inspected=looked)
                idle += 1
            else:
                idle = 0 if any(map(self.waits, lines)) else idle + 1
            self._end_turn(now)
            self._turn = (self._turn + 1) % len(self._order.names)
        return None

    def _may_go_on(self, now: float) -> bool:
        """Has the class whose turn it is time left? Its turn begins here."""
        if self._since is None:
            if not self._credit.may_run(self._turn):
                return False
            self._since = now
        return now - self._since < self._credit.left(self._turn)

    def _end_turn(self, now: float) -> None:
        if self._since is not None:
            self._credit.used(self._turn, now - self._since)
            self._since = None
