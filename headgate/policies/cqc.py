"""cqc: classes in turn, each for its slice of time; in a class the highest rate first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headgate.policies.class_credit import Credit, slices
from headgate.policies.class_order import ClassOrder
from headgate.policies.hr import HighestRate
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.parameters import one_of, positive
from headgate.scheduling.policy import TOLERANCE, Decision, FinishedCall, View

POLLS = 2  # that find nothing, after which a class that reads its own sources hands on


class ContinuousQueryClasses(HighestRate):
    """Weighted round robin over classes with debt, and hr within a class (Al Moakar, chapter 4).

    Of each `cycle` seconds a class has the part of its priority. A call is not stopped: what a class takes too much it
    pays back by losing turns; what it leaves is lost. A class without input hands on at once; with `leaves: last`,
    where it reads its sources itself, it has polled them twice in vain then, which is counted as inspected. `leaves`,
    `fixed_costs` and `roots` are those of hr; `literal` counts debt as Algorithm 1 of the source is printed. For one
    slot; several share the turn.
    """

    name = "cqc"
    paper = f"{AL_MOAKAR}, chapter 4"

    def __init__(
        self,
        cycle: float = 1.0,
        leaves: Literal["ranked", "last"] = "ranked",
        fixed_costs: Literal["amortised", "ignored"] = "amortised",
        literal: bool = False,
        roots: Literal["ranked", "copied"] = "ranked",
    ) -> None:
        super().__init__(leaves, fixed_costs, roots=roots)
        self.cycle = positive("cycle", cycle)
        self._literal = one_of("literal", literal, (False, True))

    def start(self, view: View) -> None:
        self._order = ClassOrder(view)
        self._classes_version = view.classes_version
        self._credit = Credit(slices(self._order.priorities, self.cycle), self._literal)
        self._turn = 0  # the class that has it,
        self._since: float | None = None  # since then; None: not begun
        self._opener: int | None = None  # the slot of its first call, until that has ended
        self._switches = 0  # turns begun since the last decision
        super().start(view)

    def rankings(self) -> Sequence[int]:
        return self._order.place_of

    @property
    def ranking_count(self) -> int:
        return len(self._order.names)

    def choose(self, slot: int) -> Decision | None:
        if self._version != self.view.stats_version:
            self._refresh()
        if self._classes_version != self.view.classes_version:
            self.start(self.view)
        now, idle, polled = self.view.now, 0, 0
        self._empty = 0
        while idle < len(self._order.names):  # classes without input, one after the other
            if self._may_go_on(now, slot):
                unit = self.best(self._turn)
                if unit is not None:
                    self._entries[unit.index] = None
                    switches, self._switches = self._switches, 0
                    return Decision(unit, inspected=polled + self._empty, switches=switches)
                idle += 1
                polled += POLLS * self._leaves_of[self._turn]
            else:
                idle = 0 if self.has_ready(self._turn) else idle + 1
            self._hand_on(now)
        self._switches = 0  # turns with nothing to do anywhere cost nobody anything
        return None

    def finished(self, call: FinishedCall) -> None:
        if self._opener == call.slot:  # going on to the class is no part of its time: only now is it known how long
            self._since, self._opener = call.started, None

    def ran_dry(self) -> None:
        self._hand_on(self.view.now)

    def _may_go_on(self, now: float, slot: int) -> bool:
        """Has the class whose turn it is time left? Its turn begins here. A poll of its sources is not broken off."""
        if self._since is None:
            if not self._credit.may_run(self._turn):
                return False
            self._since, self._opener = now, slot
            self._switches += 1
        left = self._credit.left(self._turn)
        return now - self._since < left * (1.0 - TOLERANCE) or self.polls(self._turn)

    def _hand_on(self, now: float) -> None:
        """The turn is over, if it had begun: the next class has it."""
        if self._since is not None:
            self._credit.used(self._turn, now - self._since)
        self._since = self._opener = None
        self._turn = (self._turn + 1) % len(self._order.names)
