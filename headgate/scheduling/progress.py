"""How far time has advanced at each place of a plan, so that operators with state know which instants are complete.

Progress w at a port means: no more rows with a time of w or earlier will come out of it. It starts at the streams,
travels through the queues behind the rows it refers to, passes operators that treat each row alone, and stops at
operators with state until they have been evaluated up to it. Pure bookkeeping, under the lock of the runtime.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from headgate.plan.boundaries import boundary_steps
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.scheduling.boundary_budget import BoundaryBudget
from headgate.sql.schema import FOREVER

BEGINNING = -(2**62)  # before every instant


class Bounds(NamedTuple):
    """The instants that a call evaluates: after `start`, up to and including `end`."""

    start: int
    end: int


class Settled(NamedTuple):
    """The effect of letting time advance as far as it can without a call."""

    due: list[str]  # operators with state that have something to do, even if no row waits for them
    moved: set[Edge]  # inputs at which time advanced


class Counted(Protocol):
    """What progress needs to know about a queue."""

    @property
    def admitted(self) -> int: ...  # rows put in so far
    @property
    def thinned(self) -> bool: ...  # was something dropped of the rows put in last?
    @property
    def count(self) -> int: ...  # rows that wait


class Progress:
    """Tracks progress at operators with state and at all operators before them; plans without state cost nothing.

    `reached` returns the latest time of a stream, None before its first tuple: once streams have ended, evaluation goes
    up to the last event of all streams of a query, and no further. `earliest` returns the first time: before it there
    is nothing to evaluate.
    """

    def __init__(
        self,
        plan: Plan,
        queues: Mapping[Edge, Counted],
        reached: Callable[[str], int | None],
        earliest: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self._reached = reached
        self._earliest = earliest
        self._budget = BoundaryBudget({})
        self._seen: dict[Edge, int] = {}  # progress of the rows that an operator has taken
        self._marks: dict[Edge, deque[tuple[int, int]]] = {}  # (rows before it, progress), in front of which rows wait
        self._done: dict[str, int] = {}  # operator with state -> evaluated up to here
        self._announced: dict[Port, int] = {}
        self._next: dict[str, int] = {}  # operator with state -> the first instant at which something happens
        self._in_flight: set[str] = set()
        self._known: frozenset[Edge] = frozenset()
        self.set_plan(plan, queues)

    def set_plan(self, plan: Plan, queues: Mapping[Edge, Counted], complete: Mapping[str, int] | None = None) -> None:
        """Start, or continue with a plan in which queries were added or have ended.

        `complete` has the progress of the streams that have any: operators that are new begin there.
        """
        self._plan = plan
        self._queues = queues
        self._timed = dict.fromkeys(timed_operators(plan))  # looked up at every call
        self._streams = {name: _streams_of(plan, plan.owners[name]) for name in self._timed}
        self._budget.set_slides(boundary_steps(plan))
        self._concerns: dict[tuple[str, ...], tuple[str, ...]] = {}  # see `_concerned`
        self._all = True  # `settle` must visit all operators next time
        self._begin_new(complete or {})

    def _begin_new(self, complete: Mapping[str, int]) -> None:
        """Operators that are new begin where their streams are now: they have seen nothing of earlier instants."""
        for stream, progress in complete.items():
            for port in self._plan.ports_of(stream):
                self._announced[port] = max(progress, self._announced.get(port, BEGINNING))
        for name in self._timed:
            fresh = [edge for edge in self._edges(name) if edge not in self._known]
            if fresh:  # one that was removed may have had its name
                self._next.pop(name, None)
                self._done.pop(name, None)
            for edge in fresh:
                self._marks.pop(edge, None)
                self._seen[edge] = self._announced.get(self._plan.operators[name].inputs[edge.input], BEGINNING)
            if fresh and self._plan.operators[name].stateful and complete:
                self._done[name] = min(complete.get(stream, BEGINNING) for stream in self._streams[name])
        self._known = frozenset(self._plan.edges)

    @property
    def tracks(self) -> bool:
        """Is there any operator with state?"""
        return bool(self._timed)

    def state(self) -> dict[str, Any]:
        """As values that JSON can hold. No call may be in flight."""
        return {
            "seen": [[*edge, to] for edge, to in self._seen.items()],
            "marks": [[*edge, [list(mark) for mark in marks]] for edge, marks in self._marks.items() if marks],
            "announced": [[*port, to] for port, to in self._announced.items()],
            "done": dict(self._done),
            "next": dict(self._next),
            "budget": self._budget.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, as far as it concerns what is in the plan."""
        for name, index, to in state["seen"]:
            if name in self._timed:
                self._seen[Edge(name, index)] = to
        for name, index, marks in state["marks"]:
            if name in self._timed:
                self._marks[Edge(name, index)] = deque((at, to) for at, to in marks)
        for node, branch, to in state["announced"]:
            if Port(node, branch) in self._plan.schemas:
                self._announced[Port(node, branch)] = to
        self._done |= {name: to for name, to in state["done"].items() if name in self._timed}
        self._next |= {name: to for name, to in state["next"].items() if name in self._timed}
        self._budget.restore({name: many for name, many in state["budget"].items() if name in self._timed})

    # Called as a run goes on --------------------------------------------------------------------------------------

    def advance(self, port: Port, to: int, behind: int = 0) -> list[Edge]:
        """Progress at a port is `to` now, not counting the last `behind` rows that were queued; FOREVER: it ended.

        Call it after the rows were queued, then call `settle`. Returns the inputs that read the port.
        """
        if to <= self._announced.get(port, BEGINNING):
            return []
        self._announced[port] = to
        edges = [edge for edge in self._plan.consumers[port] if edge.operator in self._timed]
        for edge in edges:
            queue = self._queues[edge]
            # Where some of the latest batch was dropped, it is not known which of its rows are behind: wait for all.
            marks, at = self._marks.setdefault(edge, deque()), queue.admitted - (0 if queue.thinned else behind)
            if marks and marks[-1][0] == at:  # no row came in between: only the latest progress counts
                marks.pop()
            marks.append((at, to))
        return edges

    def restart(self, stream: str) -> None:
        """A stream is read from its start again, after nobody has read it."""
        for port in self._plan.ports_of(stream):
            self._announced.pop(port, None)

    def begin(self, operators: Collection[str]) -> dict[str, Bounds]:
        """A call has taken its input: the instants that each of its operators with state evaluates.

        `operators` are those of the call, inputs first.
        """
        self._in_flight.update(operators)
        bounds: dict[str, Bounds] = {}
        ahead: dict[str, int] = {}  # progress after each operator of the call, once the call has ended
        for name in operators:
            if name not in self._timed:
                continue
            come = min(self._come(edge, ahead) for edge in self._edges(name))
            if self._plan.operators[name].stateful:
                done = self._done.get(name, BEGINNING)
                come = max(done, min(come, self._last(name)))
                come = max(done, self._budget.end(name, self._from(name), come))
                bounds[name] = Bounds(done, come)
            ahead[name] = come
        return bounds

    def reaches(self, operators: Collection[str], slides: Mapping[str, int]) -> bool:
        """Would a call that takes everything that waits bring one of these windows to its next boundary, or to the end?

        `operators` are those of the call, inputs first; `slides` has the ticks between the boundaries of each window.
        """
        ahead: dict[str, int] = {}
        for name in operators:
            come = min(self._come_if_all_taken(edge, ahead) for edge in self._edges(name))
            slide = slides.get(name)
            if slide is None:
                ahead[name] = come
            elif come == FOREVER or come >= (self._done.get(name, BEGINNING) // slide + 1) * slide:
                return True
        return False

    def finish(
        self, bounds: Mapping[str, Bounds], next_instants: Mapping[str, int], rows_out: Mapping[str, int] | None = None
    ) -> None:
        """Operators with state were evaluated. `next_instants` says when each has something to do next without input,
        `rows_out` how many rows each gave."""
        for name, evaluated in bounds.items():
            if name not in self._timed:  # its queries ended during the call
                continue
            self._budget.record(name, self._from(name), evaluated.end, (rows_out or {}).get(name, 0))
            self._done[name] = evaluated.end
            self._next[name] = next_instants.get(name, FOREVER)

    def end(self, operators: Iterable[str]) -> None:
        """A call is over, successful or not, and its results are in the queues. Call `settle` next."""
        self._in_flight.difference_update(operators)

    def settle(self, changed: Iterable[str]) -> Settled:
        """Let time advance through operators that have nothing to do; returns those that have, and where it advanced.

        `changed` has streams that have advanced, or the operators of a call that is over. Operators that do not depend
        on them are left alone.
        """
        due: list[str] = []
        moved: set[Edge] = set()
        concerned, self._all = tuple(self._timed) if self._all else self._concerned(tuple(changed)), False
        for name in concerned:
            if name in self._in_flight:
                continue
            operator = self._plan.operators[name]
            come = min(self._settled(edge) for edge in self._edges(name))
            if operator.stateful:
                come = self._evaluate(name, min(come, self._last(name)), due)
            for port in operator.ports:
                moved.update(self.advance(port, come))
        return Settled(due, moved)

    def streams_of(self, query: str) -> tuple[str, ...]:
        """The streams that a query with state reads; none if it has no state, or has ended."""
        plan = self._plan  # read once: called without the lock, while queries may end
        known = plan.queries.get(query)
        if known is None or self._timed.keys().isdisjoint(known.operators):
            return ()
        return _streams_of(plan, (query,))

    def last_of(self, streams: Iterable[str]) -> int:
        """The last event of these streams so far."""
        return _latest(self._reached, streams)

    # Inside ------------------------------------------------------------------------------------------------------

    def _evaluate(self, name: str, come: int, due: list[str]) -> int:
        done = self._done.get(name, BEGINNING)
        if come > done and self._next.get(name, FOREVER) <= come:
            due.append(name)
            return done
        self._done[name] = max(done, come)  # there was nothing to do up to `come`
        return self._done[name]

    def _concerned(self, changed: tuple[str, ...]) -> tuple[str, ...]:
        """The operators that read a changed stream, have changed, or come after one of these; inputs first."""
        found = self._concerns.get(changed)
        if found is None:
            nodes = set(changed)
            for name in self._timed:
                sources = {port.node for port in self._plan.operators[name].inputs}
                if not nodes.isdisjoint((*sources, *self._streams[name])):
                    nodes.add(name)
            found = self._concerns[changed] = tuple(name for name in self._timed if name in nodes)
        return found

    def _edges(self, name: str) -> list[Edge]:
        return [Edge(name, index) for index in range(len(self._plan.operators[name].inputs))]

    def _settled(self, edge: Edge) -> int:
        """Progress of what the operator has taken from an input."""
        marks = self._marks.get(edge)
        if marks:
            passed = self._passed(edge)
            while marks and marks[0][0] <= passed:
                self._seen[edge] = marks.popleft()[1]
        return self._seen.get(edge, BEGINNING)

    def _come(self, edge: Edge, ahead: Mapping[str, int]) -> int:
        """Progress at an input within a call: of what was taken from its queue, and of what comes from inside."""
        seen, waits = self._seen.get(edge, BEGINNING), False
        passed = self._passed(edge)
        for position, mark in self._marks.get(edge, ()):
            if position > passed:
                waits = True
                break
            seen = mark
        source = self._plan.operators[edge.operator].inputs[edge.input].node
        if source in ahead and not waits and not self._queues[edge].count:
            return max(seen, ahead[source])
        return seen

    def _come_if_all_taken(self, edge: Edge, ahead: Mapping[str, int]) -> int:
        """Progress at an input once everything that waits and everything that comes from inside has been taken."""
        marks = self._marks.get(edge)
        come = marks[-1][1] if marks else self._seen.get(edge, BEGINNING)
        return max(come, ahead.get(self._plan.operators[edge.operator].inputs[edge.input].node, BEGINNING))

    def _passed(self, edge: Edge) -> int:
        queue = self._queues[edge]
        return queue.admitted - queue.count

    def _from(self, name: str) -> int:
        """The instant after which an operator has something to evaluate."""
        done = self._done.get(name, BEGINNING)
        first = [time for stream in self._streams[name] if (time := self._earliest(stream)) is not None]
        return max(done, min(first) - 1) if first else done

    def _last(self, name: str) -> int:
        """Evaluation goes no further than the last event of the queries that an operator works for."""
        return _latest(self._reached, self._streams[name])


def timed_operators(plan: Plan) -> tuple[str, ...]:
    """Operators with state and all operators before them, inputs first."""
    needed: set[str] = set()
    for operator in reversed(list(plan.operators.values())):
        if operator.stateful or operator.id in needed:
            needed.add(operator.id)
            needed.update(port.node for port in operator.inputs)
    return tuple(name for name in plan.operators if name in needed)


def _streams_of(plan: Plan, queries: Iterable[str]) -> tuple[str, ...]:
    """The streams that some queries read."""
    operators = {name for query in queries for name in plan.queries[query].operators}
    nodes = {port.node for name in operators for port in plan.operators[name].inputs}
    return tuple(name for name in plan.streams if name in nodes)


def _latest(reached: Callable[[str], int | None], streams: Iterable[str]) -> int:
    return max((time for name in streams if (time := reached(name)) is not None), default=BEGINNING)
