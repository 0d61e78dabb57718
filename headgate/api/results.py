"""The results of a query, for programs that read them while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from headgate.connect.sinks.memory import MemorySink

if TYPE_CHECKING:
    import pandas as pd

_WAIT_S = 0.5  # how long to wait for results before it looks again whether the query has ended


class Results:
    """The results of a query. Iterate to get each batch as it comes, as an Arrow table, until run or query ends.

    Only the newest rows are kept (`sinks.Memory(limit=...)`): a reader that is slower than its query misses some,
    which `missed` counts. A relation that can lose rows comes as it stands, whenever it has changed.
    """

    def __init__(self, query: str, sink: MemorySink, over: Callable[[], bool]) -> None:
        self.query = query
        self.missed = 0  # rows that were dropped before this reader reached them
        self._sink = sink
        self._over = over

    def __iter__(self) -> Iterator[pa.Table]:
        seen = 0
        while True:
            over = self._over()  # asked first: results that come later are not awaited
            rows, tables = self._sink.since(seen, 0.0 if over else _WAIT_S)
            if rows > seen:
                if not self._sink.whole:
                    self.missed += rows - seen - sum(table.num_rows for table in tables)
                seen = rows
                yield from tables
            elif over:
                return

    @property
    def rows(self) -> int:
        """How many rows there have been so far; of a relation that comes as it stands, how many were written."""
        return self._sink.rows

    @property
    def as_it_stands(self) -> bool:
        """Are these the rows of a relation as it stands, rather than one result after another?"""
        return self._sink.whole

    @property
    def mark(self) -> str:
        """Tells these results from those of another query that had or will have this name, after a restart, too."""
        return self._sink.mark

    def same_as(self, other: Results) -> bool:
        """Are these results of one query, rather than of two that had one name?"""
        return self._sink is other._sink

    @property
    def over(self) -> bool:
        """Will nothing more come?"""
        return self._over()

    def since(self, rows: int) -> tuple[int, pa.Table]:
        """How many rows there are by now, and those after the first `rows` that are kept; for readers that ask."""
        found, tables = self._sink.since(rows)
        return found, pa.concat_tables(tables) if tables else self._sink.empty()

    def to_arrow(self) -> pa.Table:
        """All rows that are kept."""
        tables = self._sink.tables()
        return pa.concat_tables(tables) if tables else self._sink.empty()

    def to_pandas(self) -> pd.DataFrame:
        """All rows that are kept, as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def latest(self, n: int = 10) -> pa.Table:
        """The newest `n` rows that are kept."""
        if n < 0:
            raise ValueError(f"{n} rows cannot be had; ask for 0 or more")
        found = self.to_arrow()
        return found.slice(max(0, found.num_rows - n))

    def __repr__(self) -> str:
        return f"<Results of {self.query}: {self._sink.rows} so far>"

    def _repr_html_(self) -> str:
        found: str = self.latest(20).to_pandas().to_html(index=False)
        return found
