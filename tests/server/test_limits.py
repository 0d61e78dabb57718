"""What one server takes: sizes, rates, names under which it is addressed, pages of other sites."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from headgate.server.audit import Audit
from headgate.server.database import open_database
from headgate.server.http.app import make_app
from headgate.server.limits import Limits, RequestRate
from headgate.server.tokens import Tokens

LOCAL = frozenset({"localhost", "127.0.0.1", "testserver"})


@contextmanager
def client_of(service, folder: Path, limits: Limits) -> Iterator[TestClient]:
    with open_database(folder) as database:
        app = make_app(service, Tokens(database), Audit(database), limits, tokens_required=False, hosts=LOCAL)
        with TestClient(app) as client:
            yield client


@pytest.mark.spark
def test_a_large_request_is_refused_with_and_without_its_length(server, tmp_path: Path) -> None:
    with client_of(server.service, tmp_path, Limits(request_bytes=1_000)) as client:
        assert client.post("/v1/streams/s/rows", content=b"x" * 1_001).status_code == 413
        parts = (b"x" * 300 for _ in range(5))
        assert client.post("/v1/streams/s/rows", content=parts).status_code == 413


@pytest.mark.spark
def test_a_caller_who_asks_too_often_has_to_wait(server, tmp_path: Path) -> None:
    with client_of(server.service, tmp_path, Limits(requests_per_second=2)) as client:
        answers = [client.get("/v1/policy") for _ in range(10)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert int(refused[0].headers["Retry-After"]) >= 1
        assert client.get("/v1/health").status_code == 200


@pytest.mark.spark
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 404),
        ({"Origin": "http://testserver"}, 404),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost:8600"}, 404),
    ],
)
def test_pages_of_other_sites_cannot_change_anything(
    server, tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    with client_of(server.service, tmp_path, Limits()) as client:
        answer = client.delete("/v1/streams/nothing", headers=headers)
        assert answer.status_code == status
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.spark
def test_no_more_than_the_operator_allows(server, tmp_path: Path) -> None:
    there = len(server.service.sections("classes"))
    with client_of(server.service, tmp_path, Limits()) as client:
        body = {"name": "one_too_many", "priority": 1}
        server.service.limits = Limits(most_of_each=there)
        try:
            answer = client.post("/v1/classes", json=body)
        finally:
            server.service.limits = Limits()
        assert answer.status_code == 409
        assert "--most" in answer.json()["remedy"]


@given(st.floats(1, 100), st.lists(st.floats(0, 2), min_size=1, max_size=60))
def test_nobody_gets_more_than_the_rate_and_a_burst(per_second: float, pauses: list[float]) -> None:
    now = 0.0
    rate = RequestRate(per_second, lambda: now)
    taken = 0
    for pause in pauses:
        now += pause
        taken += rate.wait_s("ann") == 0.0
    assert taken <= 2 * per_second + now * per_second + 1e-6
    assert rate.wait_s("bob") == 0.0  # another caller is not held up


@given(st.floats(1, 100))
def test_who_waits_as_long_as_asked_is_taken(per_second: float) -> None:
    now = 0.0
    rate = RequestRate(per_second, lambda: now)
    while not (wait_s := rate.wait_s("ann")):
        pass
    now += wait_s * 1.001
    assert rate.wait_s("ann") == 0.0
