"""`headgate bench simulator`: the same model gives the same answer, and faster."""

import sys

import pytest

from headgate_lab.bench import simulator


def test_quick_run_reports_speed_and_agreeing_responses():
    report = simulator.run(quick=True)
    assert report["speedup_over_simpy"] > 0
    assert report["headgate"]["tuples_per_second"] > 0
    assert set(report["versions"]) == {"python", "numpy", "simpy"}
    for side in ("headgate", "simpy"):
        assert 150 < report[side]["mean_response"] < 700  # with so few tuples, only the order of magnitude is right
    policies = report["policies"]
    assert list(policies) == ["rr", "rb", "prb", "chain"]
    assert all(figures["tuples_per_second"] > 0 for figures in policies.values())
    for name, figures in report["policies_event_loop"].items():
        assert figures["mean_response"] == pytest.approx(policies[name]["mean_response"], rel=1e-12)
    # On the same arrivals, cheapest first beats oldest first, and preemption improves it further.
    assert policies["prb"]["mean_response"] < policies["rb"]["mean_response"] < report["headgate"]["mean_response"]


def test_without_simpy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "simpy", None)
    with pytest.raises(ModuleNotFoundError, match=r"headgate-lab"):
        simulator.run(quick=True)
