"""What a restart of the server brings back, and what a lost connection does to those who follow results."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.errors import ServerError
from tests.serving import serving

pytestmark = pytest.mark.spark
SCHEMA = "user STRING, price DOUBLE"
QOS = {"latency": {"priority": "best-effort", "points": [[0, 1.0], [60, 1.0]]}}


def test_a_restart_brings_everything_back(spark: Any, tmp_path: Path) -> None:
    with serving(tmp_path, spark) as server, hg.Client(server.url) as client:
        client.stream("clicks", SCHEMA)
        client.table("limits", [{"user": "ann", "most": 5.0}])
        client.add_class("critical", 6)
        client.add_class("reports", 1)
        client.query("large", "SELECT user, price FROM clicks WHERE price > 10", in_class="reports", tolerance=0.1)
        client.query("small", "SELECT user, price FROM clicks WHERE price <= 10", in_class="reports")
        client.query("idle", "SELECT user FROM clicks", start=False, in_class="reports")
        client.set_priority("critical", 9)
        client.set_class("large", "critical")
        client.set_qos("large", QOS)
        client.set_query_policy("small", "fifo")
        client.set_policy("rr", unit="query")
        client.stop_query("small")
        before = (client.streams(), client.tables(), client.classes(), client.queries(), client.policy)
    with serving(tmp_path, spark) as server, hg.Client(server.url) as client:
        after = (client.streams(), client.tables(), client.classes(), client.queries(), client.policy)
        assert after == before
        assert client.overview()["classes"]["critical"]["priority"] == 9
        assert client.overview()["queries"]["large"]["class"] == "critical"
        assert client.queries()["small"].state == client.queries()["idle"].state == "stopped"
        client.push("clicks", [("ann", 20.0)])
        found = client.results("large")
        while not found.rows:
            time.sleep(0.02)
        assert found.latest().to_pylist() == [{"user": "ann", "price": 20.0}]


def test_who_follows_results_goes_on_after_a_restart(spark: Any, tmp_path: Path) -> None:
    rows: list[Any] = []
    with serving(tmp_path, spark) as server, hg.Client(server.url) as client:
        client.stream("clicks", SCHEMA)
        client.query("large", "SELECT user, price FROM clicks WHERE price > 10")
        port = int(server.url.rpartition(":")[2])
        follower = hg.Client(server.url)
        reader = threading.Thread(
            target=lambda: [rows.extend(table.to_pylist()) for table in follower.results("large")], daemon=True
        )
        reader.start()
        client.push("clicks", [("ann", 20.0)])
        wait_for(rows, 1)
    assert reader.is_alive()
    with serving(tmp_path, spark, port=port) as server, hg.Client(server.url) as client:
        client.push("clicks", [("bob", 30.0)])
        wait_for(rows, 2)
        client.remove_query("large")
        reader.join(30)
        assert not reader.is_alive()
    assert [row["user"] for row in rows] == ["ann", "bob"]
    follower.close()


def wait_for(rows: list[Any], n: int) -> None:
    end = time.monotonic() + 30
    while len(rows) < n:
        assert time.monotonic() < end, f"{len(rows)} rows instead of {n}"
        time.sleep(0.02)


def test_a_server_that_is_gone_is_a_clear_error(spark: Any, tmp_path: Path) -> None:
    with serving(tmp_path, spark) as server:
        client = hg.Client(server.url)
    with client, pytest.raises(ServerError, match="no server can be reached"):
        client.overview()


def test_who_may_not_is_told_so(spark: Any, tmp_path: Path) -> None:
    from headgate.server.database import open_database
    from headgate.server.tokens import Tokens

    with open_database(tmp_path) as database:
        token = Tokens(database).add("ann", "read")
    with serving(tmp_path, spark, tokens=True) as server:
        with hg.Client(server.url) as nobody, pytest.raises(ServerError, match=r"asks for a token.*HEADGATE_TOKEN"):
            nobody.overview()
        with hg.Client(server.url, "hg_wrong") as stranger, pytest.raises(ServerError, match="not known"):
            stranger.overview()
        with hg.Client(server.url, token) as reader:
            assert reader.overview()["running"]
            with pytest.raises(ServerError, match="may read; this needs 'write'") as caught:
                reader.stream("clicks", SCHEMA)
        assert caught.value.status == 403
        assert token not in str(caught.value)
