"""The event loop: virtual time, slots, arrivals, calls."""

from __future__ import annotations

import math
from collections import Counter
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from headgate.application.checked import SimulatorSettings
from headgate.errors import InvariantError
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.bookkeeping import Bookkeeper
from headgate.runtime.simulated.call_completion import CallCompletion
from headgate.runtime.simulated.calls import CallPlanner, RunningCall
from headgate.runtime.simulated.fast_paths.arrival_order import serve_in_arrival_order
from headgate.runtime.simulated.fast_paths.ranked import serve_by_rank
from headgate.runtime.simulated.fast_paths.round_robin import serve_round_robin
from headgate.runtime.simulated.joins.frontier import Frontier
from headgate.runtime.simulated.network import NetworkNode
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.selectivity import Item
from headgate.runtime.simulated.single_tuple import SingleTupleUnit, SingleTupleUnits
from headgate.runtime.simulated.timed_changes import TimedChanges
from headgate.scheduling.board import Board, Claim
from headgate.scheduling.policy import Policy
from headgate.scheduling.units import Unit

_CHECK_CALLS = 131_072  # calls between two rounds of bookkeeping

# A call in flight: end, number (orders equal ends), claim, and the planned call or a single-tuple unit and its tuple.
_Flight = tuple[float, int, Claim, RunningCall | None, SingleTupleUnit | None, Item]
_NO_ITEM: Item = (0.0, 0, 0.0)


class CallEvent(NamedTuple):
    """A call in a trace."""

    slot: int
    unit: str
    start: float
    end: float
    tuples: int
    preempted: bool


