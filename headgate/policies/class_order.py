"""Classes in the order in which policies visit them: the most important first."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.scheduling.policy import View
from headgate.scheduling.units import Unit


class ClassOrder:
    """The classes that have units, by decreasing priority, and their units. Equal priorities keep the plan's order."""

    def __init__(self, view: View) -> None:
        known = view.priorities
        members: dict[str, list[Unit]] = {name: [] for name in view.plan.classes}
        for unit in view.units:
            members[unit.class_name].append(unit)
        self.names: Sequence[str] = sorted((name for name in members if members[name]), key=lambda name: -known[name])
        self.priorities: Sequence[int] = [known[name] for name in self.names]
        self.units: Sequence[Sequence[Unit]] = [members[name] for name in self.names]
        places = {name: place for place, name in enumerate(self.names)}
        self.place_of: Sequence[int] = [
            places[unit.class_name] for unit in view.units
        ]  # index of a unit -> place of its class
