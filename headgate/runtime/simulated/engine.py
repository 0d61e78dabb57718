"""The event loop: virtual time, slots, arrivals, calls."""

from __future__ import annotations

import math
from collections import Counter
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from headgate.application.checked import SimulatorSettings
from headgate.runtime.simulated.accounts import Accounts
from headgate.runtime.simulated.agenda import Agenda
from headgate.runtime.simulated.calls import CallPlanner, RunningCall
from headgate.runtime.simulated.closing import CallCloser
from headgate.runtime.simulated.draws import Item
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.frontier import Frontier
from headgate.runtime.simulated.in_order import serve_in_order
from headgate.runtime.simulated.in_rank import serve_in_rank
from headgate.runtime.simulated.in_turns import serve_in_turns
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.light import LightUnit, LightUnits
from headgate.runtime.simulated.network import Node
from headgate.scheduling.board import Board, Claim, InvariantError
from headgate.scheduling.policy import Policy
from headgate.scheduling.units import Unit

_CHECK_CALLS = 131_072  # calls between two settlings of accounts

# A call in flight: end, number (the order among equals), claim, and the planned call, or a light unit and its tuple.
_Flight = tuple[float, int, Claim, RunningCall | None, LightUnit | None, Item]
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
    """Advances virtual time from event to event. At equal times: ends of calls, then arrivals in stream order, then
    decisions (a preemptive policy may then stop calls, and decides again)."""

    def __init__(
        self,
        board: Board,
        entrance: Entrance,
        planner: CallPlanner,
        closer: CallCloser,
        lights: LightUnits,
        accounts: Accounts,
        ledger: Ledger,
        settings: SimulatorSettings,
        trace: list[CallEvent] | None,
        frontier: Frontier | None,
        agenda: Agenda,
    ) -> None:
        self._board = board
        self._entrance = entrance
        self._planner = planner
        self._closer = closer
        self._lights = lights
        self._accounts = accounts
        self._ledger = ledger
        self._settings = settings
        self._trace = trace
        self._frontier = frontier  # only where there are windows to keep small
        self._agenda = agenda
        looks = (settings.inspect_s, settings.look_ahead_s, settings.class_switch_s)
        self._overheads = any((settings.decision_s, settings.preempt_s, settings.call_s, *looks))
        self._number = 0
        self._check_at = _CHECK_CALLS
        self._flights: list[_Flight] = []  # a heap
        self._idle = list(range(board.slots))
        self._debts = [0.0] * board.slots  # seconds that a slot still owes for stopping its last call
        self._begun = [0.0] * board.slots  # when a slot's light call took up its tuple,
        self._before = [0.0] * board.slots  # and what stopped calls gave to that tuple before

    @property
    def policy(self) -> Policy:
        return self._board.policy

    def run(self, end: float, until_idle: bool = False, short_cuts: bool = True) -> float:
        """Run until nothing is left to do, or until `end`; returns when the run was over: `end` if there is one, but
        the time of the last event with `until_idle`, unless a call or an arrival was cut off.

        One long loop on purpose: it is passed once a call, and each method called here would cost a few per cent.
        """
        cut_off = short_cuts and not self._overheads and self._take_short_cut(end)
        board, entrance, flights, idle = self._board, self._entrance, self._flights, self._idle
        admit, claim_for, release, lights = entrance.admit, board.claim, board.release, self._lights
        pop, push, plain, begun, before = heappop, heappush, not self._overheads, self._begun, self._before
        preemptive = board.policy.preemptive and self._settings.stops_calls
        wake, ledger, agenda = board.wake, self._ledger, self._agenda
        while True:
            now = flights[0][0] if flights else math.inf
            if agenda.next < now and (flights or entrance.next_time < math.inf):
                now = agenda.next
            if entrance.next_time < now:
                if idle or preemptive:
                    now = entrance.next_time
                else:
                    admit(now)
            if now == math.inf and entrance.end_all():
                now = board.now
            if now > end or now == math.inf:
                break
            if now < board.now:
                raise InvariantError(f"time goes backwards, from {board.now} to {now}")
            board.now = now
            while flights and flights[0][0] <= now:
                _, _, claim, call, light, item = pop(flights)
                if light is None:
                    self._end_call(claim, call, now)
                    continue
                if light.direct:
                    light.ends.append(now)
                    light.latencies.append(now - item[0])
                    release(claim, 1, light.results)
                else:
                    release(claim, 1, light.finish(item, now, wake, ledger))
                idle.append(claim.slot)
            if entrance.next_time <= now:
                entrance.fed = [] if preemptive else None
                admit(math.nextafter(now, math.inf))
            if agenda.next <= now:
                agenda.work()
            deciding = True
            while deciding:
                if len(idle) > 1:
                    idle.sort(reverse=True)
                asked = len(idle)  # idle slots ask in order: the last in the list first
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
                    light = lights[unit]
                    if (
                        light is not None
                        and (tuples == 1 or (tuples is None and unit.waiting == 1))
                        and seconds is None
                    ):
                        if unit.spent:
                            item, needs, before[claim.slot] = light.resume(board)
                        else:
                            item, needs, before[claim.slot] = light.take(), light.cost, 0.0
                        begun[claim.slot] = begin = start + light.set_up
                        push(flights, (begin + needs, number, claim, None, light, item))
                    else:
                        self._begin_call(claim, start)
                deciding = preemptive and self._preempt()
            if self._number >= self._check_at:
                self._settle()
        self._close(end, until_idle and not flights and not entrance.cut_off and not cut_off)
        return board.now

    def _take_short_cut(self, end: float) -> bool:
        """Run everything without asking for decisions, where none is open; returns whether the end cut it off."""
        unlike = self._board.policy.preemptive and not self._settings.stops_calls
        if unlike or self._agenda.next < math.inf:
            return False
        parts = (self._board, self._entrance, self._lights, self._accounts, self._ledger)
        if end == math.inf and serve_in_order(*parts):
            return False
        return serve_in_rank(*parts, end) or serve_in_turns(*parts, end)

    def _start(self, claim: Claim) -> float:
        """When the first operator of a call is called: after the decision, and after what the slot owes.

        Going on to a class, and looking at others on the way, is not of that class's time: for the policy the call
        starts after it.
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
        tuples, results = self._closer.finish(call)
        if self._frontier is not None:
            self._frontier.tidy(call, ((flight[3], flight[4], flight[5]) for flight in self._flights))
        self._board.release(claim, tuples, results)
        self._idle.append(claim.slot)
        if self._trace is not None:
            self._note(claim, tuples, False)

    def _stop(self, claim: Claim, call: RunningCall, now: float) -> None:
        claim.started = min(claim.started, now)  # it may still be on its way to its class
        tuples, results = self._closer.stop(call, now)
        if self._frontier is not None:
            self._frontier.tidy(call, ((flight[3], flight[4], flight[5]) for flight in self._flights))
        self._free(claim, tuples, results)

    def _free(self, claim: Claim, tuples: int, results: int) -> None:
        """A stopped call leaves its slot."""
        self._debts[claim.slot] += self._settings.preempt_s
        self._board.release(claim, tuples, results, True)
        self._idle.append(claim.slot)
        if self._trace is not None:
            self._note(claim, tuples, True)

    def _preempt(self) -> bool:
        """Ask a preemptive policy, once for each unit that just got input, whether a call should be stopped for it."""
        fed = self._entrance.fed
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
                continue  # it could not run in that slot either
            running.spent = self._given(claim.slot) if call is None else call.spent(now)
            flights[running] = flight
        weakest = board.policy.preempts(tuple(flights), unit) if flights else None
        if weakest is None:
            return False
        self._interrupt(flights[weakest])
        return True

    def _interrupt(self, flight: _Flight) -> None:
        due, _, claim, call, light, item = flight
        self._flights.remove(flight)
        heapify(self._flights)
        if call is not None:
            self._stop(claim, call, self._board.now)
        elif light is not None and due <= self._board.now:  # its tuple takes no time, and is done
            self._free(claim, 1, light.end(item, due, self._board.wake, self._ledger))
        elif light is not None:
            light.stop(item, self._given(claim.slot), due - max(self._board.now, self._begun[claim.slot]), self._board)
            self._free(claim, 0, 0)

    def _given(self, slot: int) -> float:
        """Time given so far to the tuple of a light call, stopped calls before it included."""
        return max(0.0, self._board.now - self._begun[slot]) + self._before[slot]

    def _settle(self) -> None:
        self._check_at = self._number + _CHECK_CALLS
        flying: Counter[Node] = Counter()
        for _, _, _, call, light, _ in self._flights:
            if light is not None:
                flying[light.node] += 1
            for stage in call.stages if call is not None else ():
                flying[stage.step.node] += stage.taken
        certain = min([self._board.now, *(flight[2].started for flight in self._flights)])
        self._accounts.settle(self._board.now, certain, flying, len(self._flights))

    def _close(self, end: float, early: bool) -> None:
        """The run is over: calls in flight end where they are."""
        if not self._flights and self._board.ready_units:
            ready = ", ".join(unit.id for unit in self._board.ready())
            raise InvariantError(f"policy {self._board.policy.name} never runs {ready}, which could run")
        if end < math.inf and not early:
            self._board.now = end
        for _, _, claim, call, light, item in sorted(self._flights, key=lambda flight: flight[1]):
            if light is not None:
                light.queue.appendleft(item)
            elif call is not None:
                self._stop(claim, call, end)
        self._flights.clear()
        self._accounts.settle(self._board.now, math.inf, Counter(), 0)

    def _note(self, claim: Claim, tuples: int, preempted: bool) -> None:
        assert self._trace is not None
        unit = claim.decision.unit.id
        self._trace.append(CallEvent(claim.slot, unit, claim.started, self._board.now, tuples, preempted))


def _slot(flight: _Flight) -> int:
    return flight[2].slot
