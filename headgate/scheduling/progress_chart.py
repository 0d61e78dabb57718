"""The progress chart of a path and its lower envelope, for Chain.

Jiang and Chakravarthy, UTA TR CSE-2003-30, section 2.2, after Babcock et al., "Chain", SIGMOD 2003; the slope is the
change of size over time (the report prints its inverse).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headgate.scheduling.segments import Step


class Point(NamedTuple):
    """Where a tuple that entered a path stands before an operator, or at its end."""

    seconds: float  # spent on it so far
    size: float  # bytes expected to be left of it; 0 at the end
    reach: float  # tuples expected to be left of it


def progress_chart(steps: Sequence[Step]) -> list[Point] | None:
    """t_k = t_{k-1} + c_k sigma_1 .. sigma_{k-1} against s_k = size_k sigma_1 .. sigma_k; None: not known."""
    points = [Point(0.0, steps[0].input_bytes, 1.0)] if steps else []
    for number, step in enumerate(steps, start=1):
        last = points[-1]
        is_end = number == len(steps)
        passed = 0.0 if is_end else step.selectivity
        if step.cost_s is None or passed is None:
            return None
        reach = last.reach * passed
        points.append(Point(last.seconds + step.cost_s * last.reach, step.output_bytes * reach, reach))
    return points


def lower_envelope(chart: Sequence[Point]) -> list[tuple[int, int]]:
    """The pieces (first, end] of steepest descent, as points of the chart; slopes fall from piece to piece.

    From each point to the point that is reached most steeply, the farthest of equals. Found in one pass: a piece that
    is no flatter than the one before it is joined to it.
    """
    pieces: list[tuple[int, int]] = []
    for end in range(1, len(chart)):
        first = end - 1
        while pieces and _as_steep(chart, (first, end), pieces[-1]):
            first = pieces.pop()[0]
        pieces.append((first, end))
    return pieces


def _as_steep(chart: Sequence[Point], later: tuple[int, int], earlier: tuple[int, int]) -> bool:
    """Products rather than slopes, which have no value where an operator takes no time."""
    (a, b), (c, d) = earlier, later
    return (chart[c].size - chart[d].size) * (chart[b].seconds - chart[a].seconds) >= (
        chart[a].size - chart[b].size
    ) * (chart[d].seconds - chart[c].seconds)
