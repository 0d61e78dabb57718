"""A checkpoint fits the application that it was taken of, also where that has changed in what does not matter."""

from __future__ import annotations

import json
from typing import Any

import pytest

from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.application.fingerprint import fingerprint
from headgate.application.load import Draft
from headgate.errors import ApplicationError
from headgate.plan.added_queries import merge_plans, plan_of_added
from headgate.plan.changed_settings import policy_data, settings_of
from headgate.plan.model import Plan
from headgate.plan.weighing import weighed
from headgate.runtime.spark.checkpoint.resumed import joined, resume
from headgate.runtime.spark.checkpoint.store import Saved

FEEDER = {"kind": "feeder", "rate": 10}
STREAM = {"schema": "k INT, v INT, t TIMESTAMP", "time": "t", "source": FEEDER}
QUERIES: dict[str, dict[str, Any]] = {
    "sums": {"cql": "SELECT k, sum(v) AS total FROM s [RANGE 5 SECONDS] GROUP BY k", "class": "low"},
    "large": {"cql": "SELECT k, total FROM sums WHERE total > 9", "class": "high"},
}
CLASSES = {"low": {"priority": 1}, "high": {"priority": 9}}


def application(**changes: Any) -> CheckedApplication:
    sections = {"streams": {"s": STREAM}, "classes": CLASSES, "queries": QUERIES}
    return Draft({**sections, **changes}).checked()


def saved(
    app: CheckedApplication, plan: Plan | None = None, groups: Any = None, policy: PolicySettings | None = None
) -> Saved:
    """What a checkpoint holds of a run of an application, whose plan is now another."""
    running = weighed(app.plan) if plan is None else plan
    state = {
        "application": fingerprint(running, app.seed),
        "settings": [settings_of(weighed(app.plan)), settings_of(running)],
        "policy": [policy_data(app.policy), policy_data(policy or app.policy)],
        "groups": groups or [[list(app.plan.queries), []]],
        "running": list(running.queries),
    }
    return Saved(7, "2026-01-01 00:00:00", "0", json.loads(json.dumps(state)))


def with_query(name: str, **changes: Any) -> dict[str, Any]:
    return {**QUERIES, name: {**QUERIES.get(name, {}), **changes}}


def test_the_same_application_goes_on() -> None:
    found = resume(application(), saved(application()))
    assert list(found.plan.queries) == ["sums", "large"]
    assert found.fresh == ()
    assert found.plan.operators == weighed(application().plan).operators


@pytest.mark.parametrize(
    "changes",
    [
        {"slots": 7},
        {"policy": "fifo"},
        {"classes": {"low": {"priority": 3, "linger": "1 s"}, "high": {"priority": 4}}},
        {"queries": with_query("large", **{"class": "low", "linger": "5 ms"})},
        {"queries": with_query("sums", cql="SELECT k,  sum(v) AS total  FROM s [RANGE 5 SECONDS] GROUP BY k")},
        {"queries": with_query("large", sink={"kind": "memory", "limit": 5})},
    ],
)
def test_what_does_not_touch_state_may_change(changes: dict[str, Any]) -> None:
    assert resume(application(**changes), saved(application())).fresh == ()


