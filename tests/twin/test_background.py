"""Forecasts for the optimizer while a run goes on."""

import pickle
import time

from headgate.twin import background
from headgate.twin.background import BackgroundForecasts
from tests.applications import application
from tests.twin.measured import snapshot_of

FLAT = [[0, 1.0], [60, 1.0]]


def taken():
    app = application({"s": "k INT", "t": "k INT"}, {})
    app.query("q", "SELECT k FROM s", qos={"latency": {"priority": "must", "points": FLAT}})
    app.query("r", "SELECT k FROM t", qos={"latency": {"priority": "must", "points": FLAT}})
    return pickle.dumps(snapshot_of(app.checked().plan, {"s": 100.0, "t": 50.0}))


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def test_nothing_is_known_at_first_and_then_every_candidate_for_every_query():
    forecasts = BackgroundForecasts(taken, ["rr", "pcs"], lambda: ["q", "r"], time.monotonic, first_s=0.0)
    assert forecasts("q", None) == {}
    until(lambda: forecasts("q", 100.0))
    for query in ("q", "r"):
        found = forecasts(query, None)
        assert set(found) == {"rr", "pcs"}
        assert all(0.0 < values["latency"] < 1.0 for values in found.values())
    forecasts.close()


def test_the_helper_rests_between_two_forecasts_and_ends_with_the_run(monkeypatch):
    snapshots = []

    def take():
        snapshots.append(time.monotonic())
        return taken()

    forecasts = BackgroundForecasts(take, ["rr"], lambda: ["q"], time.monotonic, first_s=0.0)
    forecasts("q", None)
    until(lambda: forecasts("q", None))
    for _ in range(20):
        forecasts("q", None)
    assert len(snapshots) == 1
    monkeypatch.setattr(background, "REST", 0)
    slow = BackgroundForecasts(take, ["rr"] * 50, lambda: ["q"], time.monotonic, first_s=0.0)
    slow("q", None)
    began = time.monotonic()
    slow.close()
    assert time.monotonic() - began < 5.0
    assert slow("q", None) == {}
    forecasts.close()


def test_a_helper_that_fails_leaves_the_optimizer_without_forecasts(caplog):
    forecasts = BackgroundForecasts(lambda: b"no snapshot", ["rr"], lambda: ["q"], time.monotonic, first_s=0.0)
    forecasts("q", None)
    until(lambda: "cannot be forecast" in caplog.text)
    assert forecasts("q", None) == {}
    forecasts.close()
