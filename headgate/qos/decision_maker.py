"""The decision maker of one query: another policy first, shedding as the last resort (Kendai sections 4.2.8 and 4.4.4).

The exception is an overload that is known: no policy makes room for more than can be processed, so tuples are dropped
at once, before the backlog grows that would have to be worked off.

Algorithm 4 of the thesis with mistakes mended: violations of lower classes neither end shedding nor count as a switch,
a satisfied measure of the class under consideration does not enter the scores, and a switch clears what it replaces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from headgate.plan.model import Query
from headgate.plan.quality import NATURAL, PRIORITIES, MeasureName, Priority, QosMeasure
from headgate.qos.decision_table import CLASS_WEIGHT, reduced_weight
from headgate.qos.decisions import Decision, Kind, Step, shown
from headgate.qos.measuring import Measured

CALM = 0.8  # shedding is reduced once a measure is that share of what is expected


@dataclass(frozen=True)
class Situation:
    """What is known when a policy is to be chosen for a query."""

    now: float
    query: str
    current: str
    priority: Priority  # of the measures that are violated
    weights: Mapping[MeasureName, float]  # of those that count now
    measures: Sequence[QosMeasure]
    measured: Measured
    expected: Mapping[MeasureName, float]
    offered: float | None = None  # tuples per second that came, and those that waited already

    def is_violated(self, name: MeasureName) -> bool:
        """Is a promise broken?"""
        value, expected = self.measured.get(name), self.expected[name]
        if value is None:
            return False
        return value > expected if NATURAL[name] == "minimize" else value < expected


@dataclass(frozen=True)
class Choice:
    """The policy chosen, and the scores that led to it."""

    policy: str
    scores: Mapping[str, float]
    note: str = ""


class Selector(Protocol):
    """Chooses policies for queries whose promises are not kept."""

    def choose(self, situation: Situation) -> Choice:
        """The policy to schedule the query by from now on; the current one if no other is better."""
        ...

    def observe(self, situation: Situation) -> Choice | None:
        """A period has ended in which `current` scheduled the query. A choice: try this policy, nothing is at stake."""
        ...

    def follow(self, current: str) -> Choice | None:
        """The policy chosen for all queries, if the query has another. Asked at every review, the first included."""
        ...


class QueryShedding(Protocol):
    """What can be dropped of a query's input, step by step."""

    @property
    def active(self) -> bool:
        """Is anything dropped now?"""
        ...

    def load(self, arriving: float | None) -> float | None:
        """What so many tuples a second ask for if none is dropped: above 1 more than can be done. None: not known."""
        ...

    def more(self, arriving: float | None, in_vain: bool = False) -> Step | None:
        """Drop more, while so many tuples a second come; None: it drops all that it may.

        `in_vain`: what is dropped already has not helped.
        """
        ...

    def could_be_less(self, arriving: float | None) -> bool:
        """Would one step less do, with so many tuples a second?"""
        ...

    def less(self) -> Step | None:
        """One step less; None: nothing is dropped."""
        ...


