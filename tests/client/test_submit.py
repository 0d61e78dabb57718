"""Whatever is registered by the client is what an application file would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.client.submit import KEYS, same_section, submit
from headgate.errors import ApplicationError

pytestmark = pytest.mark.spark

PRIORITIES = st.integers(1, 2**31 - 1)
LINGERS = st.none() | st.floats(0, 10) | st.sampled_from(["5 ms", "2 seconds"])
POINTS = st.lists(st.floats(0, 100), min_size=2, max_size=2).map(sorted).flatmap(
    lambda times: st.floats(0, 9).map(lambda value: [[times[0], value], [times[1], value]])
)  # fmt: skip
PROMISE = st.fixed_dictionaries({"priority": st.sampled_from(["must", "best-effort"]), "points": POINTS})
QOS = st.none() | st.dictionaries(st.sampled_from(["latency", "throughput"]), PROMISE, min_size=1)
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "in_class": st.just("critical"),
        "qos": QOS,
        "tolerance": st.none() | st.floats(0, 0.99),
        "shed": st.sampled_from(["random", {"attribute": "price", "drop": "lowest"}]),
        "on_error": st.sampled_from(["stop", "skip"]),
        "policy": st.sampled_from(["fifo", {"name": "rr", "unit": "query"}]),
        "linger": LINGERS,
        "sink": st.sampled_from([hg.sinks.Memory(limit=100), hg.sinks.Nothing(), {"kind": "none"}]),
    },
)


@given(QUERIES, PRIORITIES, LINGERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_client_registers_what_a_file_says(
    client: hg.Client, tmp_path_factory: pytest.TempPathFactory, query: dict[str, Any], priority: int, linger: Any
) -> None:
    app = hg.Application()
    for one in (client, app):
        one.stream("clicks", "user STRING, price DOUBLE", slack="2 s")
        one.table("limits", [{"user": "ann", "most": 1.5}])
        one.add_class("critical", priority, linger=linger)
    text = "SELECT c.user, c.price FROM clicks c JOIN limits l ON c.user = l.user"
    app.query("over", text, **query)
    client.query("over", text, start=False, **query)
    file = tmp_path_factory.mktemp("file") / "app.yaml"
    file.write_text(app.to_yaml(), encoding="utf-8")
    try:
        for key in KEYS:
            written, registered = hg.load(file).sections(key), client.sections(key)
            assert written.keys() == registered.keys()
            assert all(same_section(key, written[name], registered[name]) for name in written)
        assert {one.outcome for one in submit(client, hg.load(file), start=False)} == {"unchanged"}
    finally:
        for key in reversed(KEYS):
            for name in client.sections(key):
                client.remove(key, name)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"cql": "SELECT 1"}, {"cql": "SELECT 1", "on_error": "stop"}, True),
        ({"cql": "SELECT 1", "linger": "5 ms"}, {"cql": "SELECT 1", "linger": 0.005}, True),
        ({"cql": "SELECT 1", "policy": "rr"}, {"cql": "SELECT 1", "policy": {"name": "rr"}}, True),
        ({"cql": "SELECT 1", "sink": {"kind": "memory"}}, {"cql": "SELECT 1"}, True),
        ({"cql": "SELECT 1", "sink": {"kind": "memory", "limit": 5}}, {"cql": "SELECT 1"}, False),
        ({"cql": "SELECT 1", "sink": {"kind": "none"}}, {"cql": "SELECT 1"}, False),
        ({"cql": "SELECT 1"}, {"cql": "SELECT 2"}, False),
    ],
)
def test_what_is_the_same(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert same_section("queries", one, other) is same


FILE = """
streams: {clicks: {schema: "user STRING, price DOUBLE", source: {kind: push}}}
classes: {critical: {priority: 6}}
queries:
  dear: {cql: "SELECT user FROM large WHERE price > 100", class: critical}
  large: {cql: "SELECT user, price FROM clicks WHERE price > 10", class: critical}
"""


def outcomes(client: hg.Client, file: Path, text: str, **how: bool) -> dict[str, str]:
    file.write_text(text, encoding="utf-8")
    return {f"{one.key}.{one.name}": one.outcome for one in submit(client, hg.load(file), **how)}


def test_a_file_is_brought_to_the_server(client: hg.Client, tmp_path: Path) -> None:
    file = tmp_path / "app.yaml"
    assert set(outcomes(client, file, FILE).values()) == {"added"}
    assert {one.state for one in client.queries().values()} == {"running"}
    assert set(outcomes(client, file, FILE).values()) == {"unchanged"}
    changed = FILE.replace("100", "200").replace("priority: 6", "priority: 7")
    with pytest.raises(ApplicationError, match=r"classes.critical: .*--replace"):
        outcomes(client, file, changed)
    assert client.classes()["critical"]["priority"] == 6
    found = outcomes(client, file, changed, replace=True)
    assert [name for name, outcome in found.items() if outcome == "replaced"] == ["classes.critical", "queries.dear"]
    assert "200" in client.queries()["dear"].section["cql"]


def test_a_query_that_cannot_be_replaced_comes_back(client: hg.Client, tmp_path: Path) -> None:
    file = tmp_path / "app.yaml"
    outcomes(client, file, FILE)
    with pytest.raises(ApplicationError, match="prise"):
        outcomes(client, file, FILE.replace("price > 100", "prise > 100"), replace=True)
    assert client.queries()["dear"].state == "running"
    assert "price > 100" in client.queries()["dear"].section["cql"]
