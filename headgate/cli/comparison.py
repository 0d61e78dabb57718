"""Compares two policies on the same load, one after the other, for `headgate demo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.application.checked import CheckedApplication, PolicySettings
from headgate.display.tables import time

if TYPE_CHECKING:
    from headgate.cli.keys import Keys
    from headgate.runtime.spark.engine import SparkRuntime

KEY = "p"
TURN_S = 15.0  # of `--compare` without --seconds: long enough for windows of ten seconds
WARM_S = 10.0  # of a run without turns: the time that Java takes to compile most of what each call runs
_SAME = 1.1  # latencies that differ by less than this factor differ by chance
ROUND_ROBIN = PolicySettings("rr", {"unit": "query"})
BY_CLASS = PolicySettings("mbd")


class Comparison:
    """Switches between the application's policy and another: at a key, and every `turn_s` seconds unless that is None.

    The first turn, or the first seconds where there are no turns, is a warm-up: the JVM is still compiling what calls
    run, and that time would be charged to the policy that happens to run.
    """

    def __init__(self, app: CheckedApplication, keys: Keys, turn_s: float | None) -> None:
        self._keys = keys
        self._turn_s = turn_s
        self._current = app.policy
        self._other = BY_CLASS if app.policy.name == ROUND_ROBIN.name else ROUND_ROBIN
        self._since = 0.0
        self._warm_s = WARM_S if turn_s is None else turn_s
        self.left_out_s = 0.0  # seconds at the beginning that the latencies by policy leave out

    @property
    def hint(self) -> str:
        """The keys that can be pressed now."""
        return f"{KEY}: go on with {self._other.name}   Ctrl-C: end, with a report"

    def watch(self, runtime: SparkRuntime) -> None:
        """Called now and then during the run."""
        pressed = KEY in self._keys().lower()
        now = runtime.now()
        if not self.left_out_s and now >= self._warm_s:
            runtime.restart_comparison()
            self.left_out_s = self._since = now  # the policy's own turn begins
        due = self._turn_s is not None and self.left_out_s and now - self._since >= self._turn_s
        if pressed or due:
            self._current, self._other, self._since = self._other, self._current, now
            runtime.set_policy(self._current, f"the key {KEY} was pressed" if pressed else "its turn in the comparison")


def summary_lines(report: Mapping[str, Any], left_out_s: float = 0.0) -> list[str]:
    """What the first two policies of a run did to each class, in plain words; for a single policy, the mean latencies.

    `left_out_s` is how many seconds at the beginning the measurements leave out.
    """
    classes, policies = report.get("classes", {}), report.get("policies", {})
    if not classes or not policies:
        return []
    priorities = {name: one["priority"] for name, one in classes.items()}
    order = sorted(priorities, key=lambda name: -priorities[name])
    names = list(policies)
    if len(names) < 2:
        waited = ", ".join(f"{name} {time(_mean(report, names[0], name), 'no results')}" for name in order)
        return [f"Mean latency under {names[0]}{_without(left_out_s)}: {waited}."]
    first, second = names[0], names[1]
    found = {name: tuple(_mean(report, policy, name) for policy in (first, second)) for name in order}
    lines = [f"What the policy did to each class, mean latencies under the same load{_without(left_out_s)}:"]
    lines += [f"  {name} waits {_words(first, second, *found[name])}" for name in order]
    return [*lines, *_sum_up(order, found, first, second)]


def _without(left_out_s: float) -> str:
    return f", without the first {left_out_s:.0f} s, in which Spark warms up" if left_out_s else ""


def _mean(report: Mapping[str, Any], policy: str, class_name: str) -> float | None:
    mean: float | None = report["policies"][policy]["classes"][class_name]["latency"]["mean"]
    return mean


def _words(first: str, second: str, one: float | None, other: float | None) -> str:
    both = f"{time(one, '(no results)')} under {first} and {time(other, '(no results)')} under {second}"
    if not one or not other:
        return both
    factor = max(one, other) / min(one, other)
    if factor < _SAME:
        return f"{both}: about the same"
    return f"{both}: {factor:.1f} times {'longer' if one < other else 'shorter'}"


def _sum_up(order: list[str], found: Mapping[str, tuple[float | None, ...]], first: str, second: str) -> list[str]:
    """Which classes gained and which paid, where that is clear."""
    gained = [name for name in order if _factor(found[name]) > _SAME]
    paid = [name for name in order if _factor(found[name]) < 1 / _SAME]
    if not gained and not paid:
        return ["Which of the two runs matters to no class: there is little to decide under this load."]
    lines = []
    if gained:
        lines.append(f"{first} answers {_and(gained)} sooner than {second} does")
    if paid:
        lines.append(f"{'and lets' if gained else f'{first} lets'} {_and(paid)} wait longer")
    return [" ".join(lines) + "."]


def _factor(means: tuple[float | None, ...]) -> float:
    one, other = means
    return other / one if one and other else 1.0


def _and(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
