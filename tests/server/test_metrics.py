"""`/metrics`: what it holds, that it can be read, that names are escaped, and how long it takes with many queries."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import headgate as hg
from headgate.server.metrics import Metrics

ROOT = Path(__file__).parents[2]


def scraped(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """Sample name -> label values -> value."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


@pytest.mark.spark
def test_what_a_scrape_holds(server: Any, client: hg.Client) -> None:
    client.stream("clicks", "user STRING, price DOUBLE")
    client.add_class("critical", 6)
    client.query("large", "SELECT user, price FROM clicks WHERE price > 10", in_class="critical")
    client.push("clicks", [("ann", 20.0), ("bob", 1.0)])
    results = client.results("large")
    while not results.rows:
        time.sleep(0.02)
    answer = httpx.get(f"{server.url}/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = scraped(answer.text)
    assert found["headgate_query_output_tuples_total"][("large",)] == 1
    assert found["headgate_class_priority"][("critical",)] == 6
    assert found["headgate_class_latency_seconds"][("critical", "0.95")] > 0
    assert found["headgate_queries"][("running",)] == 1
    assert found["headgate_policy_info"][("mbd", "")] == 1
    assert found["headgate_stream_open"][("clicks",)] == 1
    assert found["headgate_dead_letter_rows_total"][()] == 0
    assert ("POST", "/v1/streams/{name}/rows", "200") in found["headgate_http_requests_total"]
    assert ("GET", "/v1/queries/{name}/results") in found["headgate_http_request_seconds_count"]
    assert found["process_resident_memory_bytes"][()] > 1e6


@pytest.mark.spark
def test_requests_for_what_is_not_there_share_a_label(server: Any) -> None:
    for n in range(3):
        httpx.get(f"{server.url}/no/such/page/{n}")
        httpx.get(f"{server.url}/v1/no-such-route/{n}")
    found = scraped(httpx.get(f"{server.url}/metrics").text)["headgate_http_requests_total"]
    assert found[("GET", "other", "404")] >= 6
    assert not any("no-such" in label for labels in found for label in labels)


@pytest.mark.spark
def test_every_name_is_documented(server: Any) -> None:
    text = httpx.get(f"{server.url}/metrics").text
    names = {family.name for family in text_string_to_metric_families(text) if family.name.startswith("headgate_")}
    page = (ROOT / "docs" / "server.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(headgate_\w+)`", page))
    assert {name for name in names if not {name, f"{name}_total", f"{name}_info"} & listed} == set()
    assert {
        name for name in listed if not {name, name.removesuffix("_total"), name.removesuffix("_info")} & names
    } == set()


class ManyQueries:
    """An overview as a run gives it, without a run; a metric needs nothing else of a service."""

    def __init__(self, names: list[str]) -> None:
        latency = dict.fromkeys(("mean", "p50", "p95", "p99", "max"), 0.0123)
        self.names = names
        self._overview = {
            "at": 1.0,
            "running": True,
            "slots": 2,
            "load": None,
            "policy": {"name": "mbd", "parameters": {"together": 3}},
            "inputs_per_second": 1.0,
            "outputs_per_second": 1.0,
            "queues": {"tuples": 1, "bytes": 1, "spilled_bytes": 0},
            "dead_letters": 0,
            "checkpoint": None,
            "streams": {
                name: {"tuples_per_second": None, "queries": 1, "open": True, "late": 0} for name in names[:10]
            },
            "classes": {
                name: {
                    "priority": 1,
                    "queries": 1,
                    "latency": latency,
                    "inputs_per_second": None,
                    "outputs_per_second": 1.0,
                }
                for name in names[:10]
            },
            "queries": {
                name: {
                    "class": "c",
                    "state": "running",
                    "latency": latency,
                    "outputs": 5,
                    "waiting": 3,
                    "policy": None,
                    "shedding": 0.0,
                }
                for name in names
            },
        }

    def overview(self) -> Any:
        return self._overview


@given(st.lists(st.text(min_size=1).filter(lambda text: "\r" not in text), min_size=1, max_size=5, unique=True))
@settings(deadline=None)
def test_any_name_reads_back(names: list[str]) -> None:
    names = [name.encode(errors="replace").decode() for name in names]
    text = Metrics(ManyQueries(names), lambda: 0).text().decode()  # type: ignore[arg-type]
    lines = [line for line in text.split("\n") if line.startswith("headgate_query_waiting_tuples{")]
    read = {
        re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), line.split('"', 1)[1].rsplit('"', 1)[0])
        for line in lines
    }
    assert read == set(names)


def test_a_scrape_with_a_thousand_queries_is_quick() -> None:
    metrics = Metrics(ManyQueries([f"query_{n}" for n in range(1_000)]), lambda: 0)  # type: ignore[arg-type]
    took = []
    for _ in range(5):
        began = time.process_time()
        assert metrics.text().count(b"\n") > 6_000
        took.append(time.process_time() - began)
    print(f"a scrape with 1,000 queries: {min(took) * 1e3:.0f} ms")
    assert min(took) < 0.1
