"""A report as tables, even when it is incomplete."""

import io
from typing import Any

import pytest
from rich.console import Console

from headgate.display.json_values import json_value
from headgate.display.report import print_report

LATENCY = {"mean": 0.2, "p10": 0.1, "p25": 0.1, "p50": 0.15, "p75": 0.3, "p90": 0.4, "p95": 0.5, "p99": 1.5, "max": 2.0}
REPORT: dict[str, Any] = {
    "runtime": "spark",
    "policy": "mbd",
    "slots": 2,
    "seconds": 60.0,
    "weighted_mean_latency": 0.4,
    "priority_inversion": 0.0,
    "starvation_ratio": 4.1,
    "weighted_latency": {"mean": 0.4, "p95": 0.9},
    "inversion": {"mean": 0.0, "p75": 1.25},
    "classes": {
        "archive": {"priority": 1, "inputs": 5, "outputs": 0, "shed": 0, "latency": dict.fromkeys(LATENCY)},
        "critical": {"priority": 6, "inputs": 12345, "outputs": 99, "shed": 7, "latency": LATENCY},
    },
    "queries": {"fire": {"class": "critical", "inputs": 12345, "outputs": 99, "shed": 7, "latency": {}}},
    "memory": {"mean": 2_500_000.0, "max": 3e9},
    "throughput": {"inputs": 205.75, "outputs": 1650.0},
    "switches": [{"at": 3.25, "from": "rr", "to": "pcs", "reason": "latency"}],
    "changes": [{"at": 4.5, "class": "archive", "from": 1, "to": 6}],
    "schedule": {"updates": 3, "updated_at": 4.75},
    "shedding": [],
}


def shown(report: dict[str, Any]) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, width=140))
    return out.getvalue()


def test_everything_is_shown() -> None:
    text = shown(REPORT)
    for fragment in (
        "mbd on 2 slots",
        "12,345",
        "200 ms",
        "1.5 s",
        "2.5 MB / 3 GB",
        "400 ms (at p95: 900 ms)",
        "0 (at p75: 1.25)",
        "205.8 / 1,650",
        "from rr, to pcs",
        "class archive, from 1, to 6",
        "3, 4.75 s",
    ):
        assert fragment in text, fragment
    assert text.index("critical") < text.index("archive"), "the most important class comes first"
    assert "shedding" not in text


@pytest.mark.parametrize("key", [*REPORT, "nothing"])
def test_incomplete_reports(key: str) -> None:
    assert shown({k: v for k, v in REPORT.items() if k != key})


def test_json_values_have_no_infinity() -> None:
    assert json_value({"a": float("nan"), "b": (1, float("inf")), 3: {None}}) == {
        "a": None,
        "b": [1, None],
        "3": [None],
    }
