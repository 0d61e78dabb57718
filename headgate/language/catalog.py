"""What a query may read: streams, tables, and the other queries of the application."""

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
    """`queries` are the results of those that are built already."""

    streams: Mapping[str, Stream]
    tables: Mapping[str, Table] = field(default_factory=dict)
    queries: Mapping[str, Readable] = field(default_factory=dict)

    def find(self, name: str) -> Readable | Table | None:
        """What FROM means by a name; without regard to case when there is none in this very spelling."""
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
        return (*self.streams, *self.tables, *self.queries)


def readable(stream: Stream) -> Readable:
    port = Port(stream.name)
    return Readable(stream.name, port, stream.schema, stream.flow, stream.time, triggers=(port,))


def readable_result(
    name: str,
    root: Port,
    operators: Mapping[str, Operator],
    schemas: Mapping[Port, Schema],
    flows: Mapping[Port, Flow],
) -> Readable:
    """What a query that lists its operators gives out; `operators` hold at least what is upstream of its root."""
    asking, marks = with_triggers(RStream(id=f"{name}/ticks", inputs=(root,)), operators, flows)
    counted = {Port(mark.id): mark for mark in marks}
    triggers: list[Trigger] = []
    for port in asking.inputs[1:]:
        mark = counted.get(port)
        if mark is None:
            triggers.append(port)
        else:
            below = mark.inputs[0]
            source = Readable(below.node, below, schemas[below], flows[below], triggers=(below,))
            triggers.append(WindowNode(input=ScanNode(source=source), window=mark.window))
    return Readable(name, root, schemas[root], flows[root], triggers=tuple(triggers), slides=asking.slides)
