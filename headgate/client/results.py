"""The results of a query of a server, read while they come."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import pyarrow as pa

from headgate.client.connection import Connection, path_of
from headgate.connect.sources.rows import rows_to_table
from headgate.errors import ServerError
from headgate.server.http.rows import ARROW, POSITION_HEADER

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS = 100_000  # that a server sends at once
RECONNECT_S = 60.0  # how long a lost connection is tried again
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_PASSING = (429, 502, 503, 504)  # answers of servers that are busy, and of proxies while theirs is away


class _Event(NamedTuple):
    kind: str  # rows, relation or end
    position: str  # where it ends
    data: dict[str, Any]


class _Retry:
    """Pauses before a lost connection is tried again, longer and longer."""

    def __init__(self) -> None:
        self._pause_s = _FIRST_PAUSE_S
        self._until: float | None = None

    def wait(self, error: ServerError) -> None:
        """Wait a little; raises `error` when the connection has been away for too long."""
        self._until = self._until or time.monotonic() + RECONNECT_S
        if time.monotonic() > self._until:
            raise error
        time.sleep(self._pause_s)
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)


class RemoteResults:
    """The results of a query on a server, in the manner of `hg.Results`.

    Iterate to get them as Arrow tables, typed as the query's columns are: first what the server has kept, then each
    batch as it comes, until the query ends. A connection that is lost is made again, and goes on after the last row
    that was read. Rows that the server no longer had by then are counted by `missed`. A relation that can lose rows
    comes as it stands, whenever it has changed.
    """

    def __init__(self, connection: Connection, query: str) -> None:
        self.query = query
        self.missed = 0  # rows that were dropped before this reader reached them
        self._connection = connection
        self._path = path_of("queries", query, "results")

    def __iter__(self) -> Iterator[pa.Table]:
        return self.follow(MOST_ROWS)

    def follow(self, last: int = 0) -> Iterator[pa.Table]:
        """As iteration does, but begin with the newest `last` rows only."""
        seen, table = self._kept(last)
        if table.num_rows:
            yield table
        yield from self._following(seen)

    def _following(self, seen: str) -> Iterator[pa.Table]:
        """What comes after a position; ends with the query."""
        schema: pa.Schema | None = None
        retry = _Retry()
        while True:
            try:
                for event in self._events(seen):
                    retry = _Retry()
                    if event.kind == "end":
                        return
                    self.missed += int(event.data["missed"])
                    seen = event.position
                    schema = schema or self._kept(0)[1].schema  # types are known once there were results
                    yield rows_to_table(event.data["rows"], schema).table
            except httpx.TransportError as error:
                retry.wait(self._connection.lost(error))
            except ServerError as error:
                if error.status not in _PASSING:
                    raise
                retry.wait(error)
            else:  # the server stops, perhaps to start again; the query did not end
                retry.wait(ServerError(self._connection.url, "the server has stopped"))

    def _events(self, seen: str) -> Iterator[_Event]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": seen}
        with self._connection.stream(f"{self._path}/events", headers, {}) as answer:
            yield from _read_events(answer.iter_lines())

    def _kept(self, last: int) -> tuple[str, pa.Table]:
        """Where the rows end that there have been so far, and the newest of them."""
        answer = self._connection.ask("GET", self._path, params={"last": last}, headers={"Accept": ARROW})
        with pa.ipc.open_stream(answer.content) as reader:
            return answer.headers[POSITION_HEADER], reader.read_all()

    @property
    def rows(self) -> int:
        """How many rows there have been so far; of a relation that comes as it stands, how many were written."""
        return int(self._kept(0)[0].rpartition("-")[2])

    def to_arrow(self) -> pa.Table:
        """All rows that are kept, at most the newest 100,000."""
        return self._kept(MOST_ROWS)[1]

    def to_pandas(self) -> pd.DataFrame:
        """The same as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def latest(self, n: int = 10) -> pa.Table:
        """The newest `n` rows that are kept."""
        if not 0 <= n <= MOST_ROWS:
            raise ValueError(f"{n} rows cannot be had; ask for 0 to {MOST_ROWS:,}")
        return self._kept(n)[1]

    def __repr__(self) -> str:
        return f"<Results of {self.query} on {self._connection.url}>"

    def _repr_html_(self) -> str:
        found: str = self.latest(20).to_pandas().to_html(index=False)
        return found


def _read_events(lines: Iterator[str]) -> Iterator[_Event]:
    """Server-sent events, as the HTML standard has them; comments are left out."""
    fields: dict[str, str] = {}
    for line in lines:
        if not line:
            if "data" in fields:
                yield _Event(fields.get("event", "rows"), fields.get("id", ""), json.loads(fields["data"]))
            fields = {}
        elif not line.startswith(":"):
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            fields[key] = f"{fields[key]}\n{value}" if key == "data" and key in fields else value
