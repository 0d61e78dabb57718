"""Runs that stay open, as a server needs them: begun empty, changed in every way, watched. On Spark."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import headgate as hg

pytestmark = pytest.mark.spark
PATIENCE_S = 120.0
LATENCY = {"latency": {"priority": "must", "points": [[0, 0.5], [60, 0.5]]}}
WINDOW = "[RANGE 1 SECOND SLIDE 1 SECOND]"


@pytest.fixture
def app(tmp_path: Path) -> hg.Application:
    app = hg.Application(policy="mbd", slots=2, folder=tmp_path)
    app.stream("clicks", "user STRING, price DOUBLE")
    app.add_class("critical", priority=6)
    app.add_class("rest", priority=1)
    app.query("large", "SELECT user, price FROM clicks WHERE price > 10", in_class="critical")
    app.query("counts", "SELECT user, count(*) AS n FROM clicks GROUP BY user", in_class="rest")
    return app


def test_a_run_begins_empty_and_stays_open(spark: Any, tmp_path: Path) -> None:
    app = hg.Application(folder=tmp_path)
    with pytest.raises(hg.ApplicationError, match="the key 'streams' is missing"):
        app.start(spark)
    with app.start(spark, stay_open=True) as run:
        assert run.drain(PATIENCE_S)
        assert run.overview()["queries"] == {}
        assert run.report().queries == {}
        assert not run.wait(0.7)
        assert run.running
        with pytest.raises(hg.ApplicationError, match="there are no streams yet"):
            run.add_query("q", "SELECT k FROM s")
        with pytest.raises(hg.ApplicationError, match="nothing to forecast"):
            run.predict()
        run.add_stream("s", "k INT")
        run.add_query("q", "SELECT k FROM s WHERE k > 1")
        run.push("s", [(1,), (2,)])
        assert run.drain(PATIENCE_S)
        assert run.results("q").to_arrow().to_pylist() == [{"k": 2}]
        run.stop_query("q")
        assert [batch.num_rows for batch in run.results("q")] == [1], "the results of a query end with it"
        assert not run.wait(0.7), "the run goes on without queries"
        run.remove_query("q")
        run.add_query("q", "SELECT k * 2 AS k FROM s")
        run.push("s", [(4,)])
        assert run.drain(PATIENCE_S)
        assert run.results("q").to_arrow().to_pylist() == [{"k": 8}]
        assert run.running
    assert not run.running
    assert run.wait(1.0)
    assert run.overview()["running"] is False
    assert run.report().errors == {}


@pytest.mark.parametrize("parts", ["streams", "tables", "classes"])
def test_a_run_begins_with_parts_of_an_application(spark: Any, tmp_path: Path, parts: str) -> None:
    app = hg.Application(folder=tmp_path)
    if parts == "streams":
        app.stream("s", "k INT")
    elif parts == "tables":
        app.table("t", [{"k": 1, "name": "one"}])
    else:
        app.add_class("vip", priority=5)
    with app.start(spark, stay_open=True) as run:
        if parts != "streams":
            run.add_stream("s", "k INT")
        if parts != "tables":
            run.add_table("t", [{"k": 1, "name": "one"}])
        run.add_query("q", "SELECT t.name FROM s JOIN t ON s.k = t.k")
        run.push("s", [(1,), (2,)])
        assert run.drain(PATIENCE_S)
        assert run.results("q").to_arrow().to_pylist() == [{"name": "one"}]
        expected = "vip" if parts == "classes" else "default"
        assert run.overview()["queries"]["q"]["class"] == expected


def test_a_query_ends_with_its_streams_though_the_run_stays_open(spark: Any, app: hg.Application) -> None:
    with app.start(spark, stay_open=True) as run:
        run.push("clicks", [("ann", 12.0), ("bob", 1.0)])
        found: list[dict[str, Any]] = []
        reader = threading.Thread(target=lambda: [found.extend(batch.to_pylist()) for batch in run.results("large")])
        reader.start()
        run.end("clicks")
        reader.join(PATIENCE_S)
        assert not reader.is_alive()
        assert found == [{"user": "ann", "price": 12.0}]
        assert run.running
        assert run.drain(PATIENCE_S)
        states = {name: one["state"] for name, one in run.overview()["queries"].items()}
        assert states == {"large": "ended", "counts": "ended"}


def test_classes_are_known_at_once(spark: Any, tmp_path: Path) -> None:
    app = hg.Application(folder=tmp_path)
    app.stream("s", "k INT")
    app.query("q", "SELECT k FROM s")
    with app.start(spark, stay_open=True) as run:
        run.add_class("vip", priority=5)
        assert sorted(run.overview()["classes"]) == ["default", "vip"]
        run.set_class("q", "vip")
        run.set_priority("vip", 7)
        with pytest.raises(hg.ApplicationError, match=r"classes\.vip: it is the class of q"):
            run.remove_class("vip")
        run.set_class("q", "default")
        run.remove_class("vip")
        with pytest.raises(hg.ApplicationError, match="there is no class 'vip'"):
            run.set_class("q", "vip")
        run.add_class("vip", priority=2)
        assert run.report().classes["vip"].priority == 2
    with hg.Application().start(spark, stay_open=True) as run:
        run.add_class("only", priority=5)
        assert list(run.overview()["classes"]) == ["only"], "the class that nobody asked for goes"
        run.remove_class("only")
        assert run.overview()["classes"] == {}
        assert run.report().classes == {}
        run.add_stream("s", "k INT")
        run.add_query("q", "SELECT k FROM s")
        assert run.overview()["queries"]["q"]["class"] == "default"


def test_names_of_streams_and_tables_are_free_again(spark: Any, tmp_path: Path) -> None:
    with hg.Application(folder=tmp_path).start(spark, stay_open=True) as run:
        for round_ in range(2):
            kind, key = ("INT", 1) if round_ else ("STRING", "1")
            run.add_stream("s", f"k {kind}")
            run.add_stream("unread", f"k {kind}")
            run.add_table("t", [{"k": key, "name": f"name {round_}"}])
            run.add_query("joined", "SELECT t.name FROM s JOIN t ON s.k = t.k")
            run.add_query("counted", "SELECT k, count(*) AS n FROM s GROUP BY k")
            run.push("s", [{"k": key}])
            assert run.drain(PATIENCE_S)
            assert run.results("joined").to_arrow().to_pylist() == [{"name": f"name {round_}"}]
            assert run.results("counted").to_arrow().to_pylist() == [{"k": key, "n": 1}]
            for remove, place in ((run.remove_stream, "streams.s"), (run.remove_table, "tables.t")):
                with pytest.raises(hg.ApplicationError, match=f"{place}: it is read by joined"):
                    remove(place[-1])
            run.stop_query("joined")
            with pytest.raises(hg.ApplicationError, match=r"streams\.s: it is read by .*joined"):
                run.remove_stream("s")
            if not round_:
                run.end("s")
            run.remove_query("joined")
            run.remove_query("counted")
            run.remove_stream("s")
            run.remove_stream("unread")
            run.remove_table("t")
            with pytest.raises(hg.ApplicationError, match="there is no such stream"):
                run.remove_stream("s")
            with pytest.raises(hg.ApplicationError, match="there is no such table"):
                run.remove_table("t")
            with pytest.raises(hg.ApplicationError, match="rows cannot be pushed"):
                run.push("s", [(1,)])
        assert run.report().errors == {}


def test_promises_are_changed_and_checked_as_in_a_file(spark: Any, app: hg.Application) -> None:
    with app.start(spark, stay_open=True) as run:
        for request, problem in (
            (lambda: run.set_qos("larg", LATENCY), "did you mean 'large'"),
            (lambda: run.set_qos("large", {"latncy": {}}), r"queries\.large\.qos"),
            (
                lambda: run.set_qos("large", {"latency": {"priority": "must", "points": [[0, 1]]}}),
                r"qos\.latency\.points",
            ),
            (lambda: run.set_qos("large", {"latency": {"priority": "most", "points": [[0, 1], [9, 1]]}}), "priority"),
            (lambda: run.set_tolerance("large", 2.0), r"queries\.large\.tolerance"),
            (lambda: run.set_tolerance("large", 0.1, shed={"attribute": "prize", "drop": "lowest"}), "'price'"),
            (lambda: run.set_tolerance("large", 0.1, error_bounds=True), r"queries\.large\.error_bounds"),
            (lambda: run.set_tolerance("counts", 0.1), r"queries\.counts\.tolerance: it was registered without"),
        ):
            with pytest.raises(hg.ApplicationError, match=problem):
                request()
        assert run.query_overview("large")["qos"] == {}
        run.set_qos("large", LATENCY)
        assert run.query_overview("large")["qos"]["latency"]["expected"] == 0.5
        assert run.query_overview("large")["score"] is not None
        run.set_tolerance("large", 0.2, shed={"attribute": "price", "drop": "lowest"})
        seen = run.query_overview("large")
        assert (seen["tolerance"], seen["shed"]) == (0.2, {"attribute": "price", "drop": "lowest"})
        run.set_tolerance("large", None)
        run.set_qos("large", None)
        assert run.query_overview("large")["qos"] == {}
        assert run.report().to_dict()["qos"] == {}
        run.stop_query("large")
        with pytest.raises(hg.ApplicationError, match="the query has ended"):
            run.set_qos("large", LATENCY)


def test_a_tolerance_goes_and_comes_and_changes_no_result(spark: Any, app: hg.Application) -> None:
    text = "SELECT user, count(*) AS n, sum(price) AS total FROM clicks GROUP BY user"
    app.query("tolerant", text, in_class="rest", tolerance=0.3, error_bounds=True)
    with app.start(spark, stay_open=True) as run:
        for tolerance in (None, 0.2, 0.2):
            run.push("clicks", [("ann", 2.0), ("bob", 3.0), ("ann", 5.0)])
            assert run.drain(PATIENCE_S)
            run.set_tolerance("tolerant", tolerance)
        with pytest.raises(hg.ApplicationError, match=r"queries\.tolerant\.error_bounds"):
            run.set_tolerance("tolerant", 0.2, error_bounds=False)
        found = run.results("tolerant").to_pandas().set_index("user").sort_index()
        assert found[["n", "total", "n_error"]].to_numpy().tolist() == [[6, 21.0, 0.0], [3, 9.0, 0.0]]
    assert run.report().errors == {}


def test_a_run_is_watched(spark: Any, app: hg.Application) -> None:
    with app.start(spark, stay_open=True) as run:
        run.set_qos("large", LATENCY)
        for _ in range(5):
            run.push("clicks", [("ann", 12.0), ("bob", 1.0)] * 50)
            assert run.drain(PATIENCE_S)
            time.sleep(0.2)
        seen = run.overview()
        json.dumps(seen, allow_nan=False)
        assert abs(seen["began"] + seen["at"] - time.time()) < 5
        assert (seen["running"], seen["slots"], seen["policy"]["name"]) == (True, 2, "mbd")
        assert seen["load"] is None or 0 <= seen["load"] <= 1
        assert seen["queues"] == {"tuples": 0, "bytes": 0, "spilled_bytes": 0}
        critical = seen["classes"]["critical"]
        assert (critical["priority"], critical["queries"], critical["results"]) == (6, 1, 250)
        latency = critical["latency"]
        assert 0 < latency["p50"] <= latency["p95"] <= latency["p99"] <= 1.1 * latency["max"]
        assert latency["mean"] == pytest.approx(run.report().classes["critical"].latency.mean)
        assert seen["streams"]["clicks"]["queries"] == 2
        assert seen["queries"]["large"]["outputs"] == 250
        assert seen["shedders"] == []
        one = run.query_overview("large")
        json.dumps(one, allow_nan=False)
        assert (one["class"], one["priority"], one["state"]) == ("critical", 6, "running")
        assert (one["inputs"], one["outputs"], one["results"]) == (500, 250, 250)
        assert one["streams"] == ["clicks"]
        assert one["edges"][0]["from"] == "clicks"
        assert {edge["to"] for edge in one["edges"]} == {operator["id"] for operator in one["operators"]}
        assert sum(one["latencies"]["counts"]) == sum(one["class_latencies"]["counts"]) == 250
        assert len(one["latencies"]["times"]) == len(one["latencies"]["means"])
        classes = run.overview(over_time=True)["classes"]
        assert classes[one["class"]]["latencies"] == one["class_latencies"]
        assert "latencies" not in run.overview()["classes"][one["class"]]
        with pytest.raises(hg.ApplicationError, match="did you mean 'large'"):
            run.query_overview("larg")
        run.stop_query("large")
        one = run.query_overview("large")
        assert (one["state"], one["operators"], one["edges"], one["outputs"]) == ("ended", [], [], 250)
    assert run.overview()["queries"]["large"]["outputs"] == 250
