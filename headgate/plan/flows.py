"""What kind of rows flow out of a port: tuples of a stream, or changes of a time-varying relation.

A row of a relation counts CHANGE times, from its TIME up to, but not including, its UNTIL. So the relation at instant
t is the sum of CHANGE over the rows with TIME <= t < UNTIL. The join of two rows counts while both do, with the product
of their changes; the order of rows never matters. Operators that must see a whole instant (aggregates, distinct) wait
until no earlier row can arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headgate.errors import ApplicationError
from headgate.plan.windows import UNBOUNDED, Clock, RangeWindow, Window
from headgate.sql.schema import RELATION_STAMPS, STAMPS


@dataclass(frozen=True)
class Flow:
    """What is known about a port's rows before any of them arrives."""

    clock: Clock = Clock.ARRIVAL
    relation: bool = False
    expires: bool = False  # rows may end (UNTIL before FOREVER)
    retracts: bool = False  # rows may remove others (CHANGE below 0)
    early: bool = False  # rows may arrive before their TIME

    @property
    def monotone(self) -> bool:
        """Does no row ever leave or arrive early? Then each row is final when it arrives."""
        return not (self.expires or self.retracts or self.early)

    @property
    def stamps(self) -> tuple[str, ...]:
        """The stamp columns that the rows carry."""
        return RELATION_STAMPS if self.relation else STAMPS


def windowed_flow(flow: Flow, window: Window | None, place: str) -> Flow:
    """The relation that a window (None: unbounded) makes of a stream; a relation passes unchanged."""
    if flow.relation:
        if window is not None:
            remedy = "windows go on streams; leave the window out"
            raise ApplicationError(place, "its input is a relation already", remedy)
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
    """The output of an operator that treats each row alone; its inputs must all be streams or all be relations."""
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
    """A flow in which everything may happen that may happen on any of the inputs."""
    return Flow(
        clock,
        relation,
        expires=any(flow.expires for flow in flows),
        retracts=any(flow.retracts for flow in flows),
        early=any(flow.early for flow in flows),
    )


def common_clock(flows: Sequence[Flow], place: str) -> Clock:
    """The clock of all inputs of an operator; ApplicationError if they differ."""
    clocks = {flow.clock for flow in flows}
    if len(clocks) > 1:
        named = " and ".join(sorted(clock.value for clock in clocks))
        remedy = "give each stream a `time` column of one type, or none of them"
        raise ApplicationError(place, f"its inputs use different clocks: {named}", remedy)
    return clocks.pop()
