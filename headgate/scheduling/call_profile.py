"""What calls and sources did lately: from this, `headgate.twin` forecasts what other policies would do.

Recording is cheap: a few numbers per call, and only the latest are kept.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa

from headgate.metrics.learning import FadingRatio
from headgate.plan.boundaries import boundary_step
from headgate.plan.model import Plan
from headgate.scheduling.calls import Call, Outcome
from headgate.scheduling.reference import Reference, Rows
from headgate.sql.schema import ARRIVAL, FOREVER, TIME

CALLS = 400  # kept of each unit: some seconds of a busy one
STAMPS = 512  # kept of the results of each query,
STAMPS_A_CALL = 32  # at most so many of one call;
OFTEN_ENOUGH = 0.1  # once there are some, only that share of the calls is looked at: it takes as long as a small call
MOST_BOUNDARIES = 100  # of one call, to learn from: more are a leap over a gap in the data


class TimedCall(NamedTuple):
    """A call: tuples from queues, and seconds from the decision until its results were handed out.

    Calls in flight share processors, locks and Python itself: beside `others` a call takes longer.
    """

    rows: int
    seconds: float
    others: int = 0  # in flight when it began


class Moment(NamedTuple):
    """A tuple's time in ticks of its clock, and its arrival in microseconds of the run."""

    time: int
    arrival: int


class CallProfile:
    """Records calls, rounds of the sources, and the stamps of results of sliding windows."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, ...], deque[TimedCall]] = {}  # by the operators of the unit
        self.pause = FadingRatio(None)  # seconds from the end of a call to the next one in its slot, if one is ready
        self.round = FadingRatio(None)  # seconds from one round of the sources to the next,
        self.reading = FadingRatio(None)  # and from the beginning of a round until its tuples are in the queues
        self.wake = FadingRatio(None)  # seconds from when a unit becomes ready until an idle slot has a call
        self.boundary_rows: dict[str, FadingRatio] = {}  # operator with a sliding window -> results of a boundary
        self.stamps: dict[str, deque[Moment]] = {}  # query with a sliding window -> stamps of its results
        self.times: dict[str, tuple[Moment, Moment]] = {}  # stream with a clock of its own -> its first and last tuple
        self._others: dict[int, int] = {}  # slot with a call in flight -> how many others there were when it began
        self._random = random.Random(0)
        self._round_at: float | None = None
        self._ended_at: dict[int, float] = {}  # slot -> when its last call ended, if a unit was ready then
        self._ready_since: float | None = None  # units are ready since then, and no slot has come yet

    def came_round(self, now: float, upto: float) -> None:
        """The sources were read; `upto` is when the round began."""
        self.reading.learn(now - upto, 1)
        if self._round_at is not None:
            self.round.learn(now - self._round_at, 1)
        self._round_at = now

    def arrived(self, stream: str, rows: Rows) -> None:
        """Tuples of a stream with a clock of its own were admitted."""
        if isinstance(rows, Reference):
            time, arrival = max((s.latest for s in rows.spans if s.latest is not None), default=None), rows.arrival_us
        else:
            last = rows.slice(rows.num_rows - 1)
            time, arrival = last.column(TIME)[0].as_py(), last.column(ARRIVAL)[0].as_py()
        if time is not None:
            moment = Moment(time, arrival)
            self.times[stream] = (self.times.get(stream, (moment, moment))[0], moment)

    def ready(self, since: float) -> None:
        """Units are ready after none was."""
        self._ready_since = since

    def starts(self, slot: int, now: float) -> None:
        """A slot starts a call."""
        self._others[slot] = len(self._others)
        ended, since = self._ended_at.pop(slot, None), self._ready_since
        self._ready_since = None
        if ended is not None:
            self.pause.learn(now - ended, 1)
        elif since is not None:
            self.wake.learn(now - since, 1)

    def ended(
        self,
        call: Call,
        seconds: float,
        now: float,
        outcome: Outcome,
        written: Mapping[str, Sequence[pa.Table]],
        more: bool,
    ) -> None:
        """A call has ended; `more`: another unit is ready now."""
        others = self._others.pop(call.slot, 0)
        self._ended_at.pop(call.slot, None)
        if more:
            self._ended_at[call.slot] = now
        if len(outcome.results) != 1 or not outcome.results[0].steady:
            return  # its time is not typical
        self.calls.setdefault(call.operators, deque(maxlen=CALLS)).append(TimedCall(call.rows, seconds, others))
        if call.bounds and self._learn_boundaries(call, outcome.rows_out):
            for query, tables in written.items():
                self._learn_stamps(query, tables)

    def forget(self, plan: Plan) -> None:
        """Queries have ended, or streams were removed: only what is in this plan counts."""
        self.times = {name: one for name, one in self.times.items() if name in plan.streams}
        self.calls = {key: one for key, one in self.calls.items() if all(name in plan.operators for name in key)}
        self.boundary_rows = {name: one for name, one in self.boundary_rows.items() if name in plan.operators}
        self.stamps = {name: one for name, one in self.stamps.items() if name in plan.queries}

    def _learn_boundaries(self, call: Call, rows_out: Mapping[str, int]) -> bool:
        """Learn how many results a boundary has; was any evaluated?"""
        found = False
        for name, bounds in call.bounds.items():
            step = boundary_step(call.plan, name)
            if step is None or bounds.end >= FOREVER:
                continue
            passed = bounds.end // step - bounds.start // step
            if 0 < passed <= MOST_BOUNDARIES and name in rows_out:
                self.boundary_rows.setdefault(name, FadingRatio(None)).learn(rows_out[name], passed)
                found = True
        return found

    def _learn_stamps(self, query: str, tables: Sequence[pa.Table]) -> None:
        kept = self.stamps.setdefault(query, deque(maxlen=STAMPS))
        if len(kept) >= STAMPS // 4 and self._random.random() >= OFTEN_ENOUGH:
            return
        for table in tables:
            if TIME not in table.column_names or not table.num_rows:
                continue
            few = min(STAMPS_A_CALL, table.num_rows)  # by chance: the rows may be in any order
            places = pa.array(self._random.sample(range(table.num_rows), few))
            some = table.select([TIME, ARRIVAL]).take(places)
            for time, arrival in zip(some.column(0).to_pylist(), some.column(1).to_pylist(), strict=True):
                if time is not None:
                    kept.append(Moment(time, arrival))
