"""Progress charts of paths, with their lower envelopes: `progress` of `explain --plot`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headgate.charts.files import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE_IN = 3.6  # inches per chart
_MOST_COLUMNS = 4
_CROWDED = 0.04  # of a chart's width: the numbers of points closer than this are written side by side


def draw_progress_charts(charts: Sequence[Mapping[str, Any]]) -> Figure:
    """Draw one chart per path. At least one is needed, and all must be known."""
    columns = min(_MOST_COLUMNS, math.ceil(math.sqrt(len(charts))))
    rows = math.ceil(len(charts) / columns)
    figure = new_figure(_SIDE_IN * columns, _SIDE_IN * rows * 0.85)
    for number, chart in enumerate(charts, start=1):
        _draw(figure.add_subplot(rows, columns, number), chart)
    return figure


def _draw(axes: Axes, chart: Mapping[str, Any]) -> None:
    points = chart["points"]
    times = [point["seconds"] * 1e6 for point in points]
    sizes = [point["bytes"] for point in points]
    ends = [0, *(piece["points"][1] for piece in chart["pieces"])]
    axes.step(times, sizes, where="post", color="0.6", linewidth=1, label="progress")
    axes.plot([times[at] for at in ends], [sizes[at] for at in ends], "C0-", label="lower envelope")
    axes.plot(times, sizes, "o", color="0.3", markersize=4)
    _name_points(axes, chart, times, sizes)
    axes.set_title(f"{chart['path']} from {chart['stream']}", fontsize=9)
    axes.set_xlabel("time spent, us", fontsize=8)
    axes.set_ylabel("bytes left", fontsize=8)
    axes.tick_params(labelsize=7)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)


def _name_points(axes: Axes, chart: Mapping[str, Any], times: Sequence[float], sizes: Sequence[float]) -> None:
    """Write numbers at the points and names in the legend: names at the points would overlap."""
    crowd = 0
    for at in range(1, len(times)):
        crowd = crowd + 1 if times[at] - times[at - 1] < _CROWDED * times[-1] else 0
        where = (3 + 7 * crowd, 4)
        axes.annotate(str(at), (times[at], sizes[at]), textcoords="offset points", xytext=where, fontsize=7)
        name = chart["points"][at]["after"].removeprefix(f"{chart['query']}/")
        axes.plot([], [], " ", label=f"{at}  {name}")
