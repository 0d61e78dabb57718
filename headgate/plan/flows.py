"""What kind of rows flow out of a port: tuples of a stream, or the changes of a time-varying relation.

A row of a relation counts from its TIME up to, not including, its UNTIL, CHANGE times. So the relation at instant t is
the sum of CHANGE over the rows with TIME <= t < UNTIL. A join of two rows counts where both do, with the product of
their changes; nothing about the order of rows matters. Operators that must know a whole instant (aggregates, distinct)
wait until no earlier row can come any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headgate.errors import ApplicationError
from headgate.plan.windows import UNBOUNDED, Clock, RangeWindow, Window
from headgate.sql.schema import RELATION_STAMPS, STAMPS


@dataclass(frozen=True)
class Flow:
    """The character of a port's rows, known before any row comes."""

    clock: Clock = Clock.ARRIVAL
    relation: bool = False
    expires: bool = False  # rows may have an end (UNTIL before FOREVER)
    retracts: bool = False  # rows may take away (CHANGE below 0)
    early: bool = False  # rows may come before their TIME

    @property
    def monotone(self) -> bool:
        """Does nothing ever leave, or come too early? Then each row is final when it comes."""
        return not (self.expires or self.retracts or self.early)

    @property
    def stamps(self) -> tuple[str, ...]:
        return RELATION_STAMPS if self.relation else STAMPS


def windowed_flow(flow: Flow, window: Window | None, place: str) -> Flow:
    """The relation that a window makes of a stream; a relation has no window. None: unbounded, as CQL has it."""
    if flow.relation:
        if window is not None:
            raise ApplicationError(place, "its input is a relation already", "windows go on streams; leave it out")
        return flow
    window = window or UNBOUNDED
    try:
        window.check(flow.clock)
    except ValueError as error:
        remedy = "lengths of time have a unit (20 SECONDS), those of a BIGINT time column do not (RANGE 20)"
        raise ApplicationError(place, str(error), remedy) from error
    if isinstance(window, RangeWindow):
        return replace(flow, relation=True, expires=not window.unbounded, early=window.slide is not None)
    return replace(flow, relation=True, expires=True, retracts=True)


def rowwise_flow(flows: Sequence[Flow], place: str) -> Flow:
    """Several inputs of one operator, row by row: all streams or all relations, on one clock."""
    first = flows[0]
    if any(flow.relation != first.relation for flow in flows):
        raise ApplicationError(
            place,
            "some of its inputs are streams and some are relations",
            "give the streams a window, or make streams of the relations with ISTREAM",
        )
    common_clock(flows, place)
    return merged_flow(flows, first.clock, first.relation)


def merged_flow(flows: Sequence[Flow], clock: Clock, relation: bool) -> Flow:
    """What may happen on any of several inputs may happen behind them."""
    return Flow(
        clock,
        relation,
        expires=any(flow.expires for flow in flows),
        retracts=any(flow.retracts for flow in flows),
        early=any(flow.early for flow in flows),
    )


def common_clock(flows: Sequence[Flow], place: str) -> Clock:
    clocks = {flow.clock for flow in flows}
    if len(clocks) > 1:
        named = " and ".join(sorted(clock.value for clock in clocks))
        raise ApplicationError(
            place, f"its inputs go by {named}", "give each stream a `time` column of one type, or none of them"
        )
    return clocks.pop()
