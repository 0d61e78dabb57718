"""Box plots, as the papers draw distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Box(NamedTuple):
    """A distribution, as the papers' box plots show it."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float
    mean: float


def add_boxes(axes: Axes, places: Sequence[float], boxes: Sequence[Box], width: float, color: str) -> None:
    """Draw boxes of one color: whiskers from p10 to p90, a line at the median, a dot at the mean.

    The caller sets the scales before, and the ticks.
    """
    drawn = [
        {"whislo": b.p10, "q1": b.p25, "med": b.p50, "q3": b.p75, "whishi": b.p90, "mean": b.mean, "fliers": []}
        for b in boxes
    ]
    axes.bxp(
        drawn,
        positions=places,
        widths=width,
        showmeans=True,
        showfliers=False,
        manage_ticks=False,
        patch_artist=True,
        boxprops={"facecolor": color, "alpha": 0.5},
        medianprops={"color": "black"},
        meanprops={"marker": "o", "markerfacecolor": color, "markeredgecolor": "black", "markersize": 4},
    )