class DecisionMaker:
    """Compares what a query gets with what it was promised, and decides at most one thing at a time."""

    def __init__(self, query: Query, selector: Selector, shedding: QueryShedding | None) -> None:
        self._query = query.name
        self._measures = query.qos
        self._selector = selector
        self._shedding = shedding
        self._intervals: tuple[int, ...] = ()
        self._policy_before: str | None = None  # that the last switch replaced,
        self._violated_before: frozenset[MeasureName] = frozenset()  # and why
        self._looked: float | None = None  # when the query was looked at last,
        self._before: Measured = {}  # and what was measured then

    def decide(
        self,
        now: float,
        look_ahead_s: float,
        measured: Measured,
        current: str,
        offered: float | None = None,
        arriving: float | None = None,
    ) -> list[Decision]:
        """What to do now. A promise is judged by what will be expected after `look_ahead_s`.

        `arriving` tuples come per second now; `offered` are these and those that waited already.
        """
        self._note_intervals(now)
        later = now + look_ahead_s
        expected = {one.name: one.graph.expected(later) for one in self._measures}
        load = None if self._shedding is None else self._shedding.load(arriving)
        foreseen = self._foreseen(measured, load, now, later)
        violated = [one for one in self._measures if one.violated(foreseen.get(one.name), later)]
        state = _State(now, later, measured, foreseen, expected, violated, current, offered, arriving, load)
        in_vain = self._is_shedding and not any(self._is_better(one, measured) for one in violated)
        self._looked, self._before = now, measured
        for priority in PRIORITIES:
            missed = [one for one in violated if one.priority == priority]
            if missed and (priority == "must" or not self._is_shedding):
                return self._mend(state, priority, missed, in_vain)
            if priority == "must" and self._is_shedding:
                return self._shed_less(state) if self._is_calm(state) else []
        situation = self._situation(
            state, "dont-care", {one.name: CLASS_WEIGHT[one.priority] for one in self._measures}
        )
        tried = self._selector.observe(situation)
        return [] if tried is None or tried.policy == current else [self._switch(state, tried, [])]

    def follow(self, now: float, current: str) -> list[Decision]:
        """The switch to what was chosen for all queries, if there is such a choice."""
        choice = self._selector.follow(current)
        if choice is None:
            return []
        self._forget_switch()
        return [Decision(now, self._query, "switch", current, choice.policy, scores=choice.scores, note=choice.note)]

    def stop_shedding(self, now: float, note: str) -> list[Decision]:
        """The promises or the tolerance are others from now on: nothing is to be dropped for those of this maker."""
        found: list[Decision] = []
        while self._shedding is not None and (step := self._shedding.less()) is not None:
            found.append(Decision(now, self._query, "stop shedding", step.before, step.after, step=step, note=note))
        return found

    def _is_calm(self, state: _State) -> bool:
        """Is every must-measure so far from being violated, and the load so low, that less shedding will do?"""
        musts = [one for one in self._measures if one.priority == "must"]
        if self._shedding is None or not self._shedding.could_be_less(state.arriving):
            return False
        return not any(one.violated(state.measured.get(one.name), state.later, CALM) for one in musts)

    @property
    def _is_shedding(self) -> bool:
        return self._shedding is not None and self._shedding.active

    def _foreseen(self, measured: Measured, load: float | None, now: float, later: float) -> Measured:
        """What was measured or, before anything is dropped in an overload, the latency of the tuples that come later.

        What was measured is the mean of a period, so about the latency in its middle. In the time that a tuple waited
        then, `load` times that time of work has come after it; and since then, more by `load - 1` each second than
        could be done.
        """
        latency = measured.get("latency")
        if load is None or load <= 1.0 or latency is None or self._looked is None or self._is_shedding:
            return measured
        if math.isinf(load):
            return measured
        middle = (self._looked + now) / 2
        return {**measured, "latency": latency * load + (load - 1.0) * (later - middle)}

    def _is_better(self, one: QosMeasure, measured: Measured) -> bool:
        """Is a measure better than when the query was looked at before?"""
        value, before = measured.get(one.name), self._before.get(one.name)
        if value is None or before is None:
            return False
        return value < before if NATURAL[one.name] == "minimize" else value > before

    def _mend(self, state: _State, priority: Priority, missed: Sequence[QosMeasure], in_vain: bool) -> list[Decision]:
        weights = {one.name: CLASS_WEIGHT[priority] for one in missed} | self._higher(state, priority)
        situation = self._situation(state, priority, weights)
        self._selector.observe(situation)
        choice = self._selector.choose(situation)
        names = tuple(one.name for one in missed)
        if self._is_cycle(choice.policy, state):
            both = {*self._violated_before, *names}
            weights = {one.name: CLASS_WEIGHT[one.priority] for one in self._measures if one.name in both}
            choice = self._selector.choose(self._situation(state, priority, weights))
            choice = Choice(choice.policy, choice.scores, "the last two switches went in a circle")
        switch = [] if choice.policy == state.current else [self._switch(state, choice, missed)]
        if switch and not (priority == "must" and state.is_overload):
            return [*self._stop_shedding(state), *switch]
        if priority != "must" or self._shedding is None:
            return []
        step = self._shedding.more(state.arriving, in_vain)
        return [*switch, *([] if step is None else [self._shed("shed more", state, step, names)])]

    def _higher(self, state: _State, priority: Priority) -> dict[MeasureName, float]:
        """The reduced weights of the satisfied measures of higher classes, by what is expected of them now."""
        above = PRIORITIES[: PRIORITIES.index(priority)]
        found: dict[MeasureName, float] = {}
        for one in self._measures:
            value = state.measured.get(one.name)
            if one.priority in above and value is not None:
                found[one.name] = reduced_weight(one, value, one.graph.expected(state.now))
        return found

    def _situation(self, state: _State, priority: Priority, weights: Mapping[MeasureName, float]) -> Situation:
        return Situation(
            state.now,
            self._query,
            state.current,
            priority,
            weights,
            self._measures,
            state.measured,
            state.expected,
            state.offered,
        )

    def _switch(self, state: _State, choice: Choice, missed: Sequence[QosMeasure]) -> Decision:
        self._policy_before = state.current
        self._violated_before = frozenset(one.name for one in state.violated)
        names = tuple(one.name for one in missed)
        return Decision(
            at=state.now,
            query=self._query,
            kind="switch",
            before=state.current,
            after=choice.policy,
            violated=names,
            expected=state.expected,
            measured=state.measured,
            scores=choice.scores,
            note="; ".join(filter(None, (choice.note, state.overload if missed else ""))),
        )

    def _is_cycle(self, policy: str, state: _State) -> bool:
        """Would this undo the last switch, because what it mended was paid for with what is violated now?"""
        if policy != self._policy_before or policy == state.current:
            return False
        names = frozenset(one.name for one in self._measures)
        violated = frozenset(one.name for one in state.violated)
        return self._violated_before == names - violated

    def _note_intervals(self, now: float) -> None:
        """What led to the last switch says nothing about another interval of a graph."""
        intervals = tuple(one.graph.interval(now) for one in self._measures)
        if intervals != self._intervals:
            self._intervals = intervals
            self._forget_switch()

    def _forget_switch(self) -> None:
        self._policy_before = None
        self._violated_before = frozenset()

    def _shed_less(self, state: _State) -> list[Decision]:
        assert self._shedding is not None
        step = self._shedding.less()
        return [] if step is None else [self._shed("shed less", state, step, ())]

    def _stop_shedding(self, state: _State) -> list[Decision]:
        """A better policy may do without."""
        found = []
        while self._shedding is not None and (step := self._shedding.less()) is not None:
            found.append(self._shed("stop shedding", state, step, ()))
        return found

    def _shed(self, kind: Kind, state: _State, step: Step, names: tuple[MeasureName, ...]) -> Decision:
        return Decision(
            at=state.now,
            query=self._query,
            kind=kind,
            before=step.before,
            after=step.after,
            violated=names,
            expected=state.expected,
            measured=state.measured,
            step=step,
            note=state.overload if names else "",
        )


@dataclass(frozen=True)
class _State:
    """One look at the query."""

    now: float
    later: float  # by what is expected then, promises are judged
    measured: Measured
    foreseen: Measured
    expected: Mapping[MeasureName, float]
    violated: Sequence[QosMeasure]
    current: str
    offered: float | None
    arriving: float | None
    load: float | None  # what comes over what can be done, if nothing were dropped

    @property
    def is_overload(self) -> bool:
        """Does so much come that no policy can keep up?"""
        return self.load is not None and self.load > 1.0

    @property
    def overload(self) -> str:
        """The overload in words, and what it leads to; empty if there is none."""
        if not self.is_overload or self.load is None:
            return ""
        if math.isinf(self.load):
            return "the other queries leave no room for it"
        latency = self.foreseen.get("latency")
        if latency is None or latency == self.measured.get("latency"):
            return f"{self.load:.0%} of what can be processed arrives"
        return f"{self.load:.0%} of what can be processed arrives, so latency will be {shown(latency * 1e3)} ms"