class Engine:
    """Advances virtual time from event to event. At equal times the order is: ends of calls, then arrivals in stream
    order, then decisions (a preemptive policy may then stop calls and decide again)."""

    def __init__(
        self,
        board: Board,
        admission: Admission,
        planner: CallPlanner,
        completion: CallCompletion,
        singles: SingleTupleUnits,
        bookkeeper: Bookkeeper,
        memory: QueueMemory,
        settings: SimulatorSettings,
        trace: list[CallEvent] | None,
        frontier: Frontier | None,
        timed_changes: TimedChanges,
    ) -> None:
        self._board = board
        self._admission = admission
        self._planner = planner
        self._completion = completion
        self._singles = singles
        self._bookkeeper = bookkeeper
        self._memory = memory
        self._settings = settings
        self._trace = trace
        self._frontier = frontier  # only where there are windows to keep small
        self._timed_changes = timed_changes
        looks = (settings.inspect_s, settings.look_ahead_s, settings.class_switch_s)
        self._overheads = any((settings.decision_s, settings.preempt_s, settings.call_s, *looks))
        self._number = 0
        self._check_at = _CHECK_CALLS
        self._flights: list[_Flight] = []  # a heap
        self._idle = list(range(board.slots))
        self._debts = [0.0] * board.slots  # seconds that a slot still owes for stopping its last call
        self._begun = [0.0] * board.slots  # when a slot's single-tuple call began its tuple,
        self._before = [0.0] * board.slots  # and the seconds that stopped calls had spent on that tuple before

    @property
    def policy(self) -> Policy:
        return self._board.policy

    def run(self, end: float, until_idle: bool = False, fast_paths: bool = True) -> float:
        """Run until nothing is left to do, or until `end`, and return when the run was over. That is `end` if it is
        finite; with `until_idle` it is the time of the last event, unless a call or an arrival was cut off.

        This is one long loop on purpose: it runs once per call, and each method call here would cost a few percent.
        """
        cut_off = fast_paths and not self._overheads and self._take_fast_path(end)
        board, admission, flights, idle = self._board, self._admission, self._flights, self._idle
        admit, claim_for, release, singles = admission.admit, board.claim, board.release, self._singles
        pop, push, plain, begun, before = heappop, heappush, not self._overheads, self._begun, self._before
        preemptive = board.policy.preemptive and self._settings.stops_calls
        wake, memory, timed_changes, linger = board.wake, self._memory, self._timed_changes, board.linger
        while True:
            now = flights[0][0] if flights else math.inf
            if idle and linger.next < now:
                now = linger.next
            if timed_changes.next < now and (now < math.inf or admission.next_time < math.inf):
                now = timed_changes.next
            if admission.next_time < now:
                if idle or preemptive:
                    now = admission.next_time
                else:
                    admit(now)
            if now == math.inf and admission.end_all():
                now = board.now
            if now > end or now == math.inf:
                break
            if now < board.now:
                raise InvariantError(f"time goes backwards, from {board.now} to {now}")
            board.now = now
            while flights and flights[0][0] <= now:
                _, _, claim, call, single, item = pop(flights)
                if single is None:
                    self._end_call(claim, call, now)
                    continue
                if single.direct:
                    single.ends.append(now)
                    single.latencies.append(now - item[0])
                    release(claim, 1, single.results)
                else:
                    release(claim, 1, single.finish(item, now, wake, memory))
                idle.append(claim.slot)
            if admission.next_time <= now:
                admission.fed = [] if preemptive else None
                admit(math.nextafter(now, math.inf))
            if timed_changes.next <= now:
                self._apply_due_changes()
                preemptive = board.policy.preemptive and self._settings.stops_calls
            if linger.next <= now:
                board.end_lingers()
            deciding = True
            while deciding:
                if len(idle) > 1:
                    idle.sort(reverse=True)
                asked = len(idle)  # idle slots ask in order, starting with the last in the list
                while asked and board.ready_units:
                    asked -= 1
                    claimed = claim_for(idle[asked])
                    if claimed is None:
                        continue
                    claim = claimed
                    del idle[asked]
                    unit, tuples, seconds, _, _, _, _ = claim.decision
                    self._number = number = self._number + 1
                    start = now if plain else self._start(claim)
                    single = singles[unit]
                    if (
                        single is not None
                        and (tuples == 1 or (tuples is None and unit.waiting == 1))
                        and seconds is None
                    ):
                        if unit.spent:
                            item, needs, before[claim.slot] = single.resume(board)
                        else:
                            item, needs, before[claim.slot] = single.take(), single.cost, 0.0
                        begun[claim.slot] = begin = start + single.set_up
                        push(flights, (begin + needs, number, claim, None, single, item))
                    else:
                        self._begin_call(claim, start)
                deciding = preemptive and self._preempt()
            if self._number >= self._check_at:
                self._settle()
        self._close(end, until_idle and not flights and not admission.cut_off and not cut_off)
        return board.now

    def _take_fast_path(self, end: float) -> bool:
        """Serve the whole run by a fast path if one applies; returns whether the end cut off arrivals or work."""
        cannot_preempt = self._board.policy.preemptive and not self._settings.stops_calls
        if cannot_preempt or self._timed_changes.next < math.inf or any(unit.linger_s for unit in self._board.units):
            return False
        context = (self._board, self._admission, self._singles, self._bookkeeper, self._memory)
        if end == math.inf and serve_in_arrival_order(*context):
            return False
        return serve_by_rank(*context, end) or serve_round_robin(*context, end)

    def _apply_due_changes(self) -> None:
        before = self._board.units
        self._timed_changes.apply_due()
        if self._board.units is not before:
            running = [flight[2].decision.unit for flight in self._flights]
            self._bookkeeper.forget_units(running)
            self._planner.forget()

    def _start(self, claim: Claim) -> float:
        """When the first operator of a call is called: after the decision, and after the time that the slot owes.

        Switching to a class, and inspecting other classes on the way, is not charged to that class: for the policy the
        call starts after the switch.
        """
        settings, slot = self._settings, claim.slot
        debt, self._debts[slot] = self._debts[slot], 0.0
        decision = claim.decision
        looked = decision.inspected * settings.inspect_s + decision.ahead * settings.look_ahead_s
        if decision.switches:
            claim.started += decision.switches * settings.class_switch_s + looked
            looked = 0.0
        return claim.started + debt + settings.decision_s + looked + settings.call_s

    def _begin_call(self, claim: Claim, start: float) -> None:
        call = self._planner.begin(claim, start)
        heappush(self._flights, (call.end, self._number, claim, call, None, _NO_ITEM))

    def _end_call(self, claim: Claim, call: RunningCall | None, now: float) -> None:
        assert call is not None
        if call.stopped or now < call.end:
            self._stop(claim, call, now)
            return
        tuples, results = self._completion.finish(call)
        if self._frontier is not None:
            self._frontier.tidy(call, ((flight[3], flight[4], flight[5]) for flight in self._flights))
        self._board.release(claim, tuples, results)
        self._idle.append(claim.slot)
        if self._trace is not None:
            self._note(claim, tuples, False)

    def _stop(self, claim: Claim, call: RunningCall, now: float) -> None:
        claim.started = min(claim.started, now)  # the slot may still be switching to the class
        tuples, results = self._completion.stop(call, now)
        if self._frontier is not None:
            self._frontier.tidy(call, ((flight[3], flight[4], flight[5]) for flight in self._flights))
        self._free(claim, tuples, results)

    def _free(self, claim: Claim, tuples: int, results: int) -> None:
        """Free the slot of a stopped call."""
        self._debts[claim.slot] += self._settings.preempt_s
        self._board.release(claim, tuples, results, True)
        self._idle.append(claim.slot)
        if self._trace is not None:
            self._note(claim, tuples, True)

    def _preempt(self) -> bool:
        """Ask a preemptive policy, for each unit that just got input, whether to stop a call. Returns whether one was
        stopped."""
        fed = self._admission.fed
        while fed and not self._idle:
            unit = fed.pop(0)
            if unit.waiting and self._preempt_for(unit):
                return True
        return False

    def _preempt_for(self, unit: Unit) -> bool:
        board, now = self._board, self._board.now
        flights: dict[Unit, _Flight] = {}
        for flight in sorted(self._flights, key=_slot) if board.slots > 1 else self._flights:
            _, _, claim, call, _, _ = flight
            running = claim.decision.unit
            if running is unit:
                return False
            if unit.blocked > (running in unit.overlaps):
                continue  # the unit could not run in that slot either
            running.spent = self._given(claim.slot) if call is None else call.spent(now)
            flights[running] = flight
        weakest = board.policy.preempts(tuple(flights), unit) if flights else None
        if weakest is None:
            return False
        self._interrupt(flights[weakest])
        return True

    def _interrupt(self, flight: _Flight) -> None:
        due, _, claim, call, single, item = flight
        self._flights.remove(flight)
        heapify(self._flights)
        if call is not None:
            self._stop(claim, call, self._board.now)
        elif single is not None and due <= self._board.now:  # its tuple takes no time, so it is finished
            self._free(claim, 1, single.end(item, due, self._board.wake, self._memory))
        elif single is not None:
            single.stop(item, self._given(claim.slot), due - max(self._board.now, self._begun[claim.slot]), self._board)
            self._free(claim, 0, 0)

    def _given(self, slot: int) -> float:
        """Time spent so far on the tuple of a single-tuple call, including earlier calls that were stopped."""
        return max(0.0, self._board.now - self._begun[slot]) + self._before[slot]

    def _settle(self) -> None:
        self._check_at = self._number + _CHECK_CALLS
        in_flight: Counter[NetworkNode] = Counter()
        for _, _, _, call, single, _ in self._flights:
            if single is not None:
                in_flight[single.node] += 1
            for stage in call.stages if call is not None else ():
                in_flight[stage.step.node] += stage.taken
        certain = min([self._board.now, *(flight[2].started for flight in self._flights)])
        self._bookkeeper.settle(self._board.now, certain, in_flight, len(self._flights))

    def _close(self, end: float, early: bool) -> None:
        """End the run: calls in flight are cut off where they are."""
        if not self._flights and self._board.ready_units:
            ready = ", ".join(unit.id for unit in self._board.ready())
            raise InvariantError(f"policy {self._board.policy.name} never runs {ready}, although ready")
        if end < math.inf and not early:
            self._board.now = end
        for _, _, claim, call, single, item in sorted(self._flights, key=lambda flight: flight[1]):
            if single is not None:
                single.queue.appendleft(item)
            elif call is not None:
                self._stop(claim, call, end)
        self._flights.clear()
        self._bookkeeper.settle(self._board.now, math.inf, Counter(), 0)

    def _note(self, claim: Claim, tuples: int, preempted: bool) -> None:
        assert self._trace is not None
        unit = claim.decision.unit.id
        self._trace.append(CallEvent(claim.slot, unit, claim.started, self._board.now, tuples, preempted))


def _slot(flight: _Flight) -> int:
    return flight[2].slot
