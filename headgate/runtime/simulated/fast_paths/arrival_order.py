"""Tuples served in the order of their arrival by one slot, without asking for decisions.

A tuple i that arrives at A(i) and needs C(i) is finished at D(i) = max(A(i), D(i-1)) + C(i) (Lindley's recursion).
Every latency is the same as in the event loop, to the last digit.
"""

from __future__ import annotations

from collections import Counter

from headgate.policies.predictable_order import ArrivalOrder
from headgate.runtime.simulated.admission import Admission
from headgate.runtime.simulated.bookkeeping import Bookkeeper
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.single_tuple import SingleTupleUnit, SingleTupleUnits
from headgate.scheduling.board import Board, FedUnits
from headgate.scheduling.units import Unit

Route = list[SingleTupleUnit]  # the operators that a tuple goes through, one after another


def serve_in_arrival_order(
    board: Board, admission: Admission, singles: SingleTupleUnits, bookkeeper: Bookkeeper, memory: QueueMemory
) -> bool:
    """Serve all arrivals if this fast path applies, and return True; otherwise leave the run to the event loop."""
    served = _routes_by_stream(board, admission, singles)
    if served is None:
        return False
    clock = 0.0
    for times, items, streams in admission.blocks():
        for time, item, stream in zip(times, items, streams, strict=True):
            if time > clock:
                clock = time
            for route in served[stream]:
                single = route[0]
                if single.direct:
                    clock = clock + single.set_up + single.cost
                    single.ends.append(clock)
                    single.latencies.append(clock - item[0])
                else:
                    single.queue.append(item)
                    clock = _go_through(route, clock, memory)
        bookkeeper.settle(clock, times[-1], Counter(), 0)
    board.now = clock
    return True


def _go_through(route: Route, clock: float, memory: QueueMemory) -> float:
    """Take the tuples that wait at the first operator through the route, as far as they pass; returns the time then."""
    for single in route:
        queue = single.queue
        if not queue:
            break
        clock += single.set_up
        while queue:
            clock += single.cost
            single.finish(queue.popleft(), clock, _wake_nothing, memory)
    return clock


def _wake_nothing(fed_units: FedUnits) -> None:
    """Do nothing: a unit that gets input here takes it at once."""


def _routes_by_stream(board: Board, admission: Admission, singles: SingleTupleUnits) -> list[list[Route]] | None:
    """The routes of each stream's tuples; None if anything but the order of arrival matters."""
    policy = board.policy
    in_order = isinstance(policy, ArrivalOrder) and policy.in_arrival_order
    if board.slots > 1 or not in_order or not admission.is_plain:
        return None
    entries = [
        [(unit, queue) for queue in outlet.queues for unit in queue.fed_units.units] for outlet in admission.outlets
    ]
    # Tuples that arrive together are served in the order of units; here that must be the order of streams too.
    if [unit for units in entries for unit, _ in units] != list(board.units):
        return None
    served = [[_route(unit, queue, singles) for unit, queue in units] for units in entries]
    return served if all(all(routes) for routes in served) else None


def _route(unit: Unit, queue: SimulatedQueue, singles: SingleTupleUnits) -> Route:
    """The operators of a unit, if every tuple that enters by a queue passes through them in a row; else empty."""
    if len(queue.fed_units.units) > 1:
        return []
    sole = singles[unit]
    if sole is not None:
        return [sole] if len(unit.edges) == 1 else []
    route: Route = []
    following: tuple[SimulatedQueue, ...] = (queue,)
    for name in unit.operators:
        single = singles.of_operator(name)
        if single is None or len(single.outlets) != 1 or [queue.node.id for queue in following] != [name]:
            return []
        single.queue = following[0]
        following = single.outlets[0].queues
        route.append(single)
    return route if not following else []
