"""Tuples served in the order of their arrival by one slot: no decision is open, so none is asked for.

When tuple i arrives at A(i) and needs C(i), it is finished at D(i) = max(A(i), D(i-1)) + C(i) (Lindley's recursion).
Every latency is what the event loop gives, to the last digit, without its decisions.
"""

from __future__ import annotations

from collections import Counter

from headgate.flow.board import Board
from headgate.runtime.simulated.accounts import Accounts
from headgate.runtime.simulated.entrance import Entrance
from headgate.runtime.simulated.light import LightUnit, LightUnits


def serve_in_order(board: Board, entrance: Entrance, lights: LightUnits, accounts: Accounts) -> None:
    """Serve all arrivals, where that is all there is to it; else leave everything to the event loop."""
    served = _served_by_stream(board, entrance, lights)
    if served is None:
        return
    clock = 0.0
    for times, items, streams in entrance.blocks():
        for time, item, stream in zip(times, items, streams, strict=True):
            if time > clock:
                clock = time
            for light in served[stream]:
                clock = clock + light.set_up + light.cost
                light.ends.append(clock)
                light.latencies.append(clock - item[0])
        accounts.settle(clock, times[-1], Counter(), 0)
    board.now = clock


def _served_by_stream(board: Board, entrance: Entrance, lights: LightUnits) -> list[list[LightUnit]] | None:
    """The units that read each stream; None when anything but the order of arrival matters."""
    if board.slots > 1 or not board.policy.in_arrival_order or not entrance.is_plain:
        return None
    direct = [light for unit in board.units if (light := lights[unit]) is not None and light.direct]
    if len(direct) < len(board.units):
        return None
    by_queue = {light.queue: light for light in direct}
    served = [[by_queue[queue] for queue in outlet.queues] for outlet in entrance.outlets]
    # Tuples that arrive together are served in the order of units; here that must be the order of streams too.
    in_turn = [light for lights_of_one in served for light in lights_of_one]
    return served if in_turn == direct else None
