"""Listeners of one query get every row once, whenever they join and however slowly they read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.api.results import Results
from headgate.connect.sinks.base import Shape
from headgate.connect.sinks.memory import MemorySink
from headgate.server.http import feeds
from headgate.server.http.feeds import KEPT_EVENTS, MOST_ROWS, Feeds, position, rows_at
from headgate.sql.schema import parse_schema


class Query:
    """Results that a test writes."""

    def __init__(self) -> None:
        self.sink = MemorySink(Shape(parse_schema("n INT", "schema"), {}))
        self.ended = False
        self.results = Results("q", self.sink, lambda: self.ended)

    def write(self, rows: int) -> None:
        first = self.sink.rows
        self.sink.write(pa.table({"n": pa.array(range(first, first + rows), pa.int32())}))


async def read(events: AsyncIterator[bytes], rows: list[int], pause_s: float = 0.0) -> int:
    """Read until the end; returns how many rows were missed."""
    missed = 0
    async for event in events:
        lines = event.decode().strip().splitlines()
        if "event: rows" in lines:
            data = json.loads(lines[-1].removeprefix("data: "))
            rows.extend(row["n"] for row in data["rows"])
            missed += data["missed"]
            await asyncio.sleep(pause_s)
    return missed


@pytest.fixture(autouse=True, scope="module")
def quick_looks() -> Iterator[None]:
    before = feeds.SHORTEST_S, feeds.SEND_S
    feeds.SHORTEST_S, feeds.SEND_S = 0.002, 0.0
    yield
    feeds.SHORTEST_S, feeds.SEND_S = before


STEPS = st.lists(st.integers(1, 5) | st.sampled_from(["join", "join from the start"]), min_size=1, max_size=25)


@given(STEPS)
@settings(deadline=None, max_examples=40)
def test_everybody_gets_every_row_once(steps: list[int | str]) -> None:
    async def run() -> None:
        query, all_feeds = Query(), Feeds(100)
        readers: list[tuple[int, list[int], asyncio.Task[int]]] = []
        for step in steps:
            if isinstance(step, int):
                query.write(step)
            else:
                rows: list[int] = []
                since = 0 if step == "join from the start" else query.sink.rows
                events = all_feeds.listen("q", query.results, since)
                readers.append((since, rows, asyncio.create_task(read(events, rows))))
            await asyncio.sleep(0.003)
        query.ended = True
        for since, rows, task in readers:
            assert await asyncio.wait_for(task, 10) == 0
            assert rows == list(range(since, query.sink.rows))

    asyncio.run(run())


def test_a_slow_reader_misses_nothing_that_is_kept() -> None:
    async def run() -> None:
        query, all_feeds, rows = Query(), Feeds(100), []
        slow = asyncio.create_task(read(all_feeds.listen("q", query.results, 0), rows, pause_s=0.03))
        fast = asyncio.create_task(read(all_feeds.listen("q", query.results, 0), []))
        for _ in range(2 * KEPT_EVENTS):
            query.write(1)
            await asyncio.sleep(0.004)
        query.ended = True
        assert await slow == await fast == 0
        assert rows == list(range(query.sink.rows))

    asyncio.run(run())


def test_rows_that_come_too_fast_are_counted() -> None:
    async def run() -> None:
        query, all_feeds, rows = Query(), Feeds(100), []
        query.write(3 * MOST_ROWS)
        task = asyncio.create_task(read(all_feeds.listen("q", query.results, 0), rows))
        await asyncio.sleep(0.05)
        query.ended = True
        assert await task == 2 * MOST_ROWS
        assert rows == list(range(2 * MOST_ROWS, 3 * MOST_ROWS))

    asyncio.run(run())


def test_a_position_of_another_query_is_none_of_this() -> None:
    one, other = Query(), Query()
    assert rows_at(one.results, position(one.results, 7)) == 7
    for wrong in (position(other.results, 7), "7", "", "x-y", f"{one.results.mark}-"):
        assert rows_at(one.results, wrong) == 0
