"""The sinks of a run, one per query. An error in one ends its query only."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from headgate.connect.sinks import Sink, StagedSink, make_sink
from headgate.connect.sinks.base import content_of, position_of
from headgate.plan.model import Plan
from headgate.scheduling.timekeeper import Timekeeper

log = logging.getLogger("headgate.sink")

Failed = Mapping[str, Exception]  # query -> why


class QuerySinks(dict[str, Sink]):
    """Sinks by query."""

    def __init__(self, saved: Mapping[str, Any] = MappingProxyType({}), checkpointed: bool = False) -> None:
        super().__init__()
        self._saved = saved  # by query, what `state` said of its sink in the checkpoint that the run goes on from
        self._checkpointed = checkpointed

    def open(self, plan: Plan, folder: Path, application: str = "") -> None:
        """Open a sink for each query. ApplicationError: one cannot be opened; those opened before must be closed."""
        for query in plan.queries.values():
            schema, flow = plan.schemas[query.root], plan.flows[query.root]
            at = self._saved.get(query.name, {"position": None, "content": None})
            place = (folder, flow, application, at["position"], at["content"], self._checkpointed)
            self[query.name] = make_sink(query, schema, *place)

    def end_epochs(self) -> dict[str, Any]:
        """At the cut of a checkpoint, between writes: by query, where its sink stands, with what it holds."""
        for sink in self.staged:
            sink.take()
        return {query: {"position": position_of(sink), "content": content_of(sink)} for query, sink in self.items()}

    @property
    def staged(self) -> list[StagedSink]:
        """The sinks whose results wait for a checkpoint."""
        return [sink for sink in self.values() if isinstance(sink, StagedSink) and sink.held]

    def flush(self, running: Collection[str]) -> Failed:
        """Get what was written onto disks; returns the errors."""
        failed = {}
        for query in running:
            try:
                self[query].flush()
            except Exception as error:
                failed[query] = error
        return failed

    def write(
        self,
        query: str,
        table: pa.Table,
        time: Timekeeper,
        written: dict[str, list[pa.Table]],
        failed: dict[str, Exception],
    ) -> None:
        """Write results to a query's sink; add to `written` what it took, and to `failed` the error if it failed."""
        table = time.up_to_last_event(query, table)
        if table.num_rows == 0 or query in failed:
            return
        before = self[query].rows
        try:
            self[query].write(table)
        except Exception as error:  # any error here is the sink's
            failed[query] = error
            table = table.slice(0, self[query].rows - before)  # what was written counts
        if table.num_rows:
            written.setdefault(query, []).append(table)

    def discard(self, queries: Collection[str]) -> None:
        """Close the sinks of queries that were removed, or could not be added."""
        for query in queries:
            sink = self.pop(query, None)
            try:
                if sink is not None:
                    sink.close()
            except Exception as error:
                log.warning("the sink of query %s could not be closed: %s", query, error)

    def refresh(self, running: Collection[str]) -> Failed:
        """Let sinks that show the current contents of a relation catch up, even while there are no results."""
        failed = {}
        for query in running:
            try:
                self[query].refresh()
            except Exception as error:
                failed[query] = error
        return failed

    def close(self) -> Failed:
        """Close all sinks; returns the errors."""
        failed = {}
        for query, sink in self.items():
            try:
                sink.close()
            except Exception as error:
                failed[query] = error
        return failed
