"""headgate bench server: what comes in over HTTP, and what listeners and open pages cost the queries.

Ingest: the same rows through the same query, from an embedded feeder as fast as it can, and pushed over HTTP on
loopback in Arrow batches. Costs: a server runs queries of two classes at a moderate load. By turns, clients listen to
the results of its most important query, or pages are open, and nobody does. The clients run on the same machine and
have only the processor time that nobody else wants, because it is the server's cost that is asked for.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyspark

import headgate as hg
from headgate.server.http.rows import ARROW, as_arrow_stream
from headgate_lab.bench.open_pages import chromium
from headgate_lab.bench.parts import part
from headgate_lab.bench.server_process import server_process

SCHEMA = "k INT, price DOUBLE, volume DOUBLE"
INGESTED = "SELECT k, price * volume AS amount FROM trades WHERE price > 0.5"
SINK = {"kind": "none"}
SLOTS = 2
BUCKET_S = 5.0  # latencies come in buckets; those at the ends of a period are left out


@dataclass(frozen=True)
class ServerBenchSize:
    """How much is ingested, and how long the periods with and without clients are."""

    rows: int
    batch: int  # rows of a request
    pushers: int
    queries: int  # of each of two classes
    rate: float  # tuples a second of each stream
    period_s: float
    periods: int  # of each kind
    listeners: int
    pages: int


FULL = ServerBenchSize(4_000_000, 20_000, 2, 2, 200.0, 30.0, 5, 200, 5)
QUICK = ServerBenchSize(1_000_000, 20_000, 2, 2, 200.0, 20.0, 2, 200, 5)
SMALLEST = ServerBenchSize(20_000, 5_000, 1, 1, 100.0, 11.0, 1, 2, 1)


def run(quick: bool = False, sizes: ServerBenchSize | None = None) -> dict[str, Any]:
    """Measure. Without a browser on this machine, `page_cost` is null."""
    effort = sizes or (QUICK if quick else FULL)
    embedded = part("embedded feeder", partial(_embedded, effort))
    ingest = part("ingest over HTTP", partial(_ingest, effort))
    with server_process(["--slots", str(SLOTS)]) as url, httpx.Client(base_url=url, trust_env=False) as client:
        _register(client, effort)
        listen = partial(_clients, ["headgate_lab.bench.listeners", url, "c1q0", str(effort.listeners)])
        listeners = part("listeners", lambda: _by_turns(client, effort, listen))
        pages = None
        if chromium() is not None:
            show = partial(_clients, ["headgate_lab.bench.open_pages", url, str(effort.pages)])
            pages = part("pages", lambda: _by_turns(client, effort, show))
    return {
        "ingest_over_feeder": ingest["tuples_per_second"] / embedded["tuples_per_second"],
        "ingest_tuples_per_second": ingest["tuples_per_second"],
        "listeners_cost": listeners["cost"],
        "page_cost": None if pages is None else pages["cost"],
        "embedded": embedded,
        "ingest": ingest,
        "listeners": listeners,
        "pages": pages,
        "settings": {
            "rows": effort.rows,
            "batch": effort.batch,
            "pushers": effort.pushers,
            "queries": 2 * effort.queries,
            "rate": effort.rate,
            "period_s": effort.period_s,
            "periods": effort.periods,
            "listeners": effort.listeners,
            "pages": effort.pages,
            "slots": SLOTS,
            "spark": pyspark.__version__,
        },
    }


# Ingest ---------------------------------------------------------------------------------------------------------------


def _embedded(effort: ServerBenchSize) -> dict[str, float]:
    """What a feeder that is never out of tuples delivers to the query, in a process like the server's."""
    code = f"from headgate_lab.bench.server import embedded; print(embedded({effort.rows}))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if out.returncode:
        raise RuntimeError(f"the embedded run failed:\n{out.stderr[-2000:]}")
    return {"tuples_per_second": float(out.stdout.split()[-1])}


def embedded(rows: int) -> float:
    """Tuples a second from a feeder, from the first that was delivered to the end."""
    app = hg.Application(policy="mbd", slots=SLOTS, rehearse=True)
    app.stream("trades", SCHEMA, source={"kind": "feeder", "rate": 1e9, "rows": rows})
    app.query("large", INGESTED, sink=SINK)
    with app.start() as run:
        run.wait()
        seconds = run.report().seconds
    return rows / seconds


