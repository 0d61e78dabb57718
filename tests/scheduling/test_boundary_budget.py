"""However many boundaries pass at once, each call evaluates a bounded number, and all are evaluated in order."""

from __future__ import annotations

from headgate.scheduling.boundary_budget import FIRST, MOST_ROWS, BoundaryBudget

SECOND = 1_000_000
YEAR = 31_556_952 * SECOND


def ends(come: int, rows_a_boundary: float, until: float = 0) -> list[tuple[int, int]]:
    """The calls that it takes to come so far, each with the rows it gives: so many at each boundary `until` one."""
    budget, done, calls = BoundaryBudget({"q": SECOND}), 0, []
    while done < come:
        end = budget.end("q", done, come)
        rows = int(max(0, min(end, until or end) - done) // SECOND * rows_a_boundary)
        budget.record("q", done, end, rows)
        calls.append((end, rows))
        done = end
    return calls


def test_years_without_rows_take_a_few_calls() -> None:
    assert len(ends(2025 * YEAR, 0)) < 35


def test_rows_at_each_boundary_are_bounded_in_each_call() -> None:
    calls = ends(YEAR // 100, 50)
    assert calls[-1][0] == YEAR // 100
    assert calls[0][1] == FIRST * 50
    assert max(rows for _, rows in calls[1:]) <= MOST_ROWS


def test_few_rows_then_none() -> None:
    calls = ends(2025 * YEAR, 3, until=20 * SECOND)
    assert sum(rows for _, rows in calls) == 60
    assert len(calls) < 35


def test_operators_without_boundaries_have_no_span() -> None:
    assert BoundaryBudget({}).end("q", 0, YEAR) == YEAR
