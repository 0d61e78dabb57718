"""The plan: an application after loading and checking, as streams, tables, classes, operators and queries."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from headgate.errors import first_few, known_names
from headgate.plan.flows import Flow
from headgate.plan.operators.base import Operator, Port
from headgate.plan.quality import QosMeasure
from headgate.plan.windows import Clock
from headgate.sql.schema import Schema


@dataclass(frozen=True)
class Stream:
    """A named source of tuples. `source` holds the checked settings of its connector."""

    name: str
    schema: Schema
    source: Mapping[str, Any]
    time: str | None = None  # event-time column; None: arrival time
    slack_s: float = 0.0  # how far event time may run backwards; in units of the column if it is a BIGINT
    relation: bool = False  # its tuples add rows to a relation (`change` is +) or remove them (-)
    max_jump_s: float | None = None  # how far a tuple may be ahead of all before it; units as for `slack_s`
    connector: object = None  # the checked source that reads it; None: made from `source` when it is opened

    @property
    def clock(self) -> Clock:
        """What the stream's time is measured by."""
        if self.time is None:
            return Clock.ARRIVAL
        column = self.schema.find(self.time)
        is_timestamp = column is not None and (column.type or "").startswith("TIMESTAMP")
        return Clock.EVENT if is_timestamp else Clock.LOGICAL

    @property
    def flow(self) -> Flow:
        return Flow(self.clock, relation=self.relation, retracts=self.relation)

    @property
    def slack_ticks(self) -> int:
        """The slack in ticks of the stream's clock."""
        return self._ticks(self.slack_s)

    @property
    def max_jump_ticks(self) -> int | None:
        """The largest jump in ticks of the stream's clock; None if jumps are not limited."""
        return None if self.max_jump_s is None else self._ticks(self.max_jump_s)

    def _ticks(self, seconds: float) -> int:
        return round(seconds * (1 if self.clock is Clock.LOGICAL else 1_000_000))


@dataclass(frozen=True)
class Table:
    """A stored relation to join streams with; read when a run starts, and again if it asks for that."""

    name: str
    schema: Schema
    source: Mapping[str, Any]
    connector: object = None  # as of a stream

    @property
    def reload_s(self) -> float | None:
        """How often a run looks whether it has changed; None: never."""
        return self.source.get("reload")


@dataclass(frozen=True)
class QueryClass:
    """An importance class; a larger priority is more important."""

    name: str
    priority: int
    linger_s: float | None = None  # how long tuples of its queries may wait for company; None: the runtime's default


@dataclass(frozen=True)
class PolicySettings:
    """A policy's name and parameters, as the application file or the command line gives them."""

    name: str = "rr"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Query:
    """A continuous query: what its sink receives is the output of `root`."""

    name: str
    class_name: str
    root: Port
    operators: tuple[str, ...]  # every operator between its streams and its sink, inputs first
    sink: Mapping[str, Any] = field(default_factory=lambda: {"kind": "memory"})
    qos: tuple[QosMeasure, ...] = ()
    tolerance: float | None = None  # the largest relative error of its results; None: it is never shed
    shed: Any = None
    error_bounds: bool = False  # should results say how far they may be off because of what was shed?
    policy: PolicySettings | None = None  # its own; None: the application's
    cql: str = ""  # its text, if it is written in CQL
    on_error: Literal["stop", "skip"] = "stop"  # what to do when a row makes an operator fail
    connector: object = None  # the checked sink that writes its results; None: made from `sink` when it is opened
    linger_s: float | None = None  # None: as its class


class Edge(NamedTuple):
    """The position of a queue: input number `input` of an operator."""

    operator: str
    input: int


