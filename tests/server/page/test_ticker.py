"""The clock of the open pages: one question for all, and none when nobody looks."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from headgate.errors import ApplicationError
from headgate.server.page.ticker import Ticker, Watch

pytestmark = pytest.mark.slow  # it waits for real ticks


class Asked:
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> int:
        self.times += 1
        return self.times


def watch(key: str, ask: Callable[[], Any], told: list[Any], every: float = 1.0) -> Watch:
    return Watch(key, ask, told.append, told.append, every)


def test_what_all_pages_show_is_asked_once() -> None:
    async def look() -> None:
        ticker, asked = Ticker(), Asked()
        told: list[list[int]] = [[], [], []]
        for one in told:
            ticker.add(watch("overview", asked, one))
        await asyncio.sleep(1.5)
        assert told == [[1, 2]] * 3
        assert asked.times == 2

    asyncio.run(look())


def test_the_clock_stops_with_the_last_page() -> None:
    async def look() -> None:
        ticker, asked = Ticker(), Asked()
        one = watch("overview", asked, [])
        ticker.add(one)
        await asyncio.sleep(0.2)
        ticker.remove(one)
        await asyncio.sleep(1.2)
        assert (asked.times, ticker.watches) == (1, 0)
        ticker.add(one)  # somebody comes back
        await asyncio.sleep(0.2)
        assert ticker.watches == 1
        ticker.remove(one)

    asyncio.run(look())


def test_hidden_pages_wait_until_they_are_seen() -> None:
    async def look() -> None:
        ticker, told = Ticker(), list[Any]()
        one = watch("overview", Asked(), told)
        ticker.add(one)
        await asyncio.sleep(0.2)
        one.hidden = True
        await asyncio.sleep(1.5)
        assert told == [1]
        one.hidden = False
        ticker.hurry(one)
        await asyncio.sleep(0.2)
        assert told == [1, 2]

    asyncio.run(look())


def test_one_that_fails_does_not_keep_others_from_being_told() -> None:
    def wrong() -> None:
        raise ApplicationError("queries.q", "there is no such query")

    async def look() -> None:
        ticker = Ticker()
        good, bad = list[Any](), list[Any]()
        ticker.add(Watch("good", Asked(), lambda found: 1 / 0, good.append, 1.0))
        ticker.add(watch("good", Asked(), good))
        ticker.add(watch("bad", wrong, bad))
        await asyncio.sleep(0.3)
        assert good == [1]
        assert [str(one) for one in bad] == ["queries.q: there is no such query"]

    asyncio.run(look())
