"""Events: all that can happen to a running application, as data. `Core.handle` takes them one by one.

Each carries the time at which it happened, in seconds since the run began, because the core has no clock. The same
events give the same instructions, so a recorded run can be replayed (see `event_log`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headgate.plan.model import Plan
from headgate.scheduling.calls import Outcome


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened `at` this time."""

    at: float


@dataclass(frozen=True, slots=True)
class TuplesArrived(Event):
    """Sources gave tuples. On the `complete` streams this is everything that arrived up to `upto`, even if no table is
    there; on the others more may follow for the same time."""

    tables: Mapping[str, pa.Table]
    complete: Collection[str] = ()
    upto: float = 0.0


@dataclass(frozen=True, slots=True)
class StreamEnded(Event):
    """No more tuples will arrive on a stream. With an error, the queries that read it stop."""

    stream: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class SlotFree(Event):
    """A slot asks for a call."""

    slot: int


@dataclass(frozen=True, slots=True)
class CallEnded(Event):
    """A slot has made its call and handed `written`, by query, to the sinks. Results that the sink refused are not in
    it; the error is in `refused`, and their query stops."""

    slot: int
    outcome: Outcome
    written: Mapping[str, Sequence[pa.Table]] = field(default_factory=dict)
    refused: Mapping[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueriesFailed(Event):
    """Queries cannot go on, for a reason outside of any call: their sinks fail, for example."""

    errors: Mapping[str, Exception]


@dataclass(frozen=True, slots=True)
class PolicyReplaced(Event):
    """The administrator, or the optimizer, chose another policy."""

    name: str
    parameters: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class PriorityChanged(Event):
    """A class has another priority from now on."""

    class_name: str
    priority: int


@dataclass(frozen=True, slots=True)
class QueryClassChanged(Event):
    """A query is in another class from now on."""

    query: str
    class_name: str


@dataclass(frozen=True, slots=True)
class QueriesAdded(Event):
    """New queries join, with operators of their own (see `plan.added_queries`). They read what arrives from now on."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class QueriesStopped(Event):
    """Somebody asked for queries to end. What waits for them alone is given up; they stay in the report."""

    queries: Collection[str]


@dataclass(frozen=True, slots=True)
class QueryRemoved(Event):
    """A query is to be forgotten, in the report too; if it still runs, it ends. Its name is free from then on."""

    query: str
