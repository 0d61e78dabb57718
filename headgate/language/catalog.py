"""What a query may read: streams, tables and the other queries of the application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.language.logical_tree import Readable, ScanNode, Trigger, WindowNode
from headgate.plan.flows import Flow
from headgate.plan.model import Stream, Table
from headgate.plan.operators import RStream
from headgate.plan.operators.base import Operator, Port
from headgate.plan.rstream_triggers import with_triggers
from headgate.sql.schema import Schema


@dataclass(frozen=True)
class Catalog:
    """The names that FROM may use; `queries` holds the results of those compiled so far."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Table] = field(default_factory=dict)
    queries: Mapping[str, Readable] = field(default_factory=dict)

    def find(self, name: str) -> Readable | Table | None:
        """What a name in FROM means; an exact match first, then one that ignores case."""
        for spelled in (name, *(n for n in self.names if n.lower() == name.lower())):
            if spelled in self.streams:
                return readable(self.streams[spelled])
            if spelled in self.queries:
                return self.queries[spelled]
            if spelled in self.tables:
                return self.tables[spelled]
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """All names that FROM may use."""
        return (*self.streams, *self.tables, *self.queries)


def readable(stream: Stream) -> Readable:
    """A stream, as FROM reads it."""
    port = Port(stream.name)
    return Readable(stream.name, port, stream.schema, stream.flow, stream.time, triggers=(port,))


def readable_result(
    name: str,
    root: Port,
    operators: Mapping[str, Operator],
    schemas: Mapping[Port, Schema],
    flows: Mapping[Port, Flow],
) -> Readable:
    """The result of a query that lists its operators; `operators` must contain everything upstream of its root."""
    rstream, row_windows = with_triggers(RStream(id=f"{name}/ticks", inputs=(root,)), operators, flows)
    by_port = {Port(window.id): window for window in row_windows}
    triggers: list[Trigger] = []
    for port in rstream.inputs[1:]:
        window = by_port.get(port)
        if window is None:
            triggers.append(port)
        else:
            below = window.inputs[0]
            source = Readable(below.node, below, schemas[below], flows[below], triggers=(below,))
            triggers.append(WindowNode(input=ScanNode(source=source), window=window.window))
    return Readable(name, root, schemas[root], flows[root], triggers=tuple(triggers), slides=rstream.slides)
