"""What a policy makes of an application, as plain data; the numbers are those of the papers' worked examples."""

from pathlib import Path
from typing import Any

import pytest

from headgate.application.explain_policy import explain_policy
from headgate.application.load import load_application
from headgate.policies.registry import POLICIES
from tests.application.apps import write_app

# path_segment.md T4: c = (1, 2, 4), sigma = (.5, .5, 1), size 1.
CHAIN = """\
streams:
  s: {schema: "v INT", source: {kind: feeder, rate: 1, rows: 1, bytes: 1}}
queries:
  q:
    operators:
      - {id: one, kind: select, input: s, where: "v > 0", cost: 1s, selectivity: 0.5, bytes: 1}
      - {id: two, kind: select, input: one, where: "v > 0", cost: 2s, selectivity: 0.5, bytes: 1}
      - {id: three, kind: select, input: two, where: "v > 0", cost: 4s, selectivity: 1, bytes: 1}
"""


def schedule_of(tmp_path: Path, policy: str, *changes: str, text: str = CHAIN) -> dict[str, Any]:
    return explain_policy(load_application(write_app(tmp_path, text), [f"policy={policy}", *changes]))


def priorities(schedule: dict[str, Any]) -> dict[str, float]:
    return {"+".join(one["operators"]).replace("q/", ""): one["priority"] for one in schedule["units"]}


def test_path_capacity(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "pcs")
    assert schedule["unit"] == "path"
    assert priorities(schedule) == {"one+two+three": pytest.approx(1 / 3)}


def test_segments_and_what_they_release(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "segment")
    assert priorities(schedule) == {"one": pytest.approx(0.5), "two+three": pytest.approx(0.25)}
    assert schedule["cuts"] == [
        {
            "path": "q#1",
            "query": "q",
            "operators": ["q/one", "q/two", "q/three"],
            "releases": [pytest.approx(0.5), pytest.approx(0.25), pytest.approx(0.25)],
            "known": [True, True, True],
        }
    ]


def test_progress_chart(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "chain")
    (chart,) = schedule["charts"]
    assert [point["after"] for point in chart["points"]] == [None, "q/one", "q/two", "q/three"]
    assert [point["seconds"] for point in chart["points"]] == pytest.approx([0, 1, 2, 3])
    assert [point["bytes"] for point in chart["points"]] == pytest.approx([1, 0.5, 0.25, 0])
    assert [piece["slope"] for piece in chart["pieces"]] == pytest.approx([0.5, 0.25])
    assert [piece["operators"] for piece in chart["pieces"]] == [["q/one"], ["q/two", "q/three"]]
    assert priorities(schedule) == pytest.approx({"one": 0.5, "two": 0.25, "three": 0.25})


def test_thresholds_and_modes(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "{name: threshold, memory: 100}")
    assert schedule["thresholds"] == {"memory": 100, "mean": 25, "saving_begins": 62.5, "saving_ends": 25}
    assert [(one["id"], one["mode"]) for one in schedule["units"]] == [
        ("q#1", "normal"),
        ("S1", "saving"),
        ("S2", "saving"),
    ]


def test_fixed_costs_weigh_on_a_single_tuple(tmp_path: Path) -> None:
    (unit,) = schedule_of(tmp_path, "pcs", "queries.q.operators.one.fixed_cost=3s")["units"]
    assert (unit["priority"], unit["alone"]) == (pytest.approx(1 / 3), pytest.approx(1 / 6))


def test_what_is_not_known_is_reported_as_such(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "chain", "queries.q.operators.two.cost=null")
    assert {one["known"] for one in schedule["units"]} == {False}
    assert {one["priority"] for one in schedule["units"]} == {None}
    assert schedule["charts"][0]["points"] is None


def test_turns(tmp_path: Path) -> None:
    schedule = schedule_of(tmp_path, "{name: wrr, quantum: 0.05, leaf: 3}")
    assert [one["turn"] for one in schedule["units"]] == pytest.approx([0.15, 0.05, 0.05])
    assert schedule["ranked"] is False


def test_portions(tmp_path: Path) -> None:
    text = CHAIN.replace("queries:", "classes: {high: {priority: 3}, low: {priority: 1}}\nqueries:").replace(
        "  q:\n", "  q:\n    class: high\n"
    )
    (unit,) = schedule_of(tmp_path, "mprr", text=text)["units"]
    assert (unit["portion"], "turn" in unit) == (0.75, False)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_policy_can_be_explained(tmp_path: Path, policy: str) -> None:
    application = load_application(write_app(tmp_path), [f"policy={policy}"])
    schedule = explain_policy(application)
    covered = {operator for unit in schedule["units"] for operator in unit["operators"]}
    assert covered == set(application.plan.operators)
