"""pcs: first the path with the largest processing capacity."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.plan.paths import find_paths
from headgate.policies.path_worths import capacity_worth, steps_by_path
from headgate.policies.ranked import RankedPolicy
from headgate.policies.worth import Worth


class PathCapacity(RankedPolicy):
    """The operator path that takes the most tuples per second through to its end goes first.

    A tuple runs through its whole path, so tuples wait only at leaves (Jiang and Chakravarthy section 3.1, eq. 2.2).
    """

    name = "pcs"
    unit = "path"
    needs = ("fixed_s", "cost_s", "selectivity")
    paper = (
        "Jiang, Chakravarthy: Scheduling Strategies for Processing Continuous Queries Over Streams, "
        "UTA TR CSE-2003-30, section 3.1"
    )

    def worths(self) -> Sequence[Worth | None]:
        steps = steps_by_path(self.view, find_paths(self.view.plan))
        return [capacity_worth(unit, self.view, steps[unit.id]) for unit in self.view.units]
