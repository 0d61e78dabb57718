"""`headgate bench decisions`: windows that wait for a boundary."""

from __future__ import annotations

import pytest

from headgate.scheduling.boundary_wait import BoundaryWait
from headgate_lab.bench import decisions


@pytest.mark.parametrize("together", decisions.WINDOWS.values(), ids=list(decisions.WINDOWS))
def test_windows_wait_for_their_boundary(together: int) -> None:
    assert decisions.windows_microseconds(10, together, 50) > 0
    windows = decisions.WindowedQueries(10, together)
    assert all(unit.may_wait and unit.waiting and not unit.ready for unit in windows.board.units)


def test_a_decision_looks_at_one_unit_no_matter_how_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    waits = BoundaryWait.waits

    def counted(boundary_wait: BoundaryWait, unit: object, now: float) -> bool:
        asked.append(unit.id)  # type: ignore[attr-defined]
        return waits(boundary_wait, unit, now)  # type: ignore[arg-type]

    windows = decisions.WindowedQueries(30, 1)
    monkeypatch.setattr(BoundaryWait, "waits", counted)
    windows.decide(windows.plan.edges[4])
    assert set(asked) == {"q4"}
