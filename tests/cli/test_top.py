"""The screen of `headgate top`, in terminals of several sizes."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from headgate.display.overview import OverviewScreen, in_order, query_table, stream_state

LATENCY = {"mean": 0.02, "p50": 0.01, "p95": 0.2, "p99": 0.3, "max": 1.5}


def query(waiting: int = 12, mean: float | None = 0.02, state: str = "running", **more: Any) -> dict[str, Any]:
    latency = {"mean": mean, "max": mean}
    one = {"class": "critical", "state": state, "error": None, "latency": latency, "results": 123_456}
    return one | {"outputs": 1_234_567, "waiting": waiting, "policy": None, "shedding": 0.0} | more


def overview(queries: int = 12, running: bool = True) -> dict[str, Any]:
    classes = {
        name: {
            "priority": priority,
            "queries": 4,
            "latency": LATENCY,
            "results": 7200,
            "inputs_per_second": 45_000.0,
            "outputs_per_second": 120.0,
        }
        for name, priority in {"archive": 1, "critical": 6, "normal": 3}.items()
    }
    return {
        "at": 93_784.0,
        "running": running,
        "slots": 2,
        "load": 0.42,
        "policy": {"name": "mbd", "parameters": {"together": 3}},
        "inputs_per_second": 3000.0,
        "outputs_per_second": 120.0,
        "queues": {"tuples": 12, "bytes": 3400, "spilled_bytes": 0},
        "streams": {"clicks": {"open": True, "source": {"state": "running"}}},
        "classes": classes,
        "shedders": [{"query": "q", "operator": "q/where", "input": 0, "share": 0.2}],
        "queries": {f"smoke_and_heat_{n}": query(waiting=n) for n in range(queries)},
    }


def screen(content: dict[str, Any], width: int = 100, height: int = 30) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height)
    console.print(OverviewScreen(content, "waiting", Text("q: quit")))
    return out.getvalue().splitlines()


@pytest.mark.parametrize(("width", "height"), [(60, 20), (80, 24), (105, 24), (140, 50), (40, 12)])
@pytest.mark.parametrize("queries", [0, 12, 1000])
def test_it_fits_the_screen(width: int, height: int, queries: int) -> None:
    lines = screen(overview(queries), width, height)
    assert max(map(len, lines)) <= width
    if height >= 20:
        assert len(lines) <= height
        listed = sum("smoke_and_heat_" in line for line in lines)
        assert listed == queries or f"and {queries - listed:,} more queries" in "".join(lines)
        assert lines[-1].startswith("q: quit")


def test_what_it_shows() -> None:
    text = "\n".join(screen(overview()))
    for part in ("mbd (together 3)", "load 42% of 2 slots", "up 1 d 02:03:04", "3,000 in/s", "12 tuples wait (3.4 kB)"):
        assert part in text
    assert "shedding 20% before q/where" in text
    assert text.index("critical") < text.index("normal") < text.index("archive")
    assert text.index("smoke_and_heat_11") < text.index("smoke_and_heat_10")
    assert "the run has ended" in "\n".join(screen(overview(running=False)))


def test_sources_that_do_not_work_are_named() -> None:
    content = overview()
    assert "clicks" not in "\n".join(screen(content))
    retrying = {"state": "retrying", "since": 3.0, "attempt": 4, "error": "no route to host"}
    content["streams"] = {
        "clicks": {"open": True, "source": retrying},
        "doors": {"open": False, "source": {"state": "failed", "error": "x" * 200}},
        "rooms": {"open": False, "source": None},
    }
    lines = screen(content, 80)
    assert "stream clicks is tried again, attempt 4: no route to host" in lines
    assert sum(line.startswith("stream doors has failed: xxx") for line in lines) == 1
    assert max(map(len, lines)) <= 80
    assert [stream_state(one) for one in content["streams"].values()] == ["retrying", "failed", "ended"]
    assert [stream_state(one) for one in ({"open": True}, {"open": False}, {})] == ["open", "ended", "not read"]


def test_errors_take_a_line_each() -> None:
    content = overview(3)
    content["queries"] |= {
        f"bad_{n}": query(state="failed", error="[CAST_INVALID_INPUT] " + "x" * 200) for n in range(5)
    }
    lines = screen(content, 80)
    assert sum(line.startswith("bad_") and "[CAST_INVALID_INPUT]" in line for line in lines) == 3
    assert "and 2 more that failed" in lines
    assert max(map(len, lines)) <= 80


def test_who_should_be_looked_at_comes_first() -> None:
    queries = {
        "quiet": query(0, None),
        "slow": query(1, 9.0),
        "waits": query(50, 0.1),
        "broken": query(0, None, "failed", error="no"),
    }
    assert list(in_order(queries, "waiting")) == ["broken", "waits", "slow", "quiet"]
    assert list(in_order(queries, "latency")) == ["broken", "slow", "waits", "quiet"]


def test_columns_that_nobody_needs_are_left_out() -> None:
    def titles(**more: Any) -> list[str]:
        return [column.title for column in query_table({"q": query(**more)}).columns]

    assert not {"shed", "policy"} & set(titles())
    assert {"shed", "policy"} <= set(titles(shedding=0.1, policy="rr"))
