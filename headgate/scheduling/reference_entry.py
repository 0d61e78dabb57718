"""Which references may enter a run, and how many tuples wait in those that have."""

from __future__ import annotations

from headgate.scheduling.core import Core
from headgate.scheduling.reference import Reference
from headgate.scheduling.shedder import is_weighed


def admits(core: Core, reference: Reference) -> bool:
    """May these tuples come next without passing the driver? Not if one may be late, or may have to be shed."""
    stream = core.plan.streams.get(reference.stream)
    if stream is None or stream.relation or not core.time.is_in_order(reference):
        return False
    return may_refer(core, reference.stream)


def may_refer(core: Core, stream: str) -> bool:
    """Do all operators that read a stream take its tuples as they come, without shedding any?"""
    edges = core.plan.entrances(stream) if stream in core.plan.streams else ()
    return not any(edge in core.shedders or is_weighed(core.plan, edge) for edge in edges)


def referred_rows(core: Core, stream: str) -> int:
    """How many tuples of a stream wait by reference, for the operator that is behind most."""
    edges = core.plan.entrances(stream) if stream in core.plan.streams else ()
    return max((core.queues[edge].referred_rows for edge in edges), default=0)
