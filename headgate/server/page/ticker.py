"""One clock for all open pages: each thing is asked for once, however many pages show it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from headgate.errors import ApplicationError

log = logging.getLogger("headgate.server")

TICK_S = 1.0
HIDDEN_S = 15.0  # between two updates of a page that nobody sees
_REST = 15.0  # a tick is followed by a pause of so many times what it cost; with little to do, TICK_S is longer


@dataclass(eq=False)
class Watch:
    """Somebody who wants to be told something again and again, on the event loop."""

    key: Hashable
    ask: Callable[[], Any]  # in a thread; once for all who watch the same key
    tell: Callable[[Any], None]
    fail: Callable[[ApplicationError], None]
    every: float
    hidden: bool = False
    told: float = float("-inf")

    def due(self, now: float) -> bool:
        """Is it time to tell them?"""
        wait = max(self.every, HIDDEN_S) if self.hidden else self.every
        return now - self.told >= wait - TICK_S / 4


class Ticker:
    """Ticks while anybody watches. One for each server; all calls on its event loop."""

    def __init__(self) -> None:
        self._watches: list[Watch] = []
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()

    @property
    def watches(self) -> int:
        """How many are told something now and then."""
        return len(self._watches)

    def add(self, watch: Watch) -> None:
        """Tell somebody from now on, at once for the first time."""
        self._watches.append(watch)
        self._wake.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="page ticker")

    def remove(self, watch: Watch) -> None:
        """Stop telling somebody. The clock stops with the last one."""
        if watch in self._watches:
            self._watches.remove(watch)

    def hurry(self, watch: Watch) -> None:
        """Tell somebody again at the next moment: what they look at has changed."""
        watch.told = float("-inf")
        self._wake.set()

    async def _run(self) -> None:
        while self._watches:
            self._wake.clear()
            cost = await self._tick()
            try:
                await asyncio.wait_for(self._wake.wait(), max(TICK_S - cost, _REST * cost))
            except TimeoutError:
                continue

    async def _tick(self) -> float:
        """Tell everybody whose time has come; returns how many seconds of work that was."""
        now = time.monotonic()
        due: dict[Hashable, list[Watch]] = {}
        for watch in self._watches:
            if watch.due(now):
                watch.told = now
                due.setdefault(watch.key, []).append(watch)
        cost = 0.0
        for watches in due.values():
            cost += await _tell(watches)
        return cost


async def _tell(watches: list[Watch]) -> float:
    """Ask once, and tell all. What fails for one is logged, and does not keep the others from being told."""
    found, problem, cost = await asyncio.to_thread(_asked, watches[0].ask)
    started = time.thread_time()
    for watch in watches:
        try:
            if problem is None:
                watch.tell(found)
            else:
                watch.fail(problem)
        except Exception:
            log.exception("a page could not be brought up to date")
    return cost + time.thread_time() - started


def _asked(ask: Callable[[], Any]) -> tuple[Any, ApplicationError | None, float]:
    started = time.thread_time()
    try:
        return ask(), None, time.thread_time() - started
    except ApplicationError as error:
        return None, error, time.thread_time() - started
    except Exception as error:
        log.exception("what a page shows could not be found out")
        problem = ApplicationError("server", f"{type(error).__name__}: this cannot be shown now", "the log says more")
        return None, problem, time.thread_time() - started
