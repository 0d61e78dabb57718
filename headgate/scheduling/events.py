"""Events: everything that can happen to a running application, as data. `Core.handle` takes them one by one.

Each carries the time at which it happened, because the core has no clock. The same events always give the same
instructions, so a recorded run can be replayed (see `event_log`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headgate.plan.model import Edge, Plan, PolicySettings, QueryClass
from headgate.plan.quality import QosMeasure
from headgate.scheduling.calls import Outcome
from headgate.scheduling.reference import Rows


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened `at` a time, in seconds since the run began."""

    at: float


@dataclass(frozen=True, slots=True)
class TuplesArrived(Event):
    """Sources delivered tuples, one table or reference per stream.

    On the `complete` streams this is everything that arrived up to the time `upto`, even if they have no table; on
    other streams more may follow for the same time.
    """

    tables: Mapping[str, Rows]
    complete: Collection[str] = ()
    upto: float = 0.0


@dataclass(frozen=True, slots=True)
class StreamEnded(Event):
    """No more tuples will arrive on a stream. If it ended with an error, the queries that read it end."""

    stream: str
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class SlotFree(Event):
    """A slot asks for a call."""

    slot: int


@dataclass(frozen=True, slots=True)
class CallEnded(Event):
    """A slot has finished its call and handed results to the sinks.

    `written` has what the sinks took, by query. Where a sink failed, `refused` has the error, and the query ends.
    """

    slot: int
    outcome: Outcome
    written: Mapping[str, Sequence[pa.Table]] = field(default_factory=dict)
    refused: Mapping[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueriesFailed(Event):
    """Queries cannot go on for a reason outside of any call, such as a sink that fails."""

    errors: Mapping[str, Exception]


@dataclass(frozen=True, slots=True)
class PolicyReplaced(Event):
    """The administrator chose another policy."""

    name: str
    parameters: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True)
class PriorityChanged(Event):
    """The administrator gave a class another priority."""

    class_name: str
    priority: int


@dataclass(frozen=True, slots=True)
class QueryClassChanged(Event):
    """The administrator moved a query to another class."""

    query: str
    class_name: str


@dataclass(frozen=True, slots=True)
class QueryPolicyChanged(Event):
    """A query is scheduled by a policy of its own from now on; None: by the application's."""

    query: str
    policy: PolicySettings | None
    reason: str


@dataclass(frozen=True, slots=True)
class QueryLingerChanged(Event):
    """The tuples of a query may wait so many seconds for company from now on; None: as long as its class says."""

    query: str
    linger_s: float | None


@dataclass(frozen=True, slots=True)
class QueryQosChanged(Event):
    """The administrator promises something else to a query, or nothing any more."""

    query: str
    qos: tuple[QosMeasure, ...]


@dataclass(frozen=True, slots=True)
class QueryToleranceChanged(Event):
    """The administrator says which error a query tolerates from now on, and what is dropped first; None: none.

    Nothing of the query is dropped from then on, until the optimizer finds that it must be.
    """

    query: str
    tolerance: float | None
    shed: Any


@dataclass(frozen=True, slots=True)
class SheddingChanged(Event):
    """From now on so many of a query's tuples are dropped at a queue that each tuple which is kept counts for `extra`
    64ths more; 0: none is."""

    edge: Edge
    extra: int


@dataclass(frozen=True, slots=True)
class QueriesAdded(Event):
    """Queries were added, with operators of their own (`plan.added_queries`). They read what arrives from now on."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class QueriesStopped(Event):
    """The administrator ends queries. Tuples that wait for them alone are dropped; they stay in the report."""

    queries: Collection[str]


@dataclass(frozen=True, slots=True)
class QueryRemoved(Event):
    """The administrator removes a query, from the report too; if it still runs, it ends. Its name is free then."""

    query: str


@dataclass(frozen=True, slots=True)
class ClassAdded(Event):
    """The administrator adds a class."""

    added: QueryClass


@dataclass(frozen=True, slots=True)
class ClassRemoved(Event):
    """The administrator removes a class that no query is in. Its name is free then."""

    class_name: str


@dataclass(frozen=True, slots=True)
class StreamRemoved(Event):
    """The administrator removes a stream that no query reads. Its name is free then, for another schema."""

    stream: str


@dataclass(frozen=True, slots=True)
class TableRemoved(Event):
    """The administrator removes a table that no query reads. Its name is free then, for other rows."""

    table: str
