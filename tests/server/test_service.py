"""The verbs of a server, where they must refuse, and what they leave behind."""

from pathlib import Path

import httpx
import pytest

import headgate as hg
from headgate.server.service import Taken
from tests.serving import serving

pytestmark = pytest.mark.spark

CLICKS = {"schema": "user STRING, price DOUBLE", "source": {"kind": "push"}}
LARGE = {"cql": "SELECT user, price FROM clicks WHERE price > 10"}


def operators_application() -> hg.Application:
    app = hg.Application(policy="rr")
    app.stream("clicks", **CLICKS)
    app.add_class("gold", 3)
    app.query("large", LARGE["cql"], in_class="gold")
    return app


def test_what_is_the_operators_is_changed_and_stopped_and_not_removed(spark, tmp_path: Path) -> None:
    with serving(tmp_path, spark, operators_application()) as server:
        service = server.service
        for key, name in (("streams", "clicks"), ("classes", "gold"), ("queries", "large")):
            with pytest.raises(Taken, match="operator"):
                service.remove(key, name)
        service.change_class("gold", {"priority": 7})
        service.stop_query("large")
    with serving(tmp_path, spark, operators_application()) as server:
        assert server.service.section("classes", "gold")["priority"] == 7
        assert server.service.overview()["classes"]["gold"]["priority"] == 7
        assert server.service.state("large") == ("stopped", None)


def test_a_query_that_is_wrong_by_now_is_listed_and_starts_once_it_can(spark, tmp_path: Path) -> None:
    with serving(tmp_path, spark, operators_application()) as server:
        server.service.add("queries", "small", {"cql": "SELECT price FROM clicks WHERE price < 1", "class": "gold"})
    other = hg.Application(policy="rr")
    other.add_class("gold", 3)
    with serving(tmp_path, spark, other) as server:
        service = server.service
        state, error = service.state("small")
        assert state == "failed"
        assert "streams" in error
        assert service.overview()["queries"]["small"]["state"] == "failed"
        with pytest.raises(Taken, match="wrong by now"):
            service.change_query("small", {"tolerance": 0.1})
        with pytest.raises(hg.ApplicationError):
            service.start_query("small")
        service.add("streams", "clicks", CLICKS)
        service.start_query("small")
        assert service.state("small") == ("running", None)
        service.change_query("small", {"tolerance": 0.1})
        service.remove("queries", "small")


def test_a_change_that_is_refused_changes_nothing(server) -> None:
    service = server.service
    service.add("streams", "clicks", CLICKS)
    service.add("classes", "gold", {"priority": 3})
    service.add("queries", "large", LARGE | {"class": "gold"})
    try:
        before = service.section("queries", "large")
        for body, status in (
            ({"class": None}, 422),
            ({"class": "nobody"}, 422),
            ({"tolerance": 0.1, "policy": "nobody"}, 422),
            ({"tolerance": 2}, 422),
            ({"qos": {"latency": {"priority": "must", "points": [[0, 1]]}}}, 422),
        ):
            answer = httpx.patch(f"{server.url}/v1/queries/large", json=body, trust_env=False)
            assert answer.status_code == status, answer.text
            assert answer.json()["place"]
        assert service.section("queries", "large") == before
        assert service.query_overview("large")["tolerance"] is None
        with pytest.raises(Taken, match="large"):
            service.remove("streams", "clicks")
        with pytest.raises(Taken, match="already"):
            service.add("streams", "clicks", CLICKS)
    finally:
        service.remove("queries", "large")
        service.remove("streams", "clicks")
        service.remove("classes", "gold")
