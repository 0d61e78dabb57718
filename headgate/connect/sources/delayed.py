"""A source that was opened in the middle of a run: its own time begins then."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headgate.connect.sources.base import Source
from headgate.sql.schema import ARRIVAL


class DelayedSource:
    """Moves the times of a source back by `since` seconds, so that it begins to give tuples when it was opened."""

    def __init__(self, source: Source, since: float) -> None:
        self._source = source
        self._since = since
        self.schema = source.schema
        self.replayable = source.replayable

    @property
    def exhausted(self) -> bool:
        """See `Source`."""
        return self._source.exhausted

    @property
    def rejected(self) -> int:
        """See `Source`."""
        return self._source.rejected

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""
        table = self._source.poll(now - self._since, limit)
        if table is None:
            return None
        at = table.column_names.index(ARRIVAL)
        arrivals = pc.add(table.column(at), pa.scalar(round(self._since * 1e6), pa.int64()))
        return table.set_column(at, table.schema.field(at), arrivals)

    def next_arrival(self) -> float | None:
        """See `Source`."""
        due = self._source.next_arrival()
        return None if due is None else due + self._since

    def close(self) -> None:
        """See `Source`."""
        self._source.close()
