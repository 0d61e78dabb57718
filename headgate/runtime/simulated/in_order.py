"""Tuples served in the order of their arrival by one slot: no decision is open, so none is asked for.

When tuple i arrives at A(i) and needs C(i), it is finished at D(i) = max(A(i), D(i-1)) + C(i) (Lindley's recursion).
Every latency is what the event loop gives, to the last digit, without its decisions.
"""

from __future__ import annotations

from collections import Counter

from headgate.policies.predictable_order import ArrivalOrder
from headgate.runtime.simulated.accounts import Accounts
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.ledger import Ledger
from headgate.runtime.simulated.light import LightUnit, LightUnits
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.scheduling.board import Board, Gate
from headgate.scheduling.units import Unit

Route = list[LightUnit]  # the operators that a tuple goes through, one after another


def serve_in_order(board: Board, entrance: Entrance, lights: LightUnits, accounts: Accounts, ledger: Ledger) -> bool:
    """Serve all arrivals, where that is all there is to it, and say so; else leave everything to the event loop."""
    served = _routes_by_stream(board, entrance, lights)
    if served is None:
        return False
    clock = 0.0
    for times, items, streams in entrance.blocks():
        for time, item, stream in zip(times, items, streams, strict=True):
            if time > clock:
                clock = time
            for route in served[stream]:
                light = route[0]
                if light.direct:
                    clock = clock + light.set_up + light.cost
                    light.ends.append(clock)
                    light.latencies.append(clock - item[0])
                else:
                    light.queue.append(item)
                    clock = _go_through(route, clock, ledger)
        accounts.settle(clock, times[-1], Counter(), 0)
    board.now = clock
    return True


def _go_through(route: Route, clock: float, ledger: Ledger) -> float:
    """Take what waits at the first operator through to the end, or as far as it comes; returns when that was done."""
    for light in route:
        queue = light.queue
        if not queue:
            break
        clock += light.set_up
        while queue:
            clock += light.cost
            light.finish(queue.popleft(), clock, _nobody, ledger)
    return clock


def _nobody(gate: Gate) -> None:
    """Whoever gets input here takes it at once, and need not be woken."""


def _routes_by_stream(board: Board, entrance: Entrance, lights: LightUnits) -> list[list[Route]] | None:
    """The ways of a stream's tuples; None when anything but the order of arrival matters."""
    policy = board.policy
    in_order = isinstance(policy, ArrivalOrder) and policy.in_arrival_order
    if board.slots > 1 or not in_order or not entrance.is_plain:
        return None
    entries = [[(unit, queue) for queue in outlet.queues for unit in queue.gate.units] for outlet in entrance.outlets]
    # Tuples that arrive together are served in the order of units; here that must be the order of streams too.
    if [unit for units in entries for unit, _ in units] != list(board.units):
        return None
    served = [[_route(unit, queue, lights) for unit, queue in units] for units in entries]
    return served if all(all(routes) for routes in served) else None


def _route(unit: Unit, queue: SimulatedQueue, lights: LightUnits) -> Route:
    """The operators of a unit, when all that enters by a queue goes through them in a row; else nothing."""
    if len(queue.gate.units) > 1:
        return []
    sole = lights[unit]
    if sole is not None:
        return [sole] if len(unit.edges) == 1 else []
    route: Route = []
    following: tuple[SimulatedQueue, ...] = (queue,)
    for name in unit.operators:
        light = lights.of_operator(name)
        if light is None or len(light.outlets) != 1 or [queue.node.id for queue in following] != [name]:
            return []
        light.queue = following[0]
        following = light.outlets[0].queues
        route.append(light)
    return route if not following else []
