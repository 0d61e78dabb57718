"""`headgate policies`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from headgate.cli.main import app
from headgate.cli.policies import ADVICE, CHOICES
from headgate.policies.registry import POLICIES, make_policy

runner = CliRunner()


def test_json() -> None:
    described = {one["name"]: one for one in json.loads(runner.invoke(app, ["policies", "--json"]).stdout)}
    assert set(described) == set(POLICIES)
    assert described["rr"]["parameters"]["quantum"] == 0.1
    for name, one in described.items():
        assert set(one) >= {"unit", "preemption", "needs", "paper", "parameters", "summary"}
        assert one["summary"]
        assert make_policy(name).preemption == one["preemption"]
        assert one["paper"]
    assert (described["rr"]["preemption"], described["fifo"]["preemption"]) == ("quantum", "none")
    assert {name: one["unit"] for name, one in described.items() if one["unit"] != "operator"} == {
        "fifo": "path",
        "pcs": "path",
        "segment": "segment",
        "simplified-segment": "segment",
        "threshold": "path",
        **dict.fromkeys(("adaptive", "master"), "varies"),
        **dict.fromkeys(("mbd", "ambd", "mrr", "mprr", "ml", "pct", "pct-s"), "query"),
    }
    assert described["chain"]["needs"] == ["fixed_s", "cost_s", "selectivity", "tuple_bytes"]
    assert described["pcs"]["parameters"] == {"starvation": None, "period": 20}


def test_the_output_begins_with_advice_on_which_to_choose() -> None:
    lines = runner.invoke(app, ["policies"]).stdout.splitlines()
    assert lines[:3] == list(ADVICE)
    assert lines[4].split("  ")[0] == "what you want"
    assert {policy for _, policy, _ in CHOICES} <= set(POLICIES)
    assert all(len(line) < 80 for line in ADVICE), "one line each in a narrow terminal"


def test_the_page_begins_with_the_same_advice() -> None:
    page = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")
    beginning = page[: page.index("## The protocol")]
    assert all(f"* {line}\n" in beginning for line in ADVICE)
    assert all(f"| {want} | `{policy}` | {how} |\n" in beginning for want, policy, how in CHOICES)


def test_table() -> None:
    shown = runner.invoke(app, ["policies"]).stdout
    assert all(name in shown for name in POLICIES)
    assert "quantum: 0.1" in shown
