"""A policy, a source and a sink for Headgate."""

from __future__ import annotations

from collections.abc import Iterator

import headgate as hg


class Last(hg.Policy):
    """The last unit that is ready."""

    name = "sample-last"

    def choose(self, slot: int) -> hg.Decision | None:
        ready = self.view.ready()
        return hg.Decision(ready[-1], inspected=len(ready)) if ready else None


class Squares(hg.SourceKind):
    """Square numbers."""

    kind = "sample-squares"
    rows: int = 10

    def batches(self, context: hg.sources.SourceContext) -> Iterator[list[tuple[int]]]:
        yield [(n * n,) for n in range(self.rows)]


class Log(hg.SinkKind):
    """A line for each batch, with the number of its rows."""

    kind = "sample-log"
    path: str

    def open(self, context: hg.sinks.SinkContext) -> hg.sinks.EachBatch:
        file = (context.folder / self.path).open("w")
        return hg.sinks.EachBatch(context, lambda table: file.write(f"{table.num_rows}\n"), file.close)
