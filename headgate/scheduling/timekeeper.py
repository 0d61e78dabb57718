"""Keeps time for a run: when tuples enter, how far time has advanced in the plan, when it ends for a query.

Pure: the core says what arrived and what ran.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.model import Edge, Plan
from headgate.plan.windows import Clock
from headgate.scheduling.progress import Bounds, Counted, Progress, Settled
from headgate.scheduling.stream_entrance import Admitted, StreamEntrance
from headgate.sql.schema import FOREVER, TIME

log = logging.getLogger("headgate.source")


class Timekeeper:
    """Has an entrance for each stream, and the progress of time from there through the plan.

    Methods that move time return the operators with state that now have something to do although no row waits for them.
    """

    def __init__(self, plan: Plan, queues: Mapping[Edge, Counted]) -> None:
        self._entrances = {name: StreamEntrance(stream) for name, stream in plan.streams.items()}
        self._progress = Progress(plan, queues, self._reached, lambda stream: self._entrances[stream].earliest)
        self._plan = plan
        self.open = {name for name in plan.streams if plan.entrances(name)}  # streams that are read
        self._ended: set[str] = set()  # streams whose sources have ended

    def starts(self, stream: str) -> bool:
        """Would a query that begins to read this stream now have to open its source?"""
        return stream not in self.open and stream not in self._ended

    @property
    def late(self) -> dict[str, int]:
        """By stream, how many tuples came too late for windows."""
        return {name: entrance.late for name, entrance in self._entrances.items()}

    def set_plan(self, plan: Plan, queues: Mapping[Edge, Counted]) -> None:
        """The plan has changed: queries were added or have ended.

        A stream that nobody reads any more is closed; one that is read for the first time, or again, starts afresh.
        """
        read = {name for name in plan.streams if plan.entrances(name)}
        for name in read - self.open - self._ended:
            self._entrances[name] = StreamEntrance(plan.streams[name])
            self._progress.restart(name)
        self._plan = plan
        self.open = read - self._ended
        complete = dict.fromkeys(self._ended, FOREVER)
        complete |= {name: at for name in self.open if (at := self._entrances[name].progress) is not None}
        self._progress.set_plan(plan, queues, complete)

    def forget(self, plan: Plan) -> None:
        """Streams that nobody reads were removed: another may take the name of one that is not in this plan."""
        for name in self._entrances.keys() - plan.streams.keys():
            del self._entrances[name]
            self._ended.discard(name)
            self._progress.restart(name)
        self._plan = plan

    def state(self) -> dict[str, Any]:
        """How far time has come, as values that JSON can hold. No call may be in flight."""
        entrances = {name: entrance.state() for name, entrance in self._entrances.items()}
        return {"entrances": entrances, "ended": sorted(self._ended), "progress": self._progress.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state, as far as it concerns what is in the plan. The queues must have been restored."""
        for name in self._entrances.keys() & state["entrances"].keys():
            self._entrances[name].restore(state["entrances"][name])
        self._ended = {name for name in state["ended"] if name in self._entrances}
        self.open -= self._ended
        self._progress.restore(state["progress"])

    # Tuples and time come in -------------------------------------------------------------------------------------

    def admit(self, stream: str, table: pa.Table) -> Admitted:
        """Give arriving tuples their time. Queue the result, then call `advance`."""
        entrance = self._entrances[stream]
        came = entrance.admit(table)
        if came.late and entrance.late == came.late:  # the first
            slack = self._plan.streams[stream].slack_s
            log.warning(
                "stream %s: tuples come later than its slack (%g) allows; windows leave them out", stream, slack
            )
        return came

    def ticks(self, stream: str) -> bool:
        """Does time pass on a stream even without tuples, and does an operator depend on it?"""
        return self._progress.tracks and self._plan.streams[stream].clock is Clock.ARRIVAL

    def tick(self, stream: str, now_us: int) -> list[str]:
        """Everything that arrived on a stream up to `now_us` has been queued."""
        self._entrances[stream].tick(now_us)
        return self.advance(stream)

    def end(self, stream: str) -> list[str]:
        """No more tuples will arrive on a stream."""
        self.open.discard(stream)
        self._ended.add(stream)
        return self.advance(stream)

    def advance(self, stream: str, came: Admitted | None = None) -> list[str]:
        """Tuples of a stream were queued, or time has passed on it."""
        if not self._progress.tracks:
            return []
        if came is not None:
            for rows, progress in came.steps:
                self._advance(stream, progress, came.table.num_rows - rows)
        come = self._entrances[stream].progress if stream in self.open else FOREVER
        if come is None:
            return []
        self._advance(stream, come)
        return self._progress.settle((stream,)).due

    def _advance(self, stream: str, to: int, behind: int = 0) -> None:
        for port in self._plan.ports_of(stream):
            self._progress.advance(port, to, behind)

    # Calls -------------------------------------------------------------------------------------------------------

    def begin(self, operators: Collection[str]) -> dict[str, Bounds]:
        """A call has taken its input: the instants that each of its operators with state evaluates."""
        return self._progress.begin(operators)

    def reaches(self, operators: Collection[str], slides: Mapping[str, int]) -> bool:
        """Would a call that takes everything that waits bring one of these windows to a boundary?"""
        return self._progress.reaches(operators, slides)

    def finish(
        self,
        operators: Collection[str],
        evaluated: Mapping[str, Bounds],
        next_instants: Mapping[str, int],
        rows_out: Mapping[str, int] | None = None,
    ) -> Settled:
        """A call is over and its results are queued. Also returns which inputs time has advanced at.

        `evaluated` has the operators with state that succeeded, `next_instants` when each has something to do next
        without input, `rows_out` how many rows each gave.
        """
        self._progress.finish(evaluated, next_instants, rows_out)
        self._progress.end(operators)
        return self._progress.settle(operators) if self._progress.tracks else Settled([], set())

    def up_to_last_event(self, query: str, table: pa.Table) -> pa.Table:
        """The results of a query without those after the last event of its streams: there time ends for it.

        Called without the lock: the table of a query that ends meanwhile is returned as it is.
        """
        streams = self._progress.streams_of(query)
        if not streams or not self.open.isdisjoint(streams):
            return table
        beyond = pc.fill_null(pc.greater(table.column(TIME), self._progress.last_of(streams)), False)
        return table.filter(pc.invert(beyond)) if pc.any(beyond).as_py() else table

    def _reached(self, stream: str) -> int | None:
        """The latest time on a stream. If arrivals are the time, it passes without tuples, too."""
        entrance = self._entrances[stream]
        known = [time for time in (entrance.reached, entrance.progress) if time is not None]
        return max(known, default=None)