@pytest.mark.parametrize(
    ("changes", "place", "problem"),
    [
        ({"seed": 5}, "seed", "it was 0, and is 5 now"),
        ({"streams": {"s": {**STREAM, "slack": "1 s"}}}, "streams.s", "its slack was 0.0, and is 1.0 now"),
        (
            {"streams": {"s": {**STREAM, "schema": "k INT, v BIGINT, t TIMESTAMP"}}},
            "streams.s",
            "its schema was 'k INT, v INT, t TIMESTAMP', and is 'k INT, v BIGINT, t TIMESTAMP' now",
        ),
        (
            {"streams": {"s": {**STREAM, "source": {"kind": "feeder", "rate": 11}}}},
            "streams.s",
            "its source is defined otherwise now",
        ),
        (
            {"queries": with_query("sums", cql="SELECT k, sum(v) AS total FROM s [RANGE 6 SECONDS] GROUP BY k")},
            "queries.sums",
            "RANGE 5 SECONDS.*RANGE 6 SECONDS",
        ),
        (
            {"queries": with_query("large", sink={"kind": "none"})},
            "queries.large",
            "its sink was kind memory, and is kind none now",
        ),
    ],
)
def test_a_change_of_what_has_state_is_refused(changes: dict[str, Any], place: str, problem: str) -> None:
    with pytest.raises(ApplicationError, match=problem) as refused:
        resume(application(**changes), saved(application()))
    assert refused.value.place == place
    assert "checkpoint 7 of 2026-01-01" in refused.value.problem
    assert "--fresh" in refused.value.remedy


def test_a_new_query_begins_anew() -> None:
    more = {**QUERIES, "all": {"cql": "SELECT k FROM s", "class": "low"}}
    found = resume(application(queries=more), saved(application()))
    assert list(found.plan.queries) == ["sums", "large"]
    assert found.fresh == ("all",)


def test_the_state_of_a_query_that_is_gone_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    found = resume(application(queries={"sums": QUERIES["sums"]}), saved(application()))
    assert list(found.plan.queries) == ["sums"]
    assert "large" in caplog.text


def test_a_query_that_had_ended_begins_anew(caplog: pytest.LogCaptureFixture) -> None:
    app = application()
    found = resume(app, saved(app, weighed(app.plan).without(["large"])))
    assert list(found.plan.queries) == ["sums"]
    assert found.fresh == ("large",)
    assert "query large had ended" in caplog.text


def test_queries_that_joined_later_get_the_operators_that_they_had() -> None:
    """A query that reads a running one has copies of its operators."""
    app = application()
    first = weighed(app.plan.without(["large"]))
    running = merge_plans(first, weighed(plan_of_added(app.plan, ["sums"])))
    assert any(name.startswith("large/sums/") for name in running.operators)
    groups = [[["sums"], []], [["large"], ["sums"]]]
    assert joined(app.plan, groups, running.queries).operators == running.operators
    assert resume(app, saved(app, running, groups)).plan.operators == running.operators


def changed(plan: Plan) -> Plan:
    """What an administrator may do."""
    plan = plan.with_priority("low", 5).with_class("large", "low").with_linger("sums", 0.5)
    return plan.with_policy("sums", PolicySettings("fifo", {}))


def test_what_was_changed_while_it_ran_stays() -> None:
    app = application()
    found = resume(app, saved(app, changed(weighed(app.plan)), policy=PolicySettings("chain", {})))
    assert settings_of(found.plan) == settings_of(changed(weighed(app.plan)))
    assert found.policy == PolicySettings("chain", {})


def test_what_the_file_says_otherwise_now_counts() -> None:
    app = application()
    before = saved(app, changed(weighed(app.plan)), policy=PolicySettings("chain", {}))
    now = application(classes={"low": {"priority": 2}, "high": {"priority": 9}}, policy="rr")
    found = resume(now, before)
    assert found.plan.priorities["low"] == 2
    assert found.plan.queries["large"].class_name == "low"
    assert found.policy.name == "rr"


def test_no_secret_is_written() -> None:
    told = {**FEEDER, "values": {"k": "uniform 0 9"}}
    assert "uniform" not in json.dumps(fingerprint(application(streams={"s": {**STREAM, "source": told}}).plan, 0))


def test_it_is_the_same_in_every_process() -> None:
    """Hashes of texts differ between processes of Python; fingerprints must not."""
    import subprocess
    import sys

    program = (
        "from tests.runtime.spark.checkpoint.test_resumed import application, fingerprint; "
        "import json; print(json.dumps(fingerprint(application().plan, 0)))"
    )
    said = {subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in range(2)}
    assert len(said) == 1
