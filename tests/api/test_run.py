"""Runs started from Python, on Spark: push, read, change, report, stop."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headgate as hg

pytestmark = pytest.mark.spark
PATIENCE_S = 120.0


@pytest.fixture
def app(tmp_path: Path) -> hg.Application:
    app = hg.Application(policy="mbd", slots=2, folder=tmp_path)
    app.stream("clicks", "user STRING, price DOUBLE")
    app.table("users", [{"user": "ann", "limit": 10.0}, {"user": "bob", "limit": 20.0}])
    app.add_class("critical", priority=6)
    app.add_class("rest", priority=1)
    text = "SELECT c.user, c.price FROM clicks c JOIN users u ON c.user = u.user WHERE c.price > u.`limit`"
    app.query("fraud", text, in_class="critical")
    app.query("counts", "SELECT user, count(*) AS n FROM clicks GROUP BY user", in_class="rest")
    return app


def test_push_read_change_report(spark: Any, app: hg.Application) -> None:
    got: list[pa.Table] = []
    app.query("all", "SELECT user FROM clicks", in_class="rest", sink=hg.sinks.Callback(function=got.append))
    with app.start(spark) as run:
        assert run.running
        assert run.push("clicks", [{"user": "ann", "price": 12}, {"user": "bob", "price": 12.5}]) == 2
        with pytest.raises(hg.ApplicationError, match=r"push to clicks, rows\[1\], column price"):
            run.push("clicks", [{"user": "ann", "price": 50.0}, {"user": "ann", "price": "much"}])
        assert run.drain(PATIENCE_S)
        assert run.results("fraud").to_arrow().to_pylist() == [{"user": "ann", "price": 12.0}]
        assert run.results("counts").to_pandas().sort_values("user").n.tolist() == [1, 1]
        run.set_priority("critical", 9)
        run.set_class("all", "critical")
        run.set_policy("fifo")
        run.push("clicks", [("bob", 30.0)])
        run.end("clicks")
        assert run.wait(PATIENCE_S)
        assert [row for batch in run.results("fraud") for row in batch.to_pylist()][-1] == {
            "user": "bob",
            "price": 30.0,
        }
        assert run.results("fraud").latest(1).to_pylist() == [{"user": "bob", "price": 30.0}]
        assert not run.running
    report = run.report()
    assert report.classes["critical"].priority == 9
    assert report.queries["all"].class_name == "critical"
    assert report.policy == "fifo"
    assert report.queries["fraud"].outputs == 2
    assert report.errors == {}
    assert sum(table.num_rows for table in got) == 3
    assert run.stop() is report
    with pytest.raises(hg.ApplicationError, match="nothing can be pushed"):
        run.push("clicks", [("ann", 1.0)])


def test_results_arrive_while_it_runs(spark: Any, app: hg.Application) -> None:
    with app.start(spark) as run:
        found: list[dict[str, Any]] = []
        ended = threading.Event()

        def read() -> None:
            for batch in run.results("fraud"):
                found.extend(batch.to_pylist())
            ended.set()

        reader = threading.Thread(target=read)
        reader.start()
        run.push("clicks", [("ann", 11.0)])
        assert run.drain(PATIENCE_S)
        assert not ended.is_set()
        run.stop()
        assert ended.wait(PATIENCE_S)
        reader.join()
    assert found == [{"user": "ann", "price": 11.0}]


def test_requests_that_a_run_refuses(spark: Any, app: hg.Application) -> None:
    app.query("counted", "SELECT user FROM clicks", in_class="rest", sink=hg.sinks.Nothing())
    with app.start(spark) as run:
        for request, problem in (
            (lambda: run.push("click", []), "did you mean 'clicks'"),
            (lambda: run.results("frod"), "did you mean 'fraud'"),
            (lambda: run.results("counted"), "not kept in memory"),
            (lambda: run.set_priority("critcal", 3), "did you mean 'critical'"),
            (lambda: run.set_priority("critical", 0), r"classes\.critical\.priority"),
            (lambda: run.set_class("fraud", "res"), "did you mean 'rest'"),
            (lambda: run.set_policy("rrr"), "did you mean 'rr'"),
            (lambda: run.set_policy("rr", quantum=-1), "quantum"),
        ):
            with pytest.raises(hg.ApplicationError, match=problem):
                request()
        assert run.report().policy == "mbd"


def test_a_sink_that_fails_stops_its_query_and_ends_its_results(spark: Any, app: hg.Application) -> None:
    def fail(table: pa.Table) -> None:
        raise OSError("no room")

    app.query("broken", "SELECT user FROM clicks", in_class="rest", sink=hg.sinks.Callback(function=fail))
    with app.start(spark) as run:
        run.push("clicks", [("ann", 11.0)])
        assert run.drain(PATIENCE_S)
        assert run.results("fraud").latest().num_rows == 1
    assert run.report().errors == {"broken": "no room"}


def test_run_to_the_end(spark: Any) -> None:
    app = hg.load(Path(__file__).parents[2] / "examples" / "first.yaml", set={"queries.fire.sink": {"kind": "memory"}})
    app = app.with_settings(slots=2)
    report = app.run(until_idle=True, spark=spark)
    assert report.runtime == "spark"
    assert report.classes["critical"].outputs == 2


def test_spark_data_frames_are_tables(spark: Any) -> None:
    app = hg.Application()
    app.stream("s", "k INT")
    app.table("names", spark.createDataFrame([(1, "one"), (2, "two")], "k INT, name STRING"))
    app.query("q", "SELECT n.name FROM s JOIN names n ON s.k = n.k")
    with app.start(spark) as run:
        run.push("s", [(2,), (3,)])
        assert run.drain(PATIENCE_S)
        assert run.results("q").to_arrow().to_pylist() == [{"name": "two"}]


def test_queries_come_and_go(spark: Any, app: hg.Application) -> None:
    with app.start(spark) as run:
        run.push("clicks", [("ann", 20.0)])
        assert run.drain(PATIENCE_S)
        run.add_class("new", priority=3)
        run.add_query("expensive", "SELECT price FROM clicks WHERE price > 15", in_class="new")
        run.add_query("twice", "SELECT price * 2 AS p FROM fraud", in_class="new")
        run.add_stream("visits", "page STRING")
        run.add_query("pages", "SELECT page FROM visits", in_class="new")
        run.push("clicks", [("bob", 30.0), ("bob", 16.0)])
        run.push("visits", [("home",)])
        assert run.drain(PATIENCE_S)
        assert run.results("expensive").to_arrow().column("price").to_pylist() == [30.0, 16.0]
        assert run.results("twice").to_arrow().column("p").to_pylist() == [60.0]
        assert run.results("pages").to_arrow().to_pylist() == [{"page": "home"}]
        run.stop_query("expensive")
        assert [batch.num_rows for batch in run.results("expensive")] == [2], "the results of a stopped query end"
        assert run.report().queries["expensive"].outputs == 2
        with pytest.raises(hg.ApplicationError, match="already one named 'expensive'"):
            run.add_query("expensive", "SELECT user FROM clicks", in_class="new")
        run.remove_query("expensive")
        assert "expensive" not in run.report().queries
        run.add_query("expensive", "SELECT user FROM clicks", in_class="new")
        run.push("clicks", [("eve", 1.0)])
        assert run.drain(PATIENCE_S)
        assert run.results("expensive").to_arrow().to_pylist() == [{"user": "eve"}]
        with pytest.raises(hg.ApplicationError, match=r"queries\.wrong\.cql"):
            run.add_query("wrong", "SELECT nothing FROM clicks", in_class="new")
        with pytest.raises(hg.ApplicationError, match="there is no such query"):
            run.remove_query("wrong")


def test_a_stream_can_be_read_again_after_its_last_reader_was_removed(spark: Any, tmp_path: Path) -> None:
    app = hg.Application(folder=tmp_path)
    app.stream("clicks", "user STRING, price DOUBLE")
    app.stream("visits", "page STRING")
    app.query("users", "SELECT user FROM clicks")
    app.query("pages", "SELECT page FROM visits")
    with app.start(spark) as run:
        run.push("visits", [("home",)])
        assert run.drain(PATIENCE_S)
        run.remove_query("pages")
        run.add_query("pages", "SELECT upper(page) AS page FROM visits")
        run.push("visits", [("shop",)])
        assert run.drain(PATIENCE_S)
        assert run.results("pages").to_arrow().to_pylist() == [{"page": "SHOP"}]
    assert run.report().errors == {}


def test_a_run_forecasts_itself_under_other_policies(spark: Any) -> None:
    app = hg.Application(policy="fifo", slots=2)
    app.stream("s", "k INT", source=hg.sources.Feeder(rate=400))
    app.query("q", "SELECT k FROM s WHERE k > 5")
    app.query("counts", "RSTREAM(SELECT count(*) AS n FROM s [RANGE 1 SECOND SLIDE 1 SECOND])")
    with app.start(spark) as run:
        time.sleep(3.5)
        advice = run.predict(["mbd"], seconds=4.0)
        with pytest.raises(hg.ApplicationError, match="no policy 'nix'"):
            run.predict(["nix"])
        report = run.report()
    assert [str(one.alternative) for one in advice.forecasts[:2]] == ["fifo", "mbd"]
    assert not advice.failed
    share = report.queries["q"].outputs / report.queries["q"].inputs
    latency = next(iter(advice.forecasts[0].classes.values())).mean
    assert latency is not None
    assert 0.001 < latency < 1.0
    assert 0.0 < share <= 1.0
    assert advice.recommendation.split()[0] in ("keep", "change")
