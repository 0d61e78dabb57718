"""Results on the terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate.connect.sinks import Sink, make_sink
from headgate.connect.sinks.base import position_of
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import FOREVER, parse_schema

SCHEMA = parse_schema("k INT, s STRING", "q")


def sink_of(flow: Flow | None = None, **said: Any) -> Sink:
    return make_sink(Query("hot", "c", Port("x"), (), {"kind": "console", **said}), SCHEMA, Path(), flow)


def rows(count: int, change: int = 1) -> pa.Table:
    k = pa.array(range(count), pa.int32())
    stamps = {"_arrival": 0, "_sequence": 0, "_time": 7, "_until": FOREVER, "_change": change}
    columns = {name: pa.array([value] * count, pa.int64()) for name, value in stamps.items()}
    texts = pa.array([None if n == 1 else f"[bold]{n}" for n in range(count)], pa.string())
    return pa.table({"k": k, "s": texts, **columns})


def test_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sink_of(limit=2)
    sink.write(rows(3))
    sink.write(rows(0))
    sink.close()
    out, err = capsys.readouterr()
    lines = [line.split() for line in out.splitlines() if line.strip() and "─" not in line]
    assert lines == [["hot:", "3", "rows"], ["k", "s"], ["0", "[bold]0"], ["1", "null"], ["and", "1", "more"]]
    assert err == ""
    assert sink.rows == 3
    assert position_of(sink) is None


def test_json_lines_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    sink_of(style="json", to="stderr").write(rows(2))
    out, err = capsys.readouterr()
    assert out == ""
    assert [json.loads(line) for line in err.splitlines()] == [{"k": 0, "s": "[bold]0"}, {"k": 1, "s": None}]


def test_a_relation_that_loses_rows_shows_its_changes(capsys: pytest.CaptureFixture[str]) -> None:
    sink = sink_of(Flow(relation=True, expires=True, retracts=True), style="json")
    sink.write(rows(1))
    sink.write(rows(1, -1))
    assert [json.loads(line)["change"] for line in capsys.readouterr().out.splitlines()] == ["+", "-"]