@dataclass(frozen=True)
class Plan:
    """All queries of an application as one DAG. `operators` is in topological order, inputs first."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Table]
    classes: Mapping[str, QueryClass]
    operators: Mapping[str, Operator]
    queries: Mapping[str, Query]
    schemas: Mapping[Port, Schema]  # of every stream and every operator output
    flows: Mapping[Port, Flow]  # likewise
    grows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # query -> what keeps growing while it runs

    @property
    def warnings(self) -> tuple[str, ...]:
        """What users should know before a run: at most one line, however many queries have growing state."""
        if not self.grows:
            return ()
        if len(self.grows) == 1:
            ((query, found),) = self.grows.items()
            return (f"queries.{query}.cql: {'; '.join(found)}",)
        return (
            f"{len(self.grows)} queries have state that keeps growing: {first_few(list(self.grows))}; "
            "bound it by windows, such as [RANGE 1 HOUR]; `headgate explain` says what grows",
        )

    @cached_property
    def priorities(self) -> Mapping[str, int]:
        """The priority of each class."""
        return {name: found.priority for name, found in self.classes.items()}

    def linger_s(self, query: str) -> float | None:
        """How long tuples may wait for company before a query is called; None: the runtime's default."""
        own = self.queries[query].linger_s
        return self.classes[self.queries[query].class_name].linger_s if own is None else own

    def with_class(self, query: str, class_name: str) -> Plan:
        """A copy with a query moved to another class; ValueError if there is no such query or class."""
        self._require("class", "classes", class_name, self.classes)
        return self._with_query(query, class_name=class_name)

    def with_policy(self, query: str, policy: PolicySettings | None) -> Plan:
        """A copy in which a query has another policy of its own, or none; ValueError if there is no such query."""
        return self._with_query(query, policy=policy)

    def with_linger(self, query: str, linger_s: float | None) -> Plan:
        """A copy in which the tuples of a query may wait so long for company; ValueError if there is no such query."""
        return self._with_query(query, linger_s=linger_s)

    def with_qos(self, query: str, qos: tuple[QosMeasure, ...]) -> Plan:
        """A copy in which a query is promised something else; ValueError if there is no such query."""
        return self._with_query(query, qos=qos)

    def with_tolerance(self, query: str, tolerance: float | None, shed: Any) -> Plan:
        """A copy in which a query tolerates another error, or none; ValueError if there is no such query."""
        return self._with_query(query, tolerance=tolerance, shed=shed)

    def _with_query(self, query: str, **changes: Any) -> Plan:
        self._require("query", "queries", query, self.queries)
        return replace(self, queries={**self.queries, query: replace(self.queries[query], **changes)})

    def with_priority(self, class_name: str, priority: int) -> Plan:
        """A copy with a new priority for a class; ValueError if there is no such class."""
        self._require("class", "classes", class_name, self.classes)
        changed = replace(self.classes[class_name], priority=priority)
        return replace(self, classes={**self.classes, class_name: changed})

    def with_added_class(self, added: QueryClass) -> Plan:
        """A copy with one more class; ValueError if there is one of its name."""
        if added.name in self.classes:
            raise ValueError(f"there is already a class '{added.name}'; choose another name")
        return replace(self, classes={**self.classes, added.name: added})

    def without_class(self, name: str) -> Plan:
        """A copy without a class; ValueError if there is no such class."""
        self._require("class", "classes", name, self.classes)
        return replace(self, classes={key: one for key, one in self.classes.items() if key != name})

    def without_stream(self, name: str) -> Plan:
        """A copy without a stream that nobody reads; ValueError names the queries that do, if there are any."""
        self._require("stream", "streams", name, self.streams)
        if readers := self.readers(name):
            raise ValueError(f"it is read by {first_few(readers)}; remove them first")
        return replace(
            self,
            streams={key: one for key, one in self.streams.items() if key != name},
            schemas={port: one for port, one in self.schemas.items() if port.node != name},
            flows={port: one for port, one in self.flows.items() if port.node != name},
        )

    def without_table(self, name: str) -> Plan:
        """A copy without a table that nobody reads; ValueError names the queries that do, if there are any."""
        self._require("table", "tables", name, self.tables)
        if readers := self.table_readers(name):
            raise ValueError(f"it is read by {first_few(readers)}; remove them first")
        return replace(self, tables={key: one for key, one in self.tables.items() if key != name})

    def table_readers(self, table: str) -> tuple[str, ...]:
        """The queries that read a table."""
        using = [name for name, one in self.operators.items() if getattr(one, "table", None) == table]
        return tuple(dict.fromkeys(query for name in using for query in self.owners[name]))

    @staticmethod
    def _require(what: str, plural: str, name: str, known: Mapping[str, object]) -> None:
        if name not in known:
            raise ValueError(f"there is no {what} '{name}'; {known_names(plural, known, name)}")

    @cached_property
    def consumers(self) -> Mapping[Port, tuple[Edge, ...]]:
        """The queues that receive the output of each port."""
        found: dict[Port, list[Edge]] = {port: [] for port in self.schemas}
        for operator in self.operators.values():
            for index, port in enumerate(operator.inputs):
                found[port].append(Edge(operator.id, index))
        return {port: tuple(edges) for port, edges in found.items()}

    @cached_property
    def sinks(self) -> Mapping[Port, tuple[str, ...]]:
        """The queries whose results are the output of each port."""
        found: dict[Port, list[str]] = {}
        for query in self.queries.values():
            found.setdefault(query.root, []).append(query.name)
        return {port: tuple(names) for port, names in found.items()}

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Every queue of the plan, in operator order."""
        return tuple(Edge(o.id, i) for o in self.operators.values() for i in range(len(o.inputs)))

    @cached_property
    def owners(self) -> Mapping[str, tuple[str, ...]]:
        """The queries that each operator works for; several if it is shared."""
        found: dict[str, list[str]] = {name: [] for name in self.operators}
        for query in self.queries.values():
            for operator in query.operators:
                found[operator].append(query.name)
        return {name: tuple(queries) for name, queries in found.items()}

    @cached_property
    def reads(self) -> Mapping[str, tuple[str, ...]]:
        """The streams that each query reads."""
        found: dict[str, tuple[str, ...]] = {}
        for query in self.queries.values():
            nodes = [port.node for name in query.operators for port in self.operators[name].inputs]
            found[query.name] = tuple(dict.fromkeys(node for node in nodes if node in self.streams))
        return found

    def without(self, names: Collection[str]) -> Plan:
        """A copy without some queries and the operators that only they used."""
        queries = {name: query for name, query in self.queries.items() if name not in names}
        needed = {operator for query in queries.values() for operator in query.operators}
        operators = {name: operator for name, operator in self.operators.items() if name in needed}
        return replace(self, queries=queries, operators=operators)

    def without_connectors(self) -> Plan:
        """A copy that can be pickled: the scheduling core does not use connectors, and some cannot."""
        return replace(
            self,
            streams={name: replace(stream, connector=None) for name, stream in self.streams.items()},
            tables={name: replace(table, connector=None) for name, table in self.tables.items()},
            queries={name: replace(query, connector=None) for name, query in self.queries.items()},
        )

    def entrances(self, stream: str) -> tuple[Edge, ...]:
        """The queues that receive the tuples of a stream, as it is or in a variant."""
        return tuple(edge for port in self.ports_of(stream) for edge in self.consumers[port])

    def ports_of(self, stream: str) -> tuple[Port, ...]:
        """A stream and its variants."""
        return self._ports.get(stream, (Port(stream),))

    @cached_property
    def _ports(self) -> Mapping[str, tuple[Port, ...]]:
        found: dict[str, list[Port]] = {name: [Port(name)] for name in self.streams}
        for port in self.schemas:
            if port.node in found and port.branch:
                found[port.node].append(port)
        return {name: tuple(ports) for name, ports in found.items()}

    def readers(self, stream: str) -> tuple[str, ...]:
        """The queries that read a stream."""
        edges = self.entrances(stream)
        return tuple(dict.fromkeys(query for edge in edges for query in self.owners[edge.operator]))
