"""Results for listeners: each batch is encoded once for all who listen to its query.

Listeners must not slow the scheduler down. With many of them, results come to them less often, so that what sending
costs stays a small share of the time.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple

from headgate.api.results import Results
from headgate.server.http.rows import as_json_rows

SHORTEST_S = 0.1  # between two looks at a query's results
SEND_S = 0.002  # of this long for each listener
HEARTBEAT_S = 15.0  # a comment, so that nobody on the way takes the connection for dead
MOST_ROWS = 1_000  # of one event; a listener who needs every row of a faster query reads them from a sink
KEPT_EVENTS = 64  # a listener who is further behind misses what is in between


def position(results: Results, rows: int) -> str:
    """Where a listener is who has the first `rows` of some results: the id of an event."""
    return f"{results.mark}-{rows}"


def rows_at(results: Results, position: str) -> int:
    """How many of these rows a listener has; none, if the position is one of other results."""
    mark, _, rows = position.partition("-")
    return int(rows) if mark == results.mark and rows.isdecimal() else 0


class _Encoded(NamedTuple):
    """An event: the rows after the first `begin` up to the first `end`."""

    begin: int
    end: int
    event: bytes


class Feed:
    """The results of one query as encoded events; it looks for new ones while anybody listens."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._events: deque[_Encoded] = deque(maxlen=KEPT_EVENTS)
        self._seen = results.rows
        self._come = asyncio.Event()
        self.over = False  # will nothing more come from here?
        self._ended = False  # has the query ended?
        self.listeners = 0

    async def listen(self, since: int | None) -> AsyncIterator[bytes]:
        """Events from now on; with `since`, first the rows after so many."""
        seen = self._seen
        if since is not None and since < seen:
            yield (await asyncio.to_thread(self._encoded, since, seen)).event
        elif since is not None:  # it has rows that are in no event yet
            seen = min(since, self._results.rows)
        while True:
            come = self._come  # kept first: what comes while events are sent must not be waited for
            for one in list(self._events):
                if one.end <= seen:
                    continue
                if one.begin != seen:  # too far behind: what is in between is no longer here
                    one = await asyncio.to_thread(self._encoded, seen, one.end)
                seen = one.end
                yield one.event
            if self._events and self._events[-1].end > seen:
                continue  # more came while these were sent
            if self._ended:
                yield b"event: end\ndata: {}\n\n"
            if self.over:
                return
            try:
                await asyncio.wait_for(come.wait(), HEARTBEAT_S)
            except TimeoutError:
                yield b": still here\n\n"

    async def run(self) -> None:
        """Look for results until the query ends or nobody listens."""
        while self.listeners and not self.over:
            await asyncio.sleep(max(SHORTEST_S, SEND_S * self.listeners))
            over = self._results.over  # asked first: what comes later is not awaited
            if self._results.rows > self._seen:
                one = await asyncio.to_thread(self._encoded, self._seen)
                self._seen = one.end
                self._events.append(one)
                self._wake()
            elif over:
                self._ended = True
                self.close()

    def close(self) -> None:
        """Let all go who listen. Only those whose query has ended are told that no more will come."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        come, self._come = self._come, asyncio.Event()
        come.set()

    def _encoded(self, since: int, until: int | None = None) -> _Encoded:
        """The rows after the first `since`; up to the first `until`, so that listeners come to share events again."""
        rows, table = self._results.since(since)
        whole = self._results.as_it_stands
        end = rows if until is None else until
        if not whole:
            table = table.slice(0, max(0, table.num_rows - max(0, rows - end)))
        newest = table.slice(max(0, table.num_rows - MOST_ROWS))
        missed = (table.num_rows if whole else end - since) - newest.num_rows
        data = {"rows": as_json_rows(newest), "missed": missed}
        text = json.dumps(data, separators=(",", ":"))
        head = f"id: {position(self._results, end)}\nevent: {'relation' if whole else 'rows'}"
        return _Encoded(since, end, f"{head}\ndata: {text}\n\n".encode())


class Feeds:
    """One feed for each query that anybody listens to. All calls on the event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._feeds: dict[str, tuple[Results, Feed]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.listeners = 0

    @property
    def full(self) -> bool:
        """Are there as many listeners as are allowed?"""
        return self.listeners >= self._most

    async def listen(self, query: str, results: Results, since: int | None) -> AsyncIterator[bytes]:
        """The events of a query for one listener."""
        feed = self._feed(query, results)
        self.listeners += 1
        feed.listeners += 1
        if feed.listeners == 1:
            task = asyncio.create_task(feed.run())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            yield b": listening\n\n"
            async for event in feed.listen(since):
                yield event
        finally:
            self.listeners -= 1
            feed.listeners -= 1
            if not feed.listeners and self._feeds.get(query, (None, None))[1] is feed:
                del self._feeds[query]

    def _feed(self, query: str, results: Results) -> Feed:
        """The feed of a query; a new one, if the query was removed and registered again."""
        found = self._feeds.get(query)
        if found is None or not found[0].same_as(results) or found[1].over:
            found = self._feeds[query] = (results, Feed(results))
        return found[1]

    def close(self) -> None:
        """End all feeds, because the server stops."""
        for _, feed in self._feeds.values():
            feed.close()
