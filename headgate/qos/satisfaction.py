"""How well promises are kept, as one number: 1 if all are, less the more they are missed and the more they matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.plan.quality import NATURAL, MeasureName, QosMeasure
from headgate.qos.decision_table import CLASS_WEIGHT

Values = Mapping[MeasureName, float | None]


def satisfaction(name: MeasureName, value: float, expected: float) -> float:
    """How well one measure is satisfied: 1 as expected or better, 0.5 if it is half as good."""
    good, bad = (expected, value) if NATURAL[name] == "minimize" else (value, expected)
    if bad <= 0.0:
        return 1.0
    return min(1.0, max(0.0, good / bad))


def qos_score(measures: Sequence[QosMeasure], values: Values, expected: Mapping[MeasureName, float]) -> float:
    """The mean over the measures, weighted by their priorities. A value that is not known counts as kept."""
    total = sum(CLASS_WEIGHT[one.priority] for one in measures)
    kept = 0.0
    for one in measures:
        value = values.get(one.name)
        met = 1.0 if value is None else satisfaction(one.name, value, expected[one.name])
        kept += CLASS_WEIGHT[one.priority] * met
    return kept / total if total else 1.0


class ScoreKeeper:
    """The score of one query over a run, and what it got on average."""

    def __init__(self) -> None:
        self._scores = self._kept = 0.0
        self._periods = 0
        self._totals: dict[MeasureName, float] = {}
        self._known: dict[MeasureName, int] = {}  # in how many periods a measure was known

    def add(self, score: float, must_kept: bool, measured: Values) -> None:
        """A period has ended."""
        self._periods += 1
        self._scores += score
        self._kept += must_kept
        for name, value in measured.items():
            if value is not None:
                self._totals[name] = self._totals.get(name, 0.0) + value
                self._known[name] = self._known.get(name, 0) + 1

    def summary(self) -> dict[str, Any]:
        """For the report."""
        means = {name: total / self._known[name] for name, total in self._totals.items()}
        if not self._periods:
            return {"periods": 0, "score": None, "must_kept": None, "mean": means}
        return {
            "periods": self._periods,
            "score": self._scores / self._periods,
            "must_kept": self._kept / self._periods,
            "mean": means,
        }
