"""Quality of service as users state it: graphs of what they expect, and goals that say what matters more."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

MeasureName = Literal["latency", "memory", "throughput"]
Priority = Literal["must", "best-effort", "dont-care"]
Direction = Literal["minimize", "maximize"]

MEASURES: tuple[MeasureName, ...] = ("latency", "memory", "throughput")
PRIORITIES: tuple[Priority, ...] = ("must", "best-effort", "dont-care")  # most important first
# What is good of a measure: little latency and memory, much throughput.
NATURAL: dict[MeasureName, Direction] = {"latency": "minimize", "memory": "minimize", "throughput": "maximize"}


@dataclass(frozen=True)
class QosGraph:
    """What is expected of a measure over time: intervals of two points, (seconds since the start, expected value).

    It is linear within an interval and in the gap between two, and constant before the first and after the last
    (Kendai, section 4.1.1).
    """

    points: tuple[tuple[float, float], ...]

    def expected(self, at: float) -> float:
        """The value expected at a time."""
        times = [time for time, _ in self.points]
        after = bisect_left(times, at)
        if after == 0:
            return self.points[0][1]
        if after == len(times):
            return self.points[-1][1]
        (start, low), (end, high) = self.points[after - 1], self.points[after]
        return low + (high - low) * (at - start) / (end - start)

    def interval(self, at: float) -> int:
        """The number of the interval that a time belongs to; a gap belongs to the interval after it."""
        return min(bisect_left([end for end, _ in self.points[1::2]], at), len(self.points) // 2 - 1)

    def length(self, interval: int) -> float:
        """How many seconds an interval lasts."""
        return self.points[2 * interval + 1][0] - self.points[2 * interval][0]


@dataclass(frozen=True)
class QosMeasure:
    """What a query promises of one measure, and how much it matters that the promise is kept."""

    name: MeasureName
    priority: Priority
    graph: QosGraph

    def violated(self, observed: float | None, at: float, share: float = 1.0) -> bool:
        """Is an observed value worse than what is expected at a time? An unknown one is not.

        With a `share` below 1 it must be better than expected by so much.
        """
        if observed is None:
            return False
        expected = self.graph.expected(at)
        return observed > expected * share if NATURAL[self.name] == "minimize" else observed < expected / share

    def as_data(self) -> dict[str, Any]:
        """As the application file has it."""
        return {"priority": self.priority, "points": [list(point) for point in self.graph.points]}


@dataclass(frozen=True)
class Goal:
    """A measure to make small or large, and its weight among other goals (Sutherland et al., section 5.1)."""

    statistic: MeasureName
    goal: Direction
    weight: float

    def as_data(self) -> dict[str, Any]:
        """As the application file has it."""
        return {"statistic": self.statistic, "goal": self.goal, "weight": self.weight}


def read_goals(given: Sequence[Any]) -> tuple[Goal, ...]:
    """Goals as the application file writes them. ValueError says what is wrong with them.

    >>> read_goals([{"statistic": "memory", "weight": 0.75}, {"statistic": "throughput", "weight": 0.25}])[0].goal
    'minimize'
    """
    goals = tuple(one if isinstance(one, Goal) else _read_goal(one) for one in given)
    if not goals:
        raise ValueError("there are no goals")
    names = [one.statistic for one in goals]
    if len(set(names)) < len(names):
        raise ValueError(f"{max(names, key=names.count)} has two goals")
    total = sum(one.weight for one in goals)
    if abs(total - 1.0) > 0.02:  # three times 0.33 will do
        raise ValueError(f"the weights of the goals add up to {total:g}; they must add up to 1")
    return tuple(Goal(one.statistic, one.goal, one.weight / total) for one in goals)


def _read_goal(given: Any) -> Goal:
    if not isinstance(given, dict) or not {"statistic", "weight"} <= given.keys() <= {"statistic", "goal", "weight"}:
        raise ValueError(f"{given!r} is not a goal; write {{statistic: latency, goal: minimize, weight: 0.5}}")
    statistic, weight = given["statistic"], given["weight"]
    if statistic not in MEASURES:
        raise ValueError(f"{statistic!r} is not a statistic; use {', '.join(MEASURES)}")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight <= 1:
        raise ValueError(f"the weight of {statistic} is {weight!r}; it must be above 0 and at most 1")
    goal = given.get("goal", NATURAL[statistic])
    if goal not in ("minimize", "maximize"):
        raise ValueError(f"{goal!r} is not a goal; use minimize or maximize")
    return Goal(statistic, goal, float(weight))
