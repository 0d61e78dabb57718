"""An application as plain data."""

import json
from pathlib import Path

import pytest

from headgate.application.explain import explain
from headgate.application.load import load_application
from tests.application.apps import write_app


def test_keys_and_numbers(tmp_path: Path) -> None:
    explained = explain(load_application(write_app(tmp_path)))
    assert json.loads(json.dumps(explained, allow_nan=False)) == explained
    assert set(explained) >= {"streams", "tables", "classes", "queries", "paths", "segments", "policy", "slots"}
    assert explained["classes"] == {
        "critical": {"priority": 6, "queries": ["fire"]},
        "normal": {"priority": 3, "queries": ["some", "more"]},
    }
    assert explained["policy"] == {"name": "rr", "parameters": {"quantum": 0.05}}
    assert explained["streams"]["clicks"]["schema"] == [{"name": "k", "type": "INT"}, {"name": "v", "type": "DOUBLE"}]


def test_operators(tmp_path: Path) -> None:
    fire = explain(load_application(write_app(tmp_path)))["queries"]["fire"]
    hot, floor, out = fire["operators"]
    assert (hot["id"], hot["kind"], hot["inputs"], hot["parameters"]) == (
        "fire/hot",
        "select",
        ["sensors"],
        "temperature > 35",
    )
    assert (hot["cost"], hot["selectivity"], hot["assumed"]) == (20e-6, 0.1, False)
    assert (floor["selectivity"], floor["assumed"], floor["fixed_cost"]) == (1.0, True, 1e-3)
    assert (out["cost"], [column["name"] for column in out["schema"]]) == (None, ["location", "floor", "twice"])
    assert fire["result"] == "fire/out"


def test_paths_and_segments(tmp_path: Path) -> None:
    changes = ["queries.fire.operators.out.cost=10us"]
    explained = explain(load_application(write_app(tmp_path), changes))
    (path,) = explained["queries"]["fire"]["paths"]
    assert path["operators"] == ["fire/hot", "fire/floor", "fire/out"]
    assert path["cost"] == pytest.approx(20e-6 + 0.1 * 50e-6 + 0.1 * 10e-6)
    assert path["capacity"] == pytest.approx(1 / path["cost"])
    assert path["selectivity"] == pytest.approx(0.1)
    assert len(explained["queries"]["more"]["paths"]) == 2
    assert [path["id"] for path in explained["paths"]] == ["fire#1", "some#1", "some#2", "more#1", "more#2"]
    assert all(segment in explained["segments"] for segment in explained["queries"]["fire"]["segments"])
    assert [segment["operators"] for segment in explained["queries"]["fire"]["segments"]] == [
        ["fire/hot"],
        ["fire/floor", "fire/out"],
    ]


def test_undeclared_costs_are_unknown(tmp_path: Path) -> None:
    explained = explain(load_application(write_app(tmp_path)))
    assert {path["cost"] for path in explained["paths"] if path["query"] == "some"} == {None}


def test_which_window_a_tuple_at_a_boundary_belongs_to(tmp_path: Path) -> None:
    text = """\
streams:
  s: {schema: "k INT, at TIMESTAMP", time: at, source: {kind: feeder, rate: 1}}
queries:
  cql: {cql: "SELECT k, count(*) AS n FROM s [RANGE 20 SECONDS SLIDE 10 SECONDS] GROUP BY k"}
  spark: {cql: "SELECT k, count(*) AS n FROM s GROUP BY k, window(at, '10 seconds')"}
  session: {cql: "SELECT k, count(*) AS n FROM s GROUP BY k, session_window(at, '10 seconds')"}
  sliding: {cql: "SELECT k, count(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY k"}
"""
    explained = explain(load_application(write_app(tmp_path, text)))
    bounds = {
        name: [b for one in query["operators"] for b in one["bounds"]] for name, query in explained["queries"].items()
    }
    assert bounds == {
        "cql": [
            "[RANGE 20 SECONDS SLIDE 10 SECONDS] holds (end - 20 SECONDS, end]; "
            "a tuple at a boundary is in the window that ends there"
        ],
        "spark": [
            "window(..) holds [start, end), as in Spark; a tuple at a boundary is in the window that begins there"
        ],
        "session": [],
        "sliding": [],
    }
