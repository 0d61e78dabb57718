"""wehr: hr weighted by the priority of the class."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.policies.hr import HighestRate
from headgate.policies.papers import AL_MOAKAR
from headgate.policies.worth import Worth


class WeightedHighestRate(HighestRate):
    """Highest rate times class priority first. There is one ranking for all classes, so a class may starve."""

    name = "wehr"
    paper = AL_MOAKAR

    def worths(self) -> Sequence[Worth | None]:
        weights = [self.view.priorities[unit.class_name] for unit in self.view.units]
        return [
            None if worth is None else worth._replace(gain=worth.gain * weight)
            for worth, weight in zip(super().worths(), weights, strict=True)
        ]
