"""Keeps time for a runtime: where tuples enter, how far each stream has come, when time ends for a query.

Pure: the runtime says what arrived and what ran, and holds its lock around every call.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Port
from headgate.plan.windows import Clock
from headgate.scheduling.progress import Bounds, Counted, Progress, Settled
from headgate.scheduling.stream_entrance import Admitted, StreamEntrance
from headgate.sql.schema import FOREVER, TIME

log = logging.getLogger("headgate.source")


class Timekeeper:
    """One entrance a stream, and the progress from there through the plan.

    What changes how far time has come returns the operators with state that now have something to do, though no row
    waits for them.
    """

    def __init__(self, plan: Plan, queues: Mapping[Edge, Counted]) -> None:
        self._entrances = {name: StreamEntrance(stream) for name, stream in plan.streams.items()}
        self._progress = Progress(plan, queues, self._reached, lambda stream: self._entrances[stream].earliest)
        self._plan = plan
        self.open = {name for name in plan.streams if plan.consumers[Port(name)]}  # streams that are read
        self._ended: set[str] = set()  # streams whose sources have ended

    def starts(self, stream: str) -> bool:
        """Would the source of a stream have to be opened if a query began to read it now?"""
        return stream not in self.open and stream not in self._ended

    @property
    def late(self) -> dict[str, int]:
        """Tuples of each stream that came too late for windows."""
        return {name: entrance.late for name, entrance in self._entrances.items()}

    def set_plan(self, plan: Plan, queues: Mapping[Edge, Counted]) -> None:
        """Go on with another plan because queries have stopped or joined.

        A stream that nobody reads any more is closed; one that is read for the first time, or again, starts afresh.
        """
        read = {name for name in plan.streams if plan.consumers[Port(name)]}
        for name in read - self.open - self._ended:
            self._entrances[name] = StreamEntrance(plan.streams[name])
            self._progress.restart(name)
        self._plan = plan
        self.open = read - self._ended
        complete = dict.fromkeys(self._ended, FOREVER)
        complete |= {name: at for name in self.open if (at := self._entrances[name].progress) is not None}
        self._progress.set_plan(plan, queues, complete)

    # Tuples and time come in -------------------------------------------------------------------------------------

    def admit(self, stream: str, table: pa.Table) -> Admitted:
        """Give arriving tuples their place in time. Queue them, then call `advance`."""
        entrance = self._entrances[stream]
        came = entrance.admit(table)
        if came.late and entrance.late == came.late:  # the first
            slack = self._plan.streams[stream].slack_s
            log.warning(
                "stream %s: tuples come later than its slack (%g) allows; windows leave them out", stream, slack
            )
        return came

    def ticks(self, stream: str) -> bool:
        """Does time pass on a stream even without tuples, and does anybody care?"""
        return self._progress.tracks and self._plan.streams[stream].clock is Clock.ARRIVAL

    def tick(self, stream: str, now_us: int) -> list[str]:
        """Everything that arrived up to now has been queued."""
        self._entrances[stream].tick(now_us)
        return self.advance(stream)

    def end(self, stream: str) -> list[str]:
        """No more tuples will come on a stream."""
        self.open.discard(stream)
        self._ended.add(stream)
        return self.advance(stream)

    def advance(self, stream: str, came: Admitted | None = None) -> list[str]:
        """Tuples of a stream were queued, or time has passed on it."""
        if not self._progress.tracks:
            return []
        if came is not None:
            for rows, progress in came.steps:
                self._progress.advance(Port(stream), progress, came.table.num_rows - rows)
        come = self._entrances[stream].progress if stream in self.open else FOREVER
        if come is None:
            return []
        self._progress.advance(Port(stream), come)
        return self._progress.settle((stream,)).due

    # Calls -------------------------------------------------------------------------------------------------------

    def begin(self, operators: Collection[str]) -> dict[str, Bounds]:
        """A call has taken its input: the instants that each of its operators with state evaluates."""
        return self._progress.begin(operators)

    def reaches(self, operators: Collection[str], slides: Mapping[str, int]) -> bool:
        """Would a call that takes all that waits bring one of these windows to a boundary?"""
        return self._progress.reaches(operators, slides)

    def finish(
        self,
        operators: Collection[str],
        evaluated: Mapping[str, Bounds],
        events: Mapping[str, int],
        given: Mapping[str, int] | None = None,
    ) -> Settled:
        """A call is over and its results are queued; `evaluated` are the operators with state that succeeded, `events`
        when each has something to do next without input, `given` how many rows each gave. Returns also where progress
        came by that."""
        self._progress.finish(evaluated, events, given)
        self._progress.end(operators)
        return self._progress.settle(operators) if self._progress.tracks else Settled([], set())

    def up_to_last_event(self, query: str, table: pa.Table) -> pa.Table:
        """Time ends for a query with the last event of its streams, even where other queries go on.

        Asked without the lock: a query that stops meanwhile gets its table as it is.
        """
        streams = self._progress.streams_of(query)
        if not streams or not self.open.isdisjoint(streams):
            return table
        beyond = pc.fill_null(pc.greater(table.column(TIME), self._progress.last_of(streams)), False)
        return table.filter(pc.invert(beyond)) if pc.any(beyond).as_py() else table

    def _reached(self, stream: str) -> int | None:
        """The latest time on a stream; where arrivals are the time, it passes without tuples too."""
        entrance = self._entrances[stream]
        known = [time for time in (entrance.reached, entrance.progress) if time is not None]
        return max(known, default=None)
