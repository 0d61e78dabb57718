"""The client against a real server: every verb, and every way in which a server says no."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import headgate as hg
from headgate.client.rows import parts_of
from headgate.errors import ApplicationError, ServerError

pytestmark = pytest.mark.spark
SCHEMA = "user STRING, price DOUBLE"


def until(found: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def large(client: hg.Client, name: str = "large", **settings: Any) -> hg.Client:
    client.stream("clicks", SCHEMA)
    client.query(name, "SELECT user, price FROM clicks WHERE price > 10", **settings)
    return client


def test_rows_go_in_and_results_come_out(client: hg.Client) -> None:
    large(client)
    assert client.push("clicks", [{"user": "ann", "price": 12.5}, ("bob", 3.0), {"user": "eve", "price": 30}]) == 3
    found = client.results("large")
    until(lambda: found.rows == 2)
    assert found.latest(1).to_pylist() == [{"user": "eve", "price": 30.0}]
    assert list(found.to_pandas()["user"]) == ["ann", "eve"]
    assert client.snapshot("SELECT max(price) AS most FROM large").to_pylist() == [{"most": 30.0}]


ROWS = [{"user": f"u{n}", "price": float(n)} for n in range(100)]


@pytest.mark.parametrize(
    "rows", [ROWS, pd.DataFrame(ROWS), pa.Table.from_pylist(ROWS), (one for one in ROWS)],
    ids=["dicts", "pandas", "arrow", "generator"],
)  # fmt: skip
def test_every_kind_of_rows(client: hg.Client, rows: Any) -> None:
    large(client)
    assert client.push("clicks", rows) == 100
    found = client.results("large")
    until(lambda: found.rows == 89)
    assert found.to_arrow().column("price").to_pylist() == [float(n) for n in range(11, 100)]


def test_values_of_every_type_arrive_as_they_are(client: hg.Client) -> None:
    client.stream(
        "kinds", "b BOOLEAN, i BIGINT, d DECIMAL(10,2), t TIMESTAMP, y DATE, x BINARY, f DOUBLE, a ARRAY<INT>"
    )
    client.query("all_kinds", "SELECT b, i, d, t, y, x, f, a FROM kinds")
    row = {
        "b": True,
        "i": np.int64(2**60),
        "d": Decimal("12.30"),
        "t": dt.datetime(2026, 1, 2, 3, 4, 5, 678, dt.UTC),
        "y": dt.date(2026, 1, 2),
        "x": b"\x00\xff",
        "f": float("inf"),
        "a": [1, 2],
    }
    client.push("kinds", [row, dict.fromkeys(row)])
    found = client.results("all_kinds")
    until(lambda: found.rows == 2)
    first, second = found.to_arrow().to_pylist()
    assert first == row
    assert set(second.values()) == {None}


def test_a_push_larger_than_the_server_takes_goes_in_parts(client: hg.Client, server: Any) -> None:
    large(client)
    rows = pa.table({"user": ["x" * 100] * 200_000, "price": np.arange(200_000.0)})
    assert rows.nbytes > server.service.limits.request_bytes
    assert client.push("clicks", rows) == 200_000
    until(lambda: client.results("large").rows == 200_000 - 11)


@pytest.mark.parametrize("part_bytes", [1, 100, 10_000])
@pytest.mark.parametrize("rows", [ROWS, pa.Table.from_pylist(ROWS)], ids=["dicts", "arrow"])
def test_parts_hold_all_rows_in_order(rows: Any, part_bytes: int) -> None:
    parts = list(parts_of("s", rows, part_bytes))
    assert sum(part.rows for part in parts) == 100
    assert all(part.rows for part in parts)


def test_a_row_that_does_not_fit_is_named_by_its_place_in_the_whole_push(client: hg.Client) -> None:
    large(client)
    rows: list[dict[str, Any]] = [{"user": "x" * 1_000_000, "price": 1.0} for _ in range(10)]
    rows[9]["price"] = "dear"
    with pytest.raises(ApplicationError) as caught:
        client.push("clicks", rows)
    assert caught.value.place == "push to clicks, rows[9], column price"
    assert "rows before were taken" in caught.value.remedy


def test_what_exists_only_in_python_is_named(client: hg.Client) -> None:
    large(client)
    with pytest.raises(ApplicationError, match=r"rows\[1\].*object exists only in Python"):
        client.push("clicks", [{"user": "a", "price": 1.0}, {"user": object(), "price": 1.0}])
    with pytest.raises(ApplicationError, match="has no rows"):
        client.push("clicks", "user")
    with pytest.raises(ApplicationError, match="exists only in Python"):
        client.query("q", operators=[{"kind": "function", "function": lambda row: row}])


def test_an_error_of_a_query_says_where(client: hg.Client) -> None:
    client.stream("clicks", SCHEMA)
    with pytest.raises(ApplicationError) as caught:
        client.query("wrong", "SELECT user FROM clicks WHERE prise > 1")
    assert caught.value.place == "queries.wrong.cql"
    assert "prise" in caught.value.problem
    assert "wrong" not in client.queries()


def test_validate_registers_nothing(client: hg.Client) -> None:
    client.stream("clicks", SCHEMA)
    columns, warnings = client.validate("v", "SELECT user FROM clicks")
    assert [column["name"] for column in columns] == ["user"]
    assert warnings == []
    assert client.queries() == {}


def test_names_that_are_not_there_and_names_that_are_taken(client: hg.Client) -> None:
    large(client)
    with pytest.raises(ApplicationError, match="there is already one named 'clicks'"):
        client.stream("clicks", SCHEMA)
    with pytest.raises(ApplicationError, match="did you mean 'large'"):
        client.stop_query("larg")
    with pytest.raises(ApplicationError, match="used by large"):
        client.remove_stream("clicks")
    with pytest.raises(ApplicationError):
        client.results("nothing").latest()


def test_queries_are_stopped_started_and_removed(client: hg.Client) -> None:
    large(client, start=False)
    assert client.queries()["large"].state == "stopped"
    client.start_query("large")
    assert client.queries()["large"].state == "running"
    client.stop_query("large")
    assert client.queries()["large"].state == "stopped"
    client.remove_query("large")
    client.remove_stream("clicks")
    assert client.streams() == {}


def test_what_can_be_changed(client: hg.Client) -> None:
    client.add_class("critical", 6)
    client.add_class("reports", 1, linger="5 ms")
    large(client, in_class="reports", tolerance=0.1)
    client.set_priority("critical", 9)
    client.set_class("large", "critical")
    client.set_tolerance("large", 0.3)
    client.set_qos("large", {"latency": {"priority": "best-effort", "points": [[0, 1], [60, 1]]}})
    client.set_query_policy("large", "fifo")
    client.set_policy("rr", unit="query")
    section = client.queries()["large"].section
    assert (section["class"], section["tolerance"], section["policy"]) == ("critical", 0.3, {"name": "fifo"})
    assert client.classes()["critical"]["priority"] == 9
    assert client.policy["name"] == "rr"
    overview = client.overview()
    assert overview["classes"]["critical"]["priority"] == 9
    assert overview["queries"]["large"]["policy"] == "fifo"
    client.set_query_policy("large", None)
    client.set_qos("large", None)
    client.set_tolerance("large", None)
    assert not {"policy", "qos", "tolerance"} & client.queries()["large"].section.keys()


def test_looks(client: hg.Client) -> None:
    large(client)
    client.table("limits", pa.table({"user": ["ann"], "most": [float("nan")]}))
    assert client.tables()["limits"]["rows"] == [{"user": "ann", "most": "nan"}]
    assert "large" in str(client.explain())
    assert "large" in client.explain("large").to_dict()["queries"]
    assert client.report().queries["large"].outputs == 0
    assert client.query_overview("large")["streams"] == ["clicks"]
    assert client.decisions() == []


def test_results_come_as_they_come_until_the_query_ends(client: hg.Client) -> None:
    large(client)
    client.push("clicks", [("early", 11.0)])
    until(lambda: client.results("large").rows == 1)
    seen: list[pa.Table] = []
    found = client.results("large")
    reader = threading.Thread(target=lambda: seen.extend(found))
    reader.start()
    until(lambda: len(seen) == 1)
    for n in range(3):
        client.push("clicks", [("late", 20.0 + n)])
        until(lambda n=n: sum(table.num_rows for table in seen) == 2 + n)  # type: ignore[misc]
    client.stop_query("large")
    reader.join(30)
    assert not reader.is_alive()
    whole = pa.concat_tables(seen)
    assert whole.column("price").to_pylist() == [11.0, 20.0, 21.0, 22.0]
    assert whole.schema.field("price").type == pa.float64()
    assert found.missed == 0


def test_a_slow_reader_knows_what_it_missed(client: hg.Client) -> None:
    large(client)
    found = client.results("large")
    tables = iter(found)
    client.push("clicks", [("a", 11.0)])
    first = next(tables).num_rows
    client.push("clicks", pa.table({"user": ["b"] * 50_000, "price": [20.0] * 50_000}))
    until(lambda: found.rows == 50_001)
    client.stop_query("large")
    rows = first + sum(table.num_rows for table in tables)
    assert rows + found.missed == 50_001


def test_a_relation_comes_as_it_stands(client: hg.Client) -> None:
    client.stream("clicks", SCHEMA)
    client.query("last_two", "SELECT user, price FROM clicks [ROWS 2]")
    tables = iter(client.results("last_two"))
    for n in range(3):
        client.push("clicks", [(f"u{n}", 1.0)])
        held = next(tables)
    while len(held) < 2 or held.column("user").to_pylist()[-1] != "u2":
        held = next(tables)
    assert sorted(held.column("user").to_pylist()) == ["u1", "u2"]


def test_nobody_answers() -> None:
    with pytest.raises(ServerError, match=r"no server can be reached.*headgate serve"):
        hg.Client("http://127.0.0.1:9")
    with pytest.raises(ServerError, match="no address of a server"):
        hg.Client("nonsense")


def test_where_to_connect_comes_from_the_environment(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_URL", server.url)
    with hg.Client() as client:
        assert client.url == server.url
