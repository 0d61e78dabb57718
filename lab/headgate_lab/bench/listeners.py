"""Listeners on the results of a query, in a process of their own: `python -m headgate_lab.bench.listeners URL QUERY N`.

Prints `listening` once all are there, and how many events came once its standard input is closed.
"""

from __future__ import annotations

import asyncio
import sys

import httpx


async def listen(url: str, query: str, listeners: int) -> int:
    """Let so many listeners read until standard input is closed; returns how many events they had."""
    events = 0
    there = asyncio.Event()
    waiting = listeners

    async def one(client: httpx.AsyncClient) -> None:
        nonlocal events, waiting
        async with client.stream("GET", f"{url}/v1/queries/{query}/results/events") as answer:
            answer.raise_for_status()
            waiting -= 1
            if not waiting:
                there.set()
            async for chunk in answer.aiter_raw():
                events += chunk.count(b"\nevent: ") + chunk.startswith(b"event: ")

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(limits=limits, timeout=None, trust_env=False) as client:
        tasks = [asyncio.create_task(one(client)) for _ in range(listeners)]
        await asyncio.wait([asyncio.create_task(there.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()  # raises what went wrong
        print("listening", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return events


if __name__ == "__main__":
    print(asyncio.run(listen(sys.argv[1], sys.argv[2], int(sys.argv[3]))), flush=True)