def _ingest(effort: ServerBenchSize) -> dict[str, Any]:
    with (
        server_process(["--slots", str(SLOTS), "--no-page"]) as url,
        httpx.Client(base_url=url, trust_env=False) as client,
    ):
        _post(client, "/v1/streams", {"name": "trades", "schema": SCHEMA})
        _post(client, "/v1/queries", {"name": "large", "cql": INGESTED, "sink": SINK})
        _push(url, effort, effort.rows // 10)  # the first calls plan
        _drain(client)
        before, began = _inputs(client), time.monotonic()
        _push(url, effort, effort.rows)
        _drain(client)
        seconds = time.monotonic() - began
        taken = _inputs(client) - before
    if taken != effort.rows:
        raise RuntimeError(f"{effort.rows:,} rows were pushed, and {taken:,} were processed")
    return {"tuples_per_second": effort.rows / seconds, "seconds": seconds}


def _push(url: str, effort: ServerBenchSize, rows: int) -> None:
    """Push so many rows over a few connections, each request when the one before it was taken."""
    body = as_arrow_stream(_table(effort.batch))
    left = threading.Semaphore(rows // effort.batch)
    failures: list[BaseException] = []

    def pusher() -> None:
        try:
            with httpx.Client(base_url=url, trust_env=False, timeout=60.0) as client:
                while left.acquire(blocking=False):
                    answer = client.post("/v1/streams/trades/rows", content=body, headers={"Content-Type": ARROW})
                    answer.raise_for_status()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=pusher) for _ in range(effort.pushers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _table(rows: int) -> pa.Table:
    draw = np.random.default_rng(1)
    columns = {"k": pa.array(draw.integers(0, 100, rows), pa.int32()), "price": draw.random(rows)}
    return pa.table({**columns, "volume": draw.random(rows)})


def _inputs(client: httpx.Client) -> int:
    return int(_get(client, "/v1/queries/large/overview")["inputs"])


def _drain(client: httpx.Client) -> None:
    """Wait until nothing waits, twice in a row: what was pushed may be on its way to the queues."""
    quiet, seen = 0, -1
    while quiet < 3:
        found = _get(client, "/v1/queries/large/overview")
        quiet = quiet + 1 if not found["waiting"] and found["inputs"] == seen else 0
        seen = found["inputs"]
        time.sleep(0.02)


# Listeners and pages --------------------------------------------------------------------------------------------------


def _register(client: httpx.Client, effort: ServerBenchSize) -> None:
    for number in (1, 2):
        _post(client, "/v1/classes", {"name": f"class{number}", "priority": 12 if number == 1 else 1})
        for at in range(effort.queries):
            name = f"c{number}q{at}"
            source = {"kind": "feeder", "rate": effort.rate, "arrivals": "poisson"}
            _post(client, "/v1/streams", {"name": f"s{name}", "schema": SCHEMA, "source": source})
            cql = f"SELECT k, price FROM s{name} WHERE price > 0.1"
            _post(client, "/v1/queries", {"name": name, "cql": cql, "class": f"class{number}"})


def _by_turns(client: httpx.Client, effort: ServerBenchSize, clients: Callable[[], Any]) -> dict[str, Any]:
    """The latency of class 1 by turns without and with clients; the cost is the ratio of the medians of the periods."""
    found: dict[str, list[float]] = {"without": [], "with": []}
    _period(client, effort)  # the first seconds are not like the others
    for _ in range(effort.periods):
        found["without"].append(_period(client, effort))
        with clients():
            found["with"].append(_period(client, effort))
    without, with_clients = statistics.median(found["without"]), statistics.median(found["with"])
    return {"cost": with_clients / without, "without_ms": _ms(found["without"]), "with_ms": _ms(found["with"])}


def _ms(seconds: Sequence[float]) -> list[float]:
    return [1e3 * one for one in seconds]


def _period(client: httpx.Client, effort: ServerBenchSize) -> float:
    """Mean latency of class 1 in a period that begins now."""
    began = float(_get(client, "/v1/queries/c1q0/overview")["at"])
    time.sleep(effort.period_s)
    found = _get(client, "/v1/queries/c1q0/overview")
    latencies, end = found["class_latencies"], float(found["at"])
    buckets = zip(latencies["times"], latencies["means"], latencies["counts"], strict=True)
    whole = [(mean, count) for at, mean, count in buckets if began <= at and at + BUCKET_S <= end and count]
    return sum(mean * count for mean, count in whole) / sum(count for _, count in whole)


@contextmanager
def _clients(command: Sequence[str]) -> Iterator[None]:
    """Clients in a process of their own, which is there once it says so and goes when its input ends."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-m", *command], preexec_fn=_give_way, **pipes)
    try:
        assert process.stdout is not None
        if "listening" not in process.stdout.readline():
            raise RuntimeError(f"the clients did not start: {' '.join(command)}")
        yield
        said, _ = process.communicate(timeout=60.0)
        if process.returncode:
            raise RuntimeError(f"the clients failed: {said}")
    finally:
        process.kill()
        process.wait()


def _give_way() -> None:
    """Let this process have only the time that nobody else wants. A low priority is not enough: browsers raise it."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _post(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body, timeout=60.0)
    if answer.is_error:
        raise RuntimeError(f"{path}: {answer.text}")


def _get(client: httpx.Client, path: str) -> dict[str, Any]:
    answer = client.get(path, timeout=60.0)
    answer.raise_for_status()
    found: dict[str, Any] = answer.json()
    return found
