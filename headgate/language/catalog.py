"""What a query may read: streams, tables, and the other queries of the application."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headgate.language.logical import Readable
from headgate.plan.model import Stream, Table
from headgate.plan.operators.base import Port


@dataclass(frozen=True)
class Catalog:
    """`queries` holds those that are compiled already; `names` all there are, for errors."""

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
    return Readable(stream.name, port, stream.schema, stream.flow, stream.time, ticks=(port,))
