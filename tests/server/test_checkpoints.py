"""What a restart of a server brings back, with a checkpoint: windows, results, positions, and nothing of strangers."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.server.service import Service
from tests.serving import RunningServer, serving

pytestmark = pytest.mark.spark

WAIT_S = 120.0
COUNTED = "RSTREAM(SELECT count(*) AS n, sum(v) AS total FROM clicks [RANGE 10 SLIDE 10])"
_LISTENING = re.compile(r"listening on (http://\S+?);")


def until(found: Callable[[], Any], wanted: str) -> Any:
    """What `found` gives, once it is true."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {WAIT_S} s: {wanted}")


# In this process ------------------------------------------------------------------------------------------------------


@contextmanager
def going_on(folder: Path, spark: Any) -> Iterator[RunningServer]:
    """A server that takes checkpoints beside its database."""
    settings = ["policy=mbd", f"checkpoint.path={folder / 'checkpoint'}", "checkpoint.interval=0.2"]
    with serving(folder, spark, hg.Application.empty(settings)) as server:
        yield server


def wait_for_checkpoint(service: Service) -> None:
    """Return when there is one that was begun after this call."""
    now = service.overview()["at"]

    def covered() -> bool:
        last = service.overview()["checkpoint"]["last"]
        return last is not None and last["at"] > now

    until(covered, "a checkpoint")


def crash_image(folder: Path, to: Path) -> Path:
    """What is on disk now, as a crash would leave it."""
    return Path(shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*.lock")))


def register(service: Service) -> None:
    service.add("streams", "clicks", {"schema": "v INT, ts BIGINT", "time": "ts", "source": {"kind": "push"}})
    service.add("classes", "gold", {"priority": 3})
    service.add("queries", "counted", {"cql": COUNTED, "class": "gold"})


def rows(begin: int, end: int) -> list[dict[str, int]]:
    return [{"v": 1, "ts": ts} for ts in range(begin, end)]


def results(service: Service, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = service.results(query).to_arrow().to_pylist()
    return found


def windows(service: Service, query: str) -> list[int]:
    return [row["n"] for row in results(service, query)]


def test_a_window_goes_on_after_a_restart_and_results_stay(spark: Any, tmp_path: Path) -> None:
    with going_on(tmp_path, spark) as server:
        register(server.service)
        server.service.push("clicks", rows(0, 16))
        until(lambda: 10 in windows(server.service, "counted"), "the first window")
        server.service.change_class("gold", {"priority": 8})
    with going_on(tmp_path, spark) as server:
        before = results(server.service, "counted")
        assert [row["n"] for row in before] == [1, 10]
        assert server.service.overview()["classes"]["gold"]["priority"] == 8
        server.service.push("clicks", rows(16, 32))
        after = until(lambda: results(server.service, "counted")[len(before) :], "the next window")
        assert after[0]["n"] == 10  # of them, 5 came before the restart


def test_changes_after_the_last_checkpoint_count_more_than_it(spark: Any, tmp_path: Path) -> None:
    """A crash: what was registered is on disk at once, what windows hold is as of the last checkpoint."""
    folder, image = tmp_path / "data", tmp_path / "image"
    with going_on(folder, spark) as server:
        service = server.service
        register(service)
        service.add("queries", "replaced", {"cql": COUNTED, "class": "gold"})
        service.change_class("gold", {"priority": 8})
        service.push("clicks", rows(0, 16))
        until(lambda: 10 in windows(service, "replaced") and 10 in windows(service, "counted"), "the first window")
        wait_for_checkpoint(service)
        checkpoint = crash_image(folder / "checkpoint", tmp_path / "checkpoint")
        service.change_class("gold", {"priority": 3})
        service.remove("queries", "replaced")
        other = COUNTED.replace("sum(v) AS total", "max(v) AS most")
        service.add("queries", "replaced", {"cql": other, "class": "gold"})
        crash_image(folder, image)
    shutil.rmtree(image / "checkpoint")
    shutil.copytree(checkpoint, image / "checkpoint")
    with going_on(image, spark) as server:
        service = server.service
        assert service.overview()["classes"]["gold"]["priority"] == 3
        assert service.state("replaced") == ("running", None)
        assert results(service, "replaced") == []
        assert windows(service, "counted") == [1, 10]
        service.push("clicks", rows(16, 32))
        new = until(lambda: results(service, "replaced"), "a window of the new query")
        assert (new[0]["n"], new[0]["most"]) == (5, 1)
        until(lambda: windows(service, "counted")[:3] == [1, 10, 10], "the window that went on")


def test_the_same_name_and_text_again_does_not_bring_old_rows_back(spark: Any, tmp_path: Path) -> None:
    with going_on(tmp_path, spark) as server:
        register(server.service)
        server.service.push("clicks", rows(0, 16))
        until(lambda: 10 in windows(server.service, "counted"), "the first window")
        wait_for_checkpoint(server.service)
        saved = crash_image(tmp_path / "checkpoint", tmp_path / "before")
        server.service.stop_query("counted")
        server.service.start_query("counted")
    shutil.rmtree(tmp_path / "checkpoint")
    shutil.copytree(saved, tmp_path / "checkpoint")
    with going_on(tmp_path, spark) as server:
        assert server.service.state("counted") == ("running", None)
        assert results(server.service, "counted") == []


def test_a_query_may_rest_over_a_restart(spark: Any, tmp_path: Path) -> None:
    with going_on(tmp_path, spark) as server:
        register(server.service)
        server.service.stop_query("counted")
    with going_on(tmp_path, spark) as server:
        assert server.service.state("counted") == ("stopped", None)
        server.service.start_query("counted")
        server.service.push("clicks", rows(0, 16))
        until(lambda: 10 in windows(server.service, "counted"), "the first window")
    with going_on(tmp_path, spark) as server:
        assert server.service.state("counted") == ("running", None)
        assert windows(server.service, "counted") == [1, 10]


# In a process that is killed ------------------------------------------------------------------------------------------


@contextmanager
def process(folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], hg.Client]]:
    """`headgate serve` as an operator starts it."""
    command = [sys.executable, "-m", "headgate", "serve", "--port", "0", "--data", str(folder), "--no-page"]
    logged = folder.parent / "server.log"
    with logged.open("w") as out:
        started = subprocess.Popen([*command, "--slots", "1", "--set", "checkpoint.interval=1"], stdout=out, stderr=out)
    try:
        found = until(lambda: _LISTENING.search(logged.read_text()) or started.poll() is not None, "the server")
        assert found is not True, logged.read_text()
        with hg.Client(found[1]) as client:
            yield started, client
    finally:
        started.kill()
        started.wait()


