"""The sinks of a run. What goes wrong in one is its query's affair: the others go on."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headgate.connect.sinks import Sink
from headgate.flow.timekeeper import Timekeeper

Failed = Mapping[str, Exception]  # query -> why


class Outputs(dict[str, Sink]):
    """Sinks by query."""

    def write(
        self,
        query: str,
        table: pa.Table,
        time: Timekeeper,
        written: dict[str, list[pa.Table]],
        failed: dict[str, Exception],
    ) -> None:
        """Hand results to a query's sink, and note what was written, or why not."""
        table = time.until_the_end(query, table)
        if table.num_rows == 0 or query in failed:
            return
        try:
            self[query].write(table)
            written.setdefault(query, []).append(table)
        except Exception as error:  # whatever it is, it is the sink's
            failed[query] = error

    def refresh(self) -> Failed:
        """Sinks that show what a relation holds catch up, also while no results come."""
        failed = {}
        for query, sink in self.items():
            try:
                sink.refresh()
            except OSError as error:
                failed[query] = error
        return failed

    def close(self) -> Failed:
        """Bring all results to an end."""
        failed = {}
        for query, sink in self.items():
            try:
                sink.close()
            except Exception as error:
                failed[query] = error
        return failed
