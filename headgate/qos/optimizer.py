"""The optimizer: looks after the promises made to queries, each at its own pace (Kendai section 4.2.9).

Pure: it reads a board and answers with decisions, which the runtime carries out.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.plan.model import PolicySettings, Query
from headgate.qos.decision_maker import DecisionMaker, QueryShedding, Selector
from headgate.qos.decisions import Decision, Step
from headgate.qos.measuring import Measured, Observed, QueryMeter
from headgate.qos.monitoring import Monitoring
from headgate.qos.patience import Patience
from headgate.qos.satisfaction import ScoreKeeper, qos_score
from headgate.scheduling.events import Event, QueryLingerChanged, QueryPolicyChanged, SheddingChanged

log = logging.getLogger("headgate.qos")

DEFAULT_MONITORING = Monitoring()
MOST_DECISIONS = 10_000  # kept for the report, the latest; the log has all


@dataclass
class _Watched:
    """A query with promises."""

    query: Query
    meter: QueryMeter
    maker: DecisionMaker
    shedding: QueryShedding | None
    score: ScoreKeeper
    patience: Patience | None  # None: how long it lingers is the user's decision
    next: float


class Optimizer:
    """Watches the queries that have promises. `next` is when `review` wants to be called; inf: there are none.

    `selector` makes the way to choose policies for a query, `shedding` what can be dropped of its input, or None.
    `linger_s` is how long queries linger that do not say: for those with a promised latency it is adjusted; None: not.
    """

    def __init__(
        self,
        board: Observed,
        default_policy: str,
        selector: Callable[[Query], Selector],
        shedding: Callable[[Query], QueryShedding | None] = lambda query: None,
        monitoring: Monitoring = DEFAULT_MONITORING,
        linger_s: float | None = None,
    ) -> None:
        self._board = board
        self.default_policy = default_policy
        self._selector = selector
        self._shedding = shedding
        self._monitoring = monitoring
        self._linger_s = linger_s
        self._watched: dict[str, _Watched] = {}
        self._decisions: deque[Decision] = deque(maxlen=MOST_DECISIONS)
        self._withdrawn: list[Event] = []  # changes to make at the next review, for promises that are made no longer
        self.next = math.inf
        self.set_plan()

    def set_plan(self) -> None:
        """Queries have come or gone, or are promised something else, or tolerate another error."""
        queries = self._board.plan.queries
        before, self._watched = self._watched, {}
        came = False
        for name, query in queries.items():
            old = before.get(name)
            if old is None and not query.qos:
                continue
            if old is not None and query.qos == old.query.qos and _tolerated(query) == _tolerated(old.query):
                self._watched[name] = old
            elif query.qos:
                self._watched[name] = self._watch(query, old)
                came = True
            if old is not None and self._watched.get(name) is not old:
                self._withdraw(old, query)
        self.next = self._board.now if came or self._withdrawn else self._next_look()

    def _watch(self, query: Query, old: _Watched | None) -> _Watched:
        """Begin to watch a query; `old`: how it was watched until now, with other promises."""
        tolerates_the_same = old is not None and _tolerated(old.query) == _tolerated(query)
        shedding = old.shedding if old is not None and tolerates_the_same else self._shedding(query)
        maker = DecisionMaker(query, self._selector(query), shedding)
        first = self._board.now + self._monitoring.period_s(query.qos, self._board.now)
        patience = self._patience(query, None if old is None else old.patience)
        score = ScoreKeeper() if old is None else old.score
        return _Watched(query, QueryMeter(query, self._board), maker, shedding, score, patience, first)

    def _patience(self, query: Query, old: Patience | None) -> Patience | None:
        if old is not None:
            return Patience(query, old.linger_s)
        sets_linger = self._linger_s is not None and self._board.plan.linger_s(query.name) is None
        return Patience(query, self._linger_s or 0.0) if sets_linger else None

    def _withdraw(self, old: _Watched, query: Query) -> None:
        """What was done for promises that are made no longer ends at the next review."""
        now = self._board.now
        if _tolerated(old.query) != _tolerated(query):
            self._decisions += old.maker.stop_shedding(now, "another error is tolerated now")  # the core has stopped it
        elif not query.qos:
            decisions = old.maker.stop_shedding(now, "nothing is promised any more")
            self._withdrawn += self._decided(decisions)
        if not query.qos and old.patience is not None:
            self._withdrawn.append(QueryLingerChanged(now, query.name, None))

    def review(self) -> list[Event]:
        """Look at the queries whose time has come; returns the changes that the runtime should make."""
        now = self._board.now
        changes, self._withdrawn = self._withdrawn, []
        for one in self._watched.values():
            if now >= one.next:
                changes += self._look(one, now)
        switched = {change.query for change in changes if isinstance(change, QueryPolicyChanged)}
        for name, one in self._watched.items():
            if name not in switched:
                changes += self._decided(one.maker.follow(now, self._policy_of(name)))
        self.next = self._next_look()
        return changes

    def _next_look(self) -> float:
        return min((one.next for one in self._watched.values()), default=math.inf)

    def _look(self, one: _Watched, now: float) -> list[Event]:
        """Look at one query."""
        name = one.query.name
        period = self._monitoring.period_s(one.query.qos, now)
        one.next = now + period
        current = self._policy_of(name)
        look_ahead, measured = self._monitoring.look_ahead_s(period), one.meter.measure()
        meter = one.meter
        decisions = one.maker.decide(now, look_ahead, measured, current, meter.offered, meter.arriving)
        self._score(one, now, measured)
        changes = self._decided(decisions)
        if one.patience is not None:
            linger_s = one.patience.adjusted(measured["latency"], now + look_ahead)
            if linger_s is not None:
                log.info("query %s lingers for up to %.3g ms now", name, linger_s * 1e3)
                changes.append(QueryLingerChanged(now, name, linger_s))
        return changes

    def _policy_of(self, query: str) -> str:
        own = self._board.plan.queries[query].policy
        return self.default_policy if own is None else own.name

    def _decided(self, decisions: Sequence[Decision]) -> list[Event]:
        for decision in decisions:
            if decision.step is not None:  # a policy that takes over is logged where that happens
                log.info("%s", _shedding_line(decision, decision.step), extra=_fields(decision))
            self._decisions.append(decision)
        return [_change(decision) for decision in decisions]

    def _score(self, one: _Watched, now: float, measured: Measured) -> None:
        measures = one.query.qos
        expected = {measure.name: measure.graph.expected(now) for measure in measures}
        broken = any(m.priority == "must" and m.violated(measured.get(m.name), now) for m in measures)
        one.score.add(qos_score(measures, measured, expected), not broken, measured)

    def scores(self) -> dict[str, Any]:
        """How well the promises of each query were kept, for the report."""
        return {name: one.score.summary() for name, one in self._watched.items()}

    def score_of(self, query: str) -> dict[str, Any] | None:
        """How well the promises of one query were kept; None: nothing is promised to it."""
        return self._watched[query].score.summary() if query in self._watched else None

    def as_data(self) -> list[Mapping[str, Any]]:
        """The latest decisions, for the report."""
        return [decision.as_data() for decision in self._decisions]

    def decisions_about(self, query: str, most: int) -> list[Decision]:
        """The latest decisions about one query, oldest first."""
        return [one for one in self._decisions if one.query == query][-most:]


def _tolerated(query: Query) -> tuple[object, object]:
    return query.tolerance, query.shed


def _change(decision: Decision) -> Event:
    if decision.step is not None:
        return SheddingChanged(decision.at, decision.step.edge, decision.step.extra)
    return QueryPolicyChanged(decision.at, decision.query, PolicySettings(str(decision.after)), decision.reason)


def _fields(decision: Decision) -> dict[str, Any]:
    """Of a log line, for those who read logs by program."""
    return {"query": decision.query, "kind": decision.kind, "reason": decision.reason}


def _shedding_line(decision: Decision, step: Step) -> str:
    what = f"{step.after:.1%} of the tuples in front of {step.edge.operator} are dropped now, {step.before:.1%} before"
    return f"query {decision.query}: {decision.kind}: {what}: {decision.reason}"