def counts(client: hg.Client, query: str) -> list[int]:
    return [row["n"] for row in client.results(query).to_arrow().to_pylist()]


@pytest.mark.nightly  # three servers are started, each with a JVM
def test_acknowledged_rows_are_counted_once_over_a_kill_and_a_stop(tmp_path: Path) -> None:
    """Rows of a stream with a log come back even if no checkpoint has them; SIGTERM takes a checkpoint of all."""
    folder = tmp_path / "data"
    with process(folder) as (server, client):
        client.stream("clicks", "v INT, ts BIGINT", time="ts", source={"kind": "push", "log": True})
        client.query("counted", COUNTED)
        client.push("clicks", rows(0, 4))
        last = until(lambda: client.overview()["checkpoint"]["last"], "a checkpoint")
        until(lambda: client.overview()["checkpoint"]["last"]["number"] > last["number"], "another one")
        client.push("clicks", rows(4, 7))
        server.send_signal(signal.SIGKILL)
        server.wait()
    with process(folder) as (server, client):
        client.push("clicks", rows(7, 15))
        done = until(lambda: len(found := counts(client, "counted")) == 2 and found, "the window over the kill")
        assert done == [1, 10]
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    with process(folder) as (server, client):
        assert counts(client, "counted") == done
        client.push("clicks", rows(15, 25))
        assert until(lambda: counts(client, "counted")[len(done) :], "the window over the stop") == [10]
