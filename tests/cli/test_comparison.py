"""What the demo says about two policies, and how it switches between them."""

from typing import Any

import pytest

from headgate.application.checked import PolicySettings
from headgate.application.load import load_application
from headgate.cli.comparison import WARM_S, Comparison, summary_lines
from headgate.cli.demo import APP
from headgate.policies.registry import make_policy


class FakeRuntime:
    """Records which policies it was given, and when."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.used: list[tuple[float, str, str]] = []
        self.began: list[float] = []

    def now(self) -> float:
        return self.seconds

    def restart_comparison(self) -> None:
        self.began.append(self.seconds)

    def set_policy(self, policy: PolicySettings, reason: str) -> None:
        make_policy(policy.name, policy.parameters)
        self.used.append((self.seconds, policy.name, reason))


def policies_used(keys: dict[float, str], turn_s: float | None, policy: str = "mbd") -> list[tuple[float, str, str]]:
    return watched_runtime(keys, turn_s, policy).used


def watched_runtime(keys: dict[float, str], turn_s: float | None, policy: str = "mbd") -> FakeRuntime:
    runtime = FakeRuntime()
    app = load_application(APP, [f"policy={policy}"])
    comparison = Comparison(app, lambda: keys.get(runtime.seconds, ""), turn_s)
    for at in range(40):
        runtime.seconds = float(at)
        comparison.watch(runtime)  # type: ignore[arg-type]
    assert runtime.began in ([], [comparison.left_out_s])
    return runtime


def test_a_key_switches_and_switches_back() -> None:
    reason = "the key p was pressed"
    assert policies_used({3.0: "x", 5.0: "xP", 9.0: "p"}, None) == [(5.0, "rr", reason), (9.0, "mbd", reason)]


def test_the_policies_take_turns() -> None:
    assert [(at, name) for at, name, _ in policies_used({}, 9.0)] == [(18.0, "rr"), (27.0, "mbd"), (36.0, "rr")]
    assert [(at, name) for at, name, _ in policies_used({12.0: "p"}, 9.0)] == [
        (12.0, "rr"),
        (21.0, "mbd"),
        (30.0, "rr"),
        (39.0, "mbd"),
    ]


def test_the_comparison_begins_after_a_turn_to_warm_up() -> None:
    assert watched_runtime({}, 9.0).began == [9.0]
    assert watched_runtime({2.0: "p"}, 9.0).began == [9.0]
    assert watched_runtime({}, None).began == [WARM_S]
    assert watched_runtime({}, 60.0).began == []


def test_round_robin_is_compared_with_mbd() -> None:
    assert [name for _, name, _ in policies_used({}, 13.0, policy="rr")] == ["mbd", "rr"]


def test_the_demo_runs_mbd() -> None:
    app = load_application(APP)
    assert app.policy.name == "mbd"
    assert set(app.plan.classes) == {"critical", "normal", "archive"}


def report(**means: tuple[float | None, ...]) -> dict[str, Any]:
    policies = ("mbd", "rr")[: len(next(iter(means.values())))]
    return {
        "classes": {
            name: {"priority": 9 - at, "latency": {"mean": one[0]}} for at, (name, one) in enumerate(means.items())
        },
        "policies": {
            policy: {"classes": {name: {"latency": {"mean": one[at]}} for name, one in means.items()}}
            for at, policy in enumerate(policies)
        },
    }


def test_the_last_lines_say_what_happened_to_each_class() -> None:
    assert summary_lines(report(critical=(0.02, 0.08), normal=(0.05, 0.052), archive=(0.3, 0.1))) == [
        "What the policy did to each class, mean latencies under the same load:",
        "  critical waits 20 ms under mbd and 80 ms under rr: 4.0 times longer",
        "  normal waits 50 ms under mbd and 52 ms under rr: about the same",
        "  archive waits 300 ms under mbd and 100 ms under rr: 3.0 times shorter",
        "mbd answers critical sooner than rr does and lets archive wait longer.",
    ]


@pytest.mark.parametrize(
    ("means", "last"),
    [
        ({"a": (1.0, 1.01)}, "Which of the two runs matters to no class: there is little to decide"),
        ({"a": (1.0, 2.0), "b": (1.0, 2.0), "c": (1.0, 2.0)}, "mbd answers a, b and c sooner than rr does."),
        ({"a": (2.0, 1.0)}, "mbd lets a wait longer."),
        ({"a": (None, 1.0)}, "Which of the two runs matters to no class"),
        ({"a": (0.5,), "b": (None,)}, "Mean latency under mbd: a 500 ms, b no results."),
    ],
)
def test_the_last_line_fits_every_outcome(means: dict[str, tuple[float | None, ...]], last: str) -> None:
    assert summary_lines(report(**means))[-1].startswith(last)


def test_the_summary_says_what_was_left_out() -> None:
    without = ", without the first 15 s, in which Spark warms up:"
    assert summary_lines(report(critical=(0.02, 0.08)), 15.2)[0].endswith(f"under the same load{without}")
    assert summary_lines(report(critical=(0.02,)), 15.2) == [f"Mean latency under mbd{without} critical 20 ms."]


def test_an_empty_report_has_no_summary() -> None:
    assert summary_lines({}) == []
