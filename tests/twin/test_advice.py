"""Forecasts by the helper process, and what to make of them."""

import pickle
import sys
from dataclasses import replace

import pytest

from headgate.display.advice import print_advice
from headgate.errors import ApplicationError
from headgate.plan.model import PolicySettings
from headgate.scheduling.policy import PolicyError
from headgate.twin.advice import advise
from headgate.twin.helper import Failed, Task, answer
from headgate.twin.prediction import Alternative, ClassForecast, Forecast, forecast, ranked, recommendation
from headgate.twin.process import Helper, HelperError
from tests.applications import application
from tests.twin.measured import snapshot_of

RR, MBD = Alternative(PolicySettings("rr")), Alternative(PolicySettings("mbd"))


def made(alternative, latency, score=None):
    return Forecast(alternative, {"vital": ClassForecast(latency, latency)}, latency, 0.0, 0.0, 10.0, score)


def snapshot():
    app = application({"s": "k INT"}, {"q": "SELECT k FROM s"})
    return snapshot_of(app.checked().plan, {"s": 100.0})


def test_the_helper_answers_as_this_process_would_and_a_policy_fails_alone():
    wrong = Alternative(PolicySettings("rr", {"no_such": 1}))
    first, failed, last = Helper(pickle.dumps(snapshot()), [RR, wrong, MBD], 2.0)
    assert first == forecast(snapshot(), RR, 2.0)
    assert isinstance(failed, Failed)
    assert "no_such" in failed.reason
    assert last == forecast(snapshot(), MBD, 2.0)


def test_a_helper_that_dies_is_an_error_and_no_hang(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(HelperError):
        list(Helper(pickle.dumps(snapshot()), [RR], 1.0))


def test_a_broken_snapshot_fails_every_alternative():
    assert isinstance(answer(Task(b"nonsense", [RR], 1.0), RR), Failed)


def test_the_best_keeps_promises_first_and_is_quick_second():
    assert ranked([made(RR, 0.1, 0.5), made(MBD, 0.2, 0.9)])[0].alternative == MBD
    assert ranked([made(RR, 0.1, 0.9), made(MBD, 0.2, 0.901)])[0].alternative == RR
    assert ranked([made(RR, None), made(MBD, 0.2)])[0].alternative == MBD


def test_recommendations_are_sentences():
    slow, quick = made(RR, 0.1, 0.5), made(MBD, 0.02, 1.0)
    assert recommendation([slow, quick], RR) == (
        "change from rr to mbd: promises would be kept to 100% instead of 50%, "
        "class vital would wait 20 ms instead of 100"
    )
    assert recommendation([slow, quick], MBD) == "keep mbd: no alternative would do better"
    near = made(MBD, 0.098, 0.5)
    assert recommendation([slow, near], RR).startswith("keep rr: mbd would do hardly better")
    assert str(Alternative(PolicySettings("rr", {"unit": "query"}), 0.02)) == "rr:unit=query, linger 20 ms"


def test_advice_tries_the_present_policy_the_others_and_lingers_and_can_be_shown(capsys):
    steps = []
    found = advise(pickle.dumps(snapshot()), [PolicySettings("fifo")], seconds=1.0, done=lambda *at: steps.append(at))
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    data = found.to_dict()
    assert [(one["policy"], one["linger_s"]) for one in data["forecasts"][:2]] == [("rr", None), ("fifo", None)]
    assert [one["linger_s"] for one in data["forecasts"][2:]] == [0.0, 0.02]
    from rich.console import Console

    print_advice(found, Console(width=100))
    shown = capsys.readouterr().out
    assert "fifo" in shown
    assert data["recommendation"] in " ".join(shown.split())


def test_a_wrong_policy_is_refused_at_once():
    with pytest.raises(PolicyError, match="no policy 'nix'"):
        advise(pickle.dumps(snapshot()), [PolicySettings("nix")], seconds=1.0)


def test_nothing_is_forecast_of_a_run_that_is_over():
    found = snapshot()
    streams = {name: replace(one, open=False) for name, one in found.streams.items()}
    with pytest.raises(ApplicationError, match="all of them have ended"):
        advise(pickle.dumps(replace(found, streams=streams)), [])
