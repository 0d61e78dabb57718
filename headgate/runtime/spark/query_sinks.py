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
        # By query, what `end_epochs` said of its sink in the checkpoint that the run goes on from; until it is open.
        self._saved = dict(saved)
        self._checkpointed = checkpointed
        self._kinds: dict[str, str] = {}
        self._contents: dict[str, tuple[int, pa.Table | None]] = {}  # by query: at so many results, what its sink held

    def open(self, plan: Plan, folder: Path, application: str = "") -> None:
        """Open a sink for each query. ApplicationError: one cannot be opened; those opened before must be closed."""
        for query in plan.queries.values():
            schema, flow = plan.schemas[query.root], plan.flows[query.root]
            at = self._saved.pop(query.name, {"position": None, "content": None})
            place = (folder, flow, application, at["position"], at["content"], self._checkpointed)
            self[query.name] = make_sink(query, schema, *place)
            self._kinds[query.name] = query.sink.get("kind", "memory")

    def end_epochs(self) -> dict[str, Any]:
        """At the cut of a checkpoint, between writes: by query, where its sink stands, with what it holds."""
        for sink in self.staged:
            sink.take()
        return {
            query: {"position": position_of(sink), "content": self._content(query, sink)}
            for query, sink in [*self.items()]
        }

    def _content(self, query: str, sink: Sink) -> pa.Table | None:
        """What a sink holds: the same table as before if it got no results since, which need not be written again."""
        if isinstance(sink, StagedSink):
            return content_of(sink)
        if query not in self._contents or self._contents[query][0] != sink.rows:
            self._contents[query] = (sink.rows, content_of(sink))
        return self._contents[query][1]

    @property
    def staged(self) -> list[StagedSink]:
        """The sinks that collect results, also those whose results do not wait for a checkpoint."""
        return [sink for sink in [*self.values()] if isinstance(sink, StagedSink)]

    def flush(self, running: Collection[str]) -> Failed:
        """Get what was written onto disks; returns the errors."""
        failed = {}
        for query in running:
            try:
                if query in self:  # else it was removed meanwhile
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
            self._contents.pop(query, None)
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

    def held_up(self, plan: Plan) -> Collection[str]:
        """The streams that are better left unread: too many results of a query that reads them wait in its sink."""
        full = [query for query, sink in self.items() if isinstance(sink, StagedSink) and sink.full]
        return {stream for query in full for stream in plan.reads.get(query, ())}

    def report(self, errors: Mapping[str, str]) -> dict[str, Any]:
        """The part of the report on sinks: by query, how its sink does. `errors`: queries that ended, and why."""
        return {"sinks": {query: self._state(query, sink, errors.get(query)) for query, sink in self.items()}}

    def _state(self, query: str, sink: Sink, ended: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {"kind": self._kinds.get(query), "delivery": self._delivery(sink), "rows": sink.rows}
        waits = sink.status() if isinstance(sink, StagedSink) else {}
        error = ended or waits.pop("error", None)
        state = "failed" if ended else "retrying" if error else "ok"
        return {"state": state, **found, **waits, "error": error}

    def _delivery(self, sink: Sink) -> str | None:
        """What a restart from a checkpoint does to the results; None: there are no checkpoints."""
        if not self._checkpointed:
            return None
        exactly = sink.held if isinstance(sink, StagedSink) else position_of(sink) is not None
        return "exactly_once" if exactly else "at_least_once"

    def close(self) -> Failed:
        """Close all sinks; returns the errors."""
        failed = {}
        for query, sink in self.items():
            try:
                sink.close()
            except Exception as error:
                failed[query] = error
        return failed
