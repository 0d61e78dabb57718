"""Results for listeners: each batch is encoded once for all who listen to its query.

Listeners must not slow the scheduler down. With many of them, results come to them less often, so that what sending
costs stays a small share of the time.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator

from headgate.api.results import Results
from headgate.server.http.rows import as_json_rows

SHORTEST_S = 0.1  # between two looks at a query's results
SEND_S = 0.002  # of this long for each listener
HEARTBEAT_S = 15.0  # a comment, so that nobody on the way takes the connection for dead
MOST_ROWS = 1_000  # of one event; a listener who needs every row of a faster query reads them from a sink
KEPT_EVENTS = 64  # a listener who is further behind misses what is in between


class Feed:
    """The results of one query as encoded events; it looks for new ones while anybody listens."""

    def __init__(self, results: Results) -> None:
        self._results = results
        self._events: deque[tuple[int, bytes]] = deque(maxlen=KEPT_EVENTS)
        self._number = 0  # of the newest event
        self._seen = results.rows
        self._come = asyncio.Event()
        self.over = False
        self.listeners = 0

    async def listen(self, since: int | None) -> AsyncIterator[bytes]:
        """Events from now on; with `since`, first the rows after so many."""
        at = self._number
        if since is not None:
            yield await asyncio.to_thread(self._encoded, since)
        while True:
            for number, event in list(self._events):
                if number > at:
                    yield event
            at = self._number
            if self.over:
                yield b"event: end\ndata: {}\n\n"
                return
            come = self._come
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
                event = await asyncio.to_thread(self._encoded, self._seen)
                self._number += 1
                self._events.append((self._number, event))
                self._wake()
            elif over:
                self.end()

    def end(self) -> None:
        """Tell all who listen that no more will come."""
        self.over = True
        self._wake()

    def _wake(self) -> None:
        come, self._come = self._come, asyncio.Event()
        come.set()

    def _encoded(self, since: int) -> bytes:
        rows, table = self._results.since(since)
        newest = table.slice(max(0, table.num_rows - MOST_ROWS))
        self._seen = max(self._seen, rows)
        whole = self._results.as_it_stands
        data = {"rows": as_json_rows(newest), "missed": 0 if whole else max(0, rows - since - newest.num_rows)}
        kind = "relation" if whole else "rows"
        return f"id: {rows}\nevent: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


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
        """End all feeds; their listeners are told."""
        for _, feed in self._feeds.values():
            feed.end()
