"""cqc: classes in turn, each for its slice of time; within a class, the highest rate first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from headgate.policies.class_credit import ClassCredit, slices
from headgate.policies.class_order import ClassOrder
from headgate.policies.hr import HighestRate
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.parameters import one_of, positive, whole
from headgate.scheduling.policy import TOLERANCE, Decision, FinishedCall, View

VAIN_POLLS = 2  # without a limit, a class passes its turn on after this many polls of its sources in vain


class ContinuousQueryClasses(HighestRate):
    """Weighted round robin over classes with debt, and hr within a class (Al Moakar, chapter 4).

    A class gets a share of each `cycle` seconds proportional to its priority. A call is never stopped: a class that
    overruns its slice forfeits later turns; time that it leaves is lost. A class without input passes its turn on at
    once. With `leaves: last`, a class reads its sources itself: at most `polls` times in a turn, or if that is null as
    long as they bring something and time is left, and then twice in vain. What it polls in vain counts as inspected.
    `train` is the most tuples of a call: without it, a class that has fallen behind can hold up all others with one
    call. `leaves`, `fixed_costs` and `roots` are those of hr; `literal` counts debt as Algorithm 1 of the source is
    printed. Made for one slot; several slots share one turn.
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
        polls: int | None = None,
        train: int | None = None,
    ) -> None:
        super().__init__(leaves, fixed_costs, roots=roots)
        self._train = None if train is None else whole("train", train)
        self._most_polls = None if polls is None else whole("polls", polls)
        self.cycle = positive("cycle", cycle)
        self._literal = one_of("literal", literal, (False, True))

    def start(self, view: View) -> None:
        self._order = ClassOrder(view)
        self._classes_version = view.classes_version
        self._credit = ClassCredit(slices(self._order.priorities, self.cycle), self._literal)
        self._turn = 0  # the class whose turn it is
        self._since: float | None = None  # when the turn began; None: not yet
        self._opener: int | None = None  # the slot of the turn's first call, until that call has ended
        self._switches = 0  # turns begun since the last decision
        self._polls = 0  # begun in this turn
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
        while idle < len(self._order.names):  # classes without input, one after another
            if self._may_go_on(now, slot):
                unit = self.best(self._turn)
                if unit is not None:
                    self._entries[unit.index] = None
                    switches, self._switches = self._switches, 0
                    return Decision(unit, tuples=self._train, inspected=polled + self._empty, switches=switches)
                idle = 0 if self.has_ready(self._turn) else idle + 1
                vain = VAIN_POLLS if self._most_polls is None else self._most_polls - self._polls
                polled += vain * self._leaves_of[self._turn]
            else:
                idle = 0 if self.has_ready(self._turn) else idle + 1
            self._pass_on(now)
        self._switches = 0  # if no class has input, these turns are not charged
        return None

    def begins_poll(self, ranking: int) -> bool:
        if self._polls == self._most_polls:
            return False
        self._polls += 1
        return True

    def finished(self, call: FinishedCall) -> None:
        if (
            self._opener == call.slot
        ):  # switching to the class does not count as its time, and only now it is known how long that took
            self._since, self._opener = call.started, None

    def ran_dry(self) -> None:
        if self._order.names:  # none is left when the last query stopped during the call
            self._pass_on(self.view.now)

    def _may_go_on(self, now: float, slot: int) -> bool:
        """Has the class whose turn it is any time left? Begins the turn. A poll of its sources is never cut short."""
        if self._since is None:
            if not self._credit.may_run(self._turn):
                return False
            self._since, self._opener = now, slot
            self._switches += 1
        left = self._credit.left(self._turn)
        return now - self._since < left * (1.0 - TOLERANCE) or self.polls(self._turn)

    def _pass_on(self, now: float) -> None:
        """End the turn, if it had begun, and pass it on to the next class."""
        if self._since is not None:
            self._credit.used(self._turn, now - self._since)
        self._since = self._opener = None
        self._polls = 0
        self._turn = (self._turn + 1) % len(self._order.names)
