"""`headgate explain --plot`: progress charts with their lower envelopes, as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate.charts.files import need_matplotlib, new_figure, save
from headgate.plan.errors import ApplicationError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")
_SIDE_IN = 3.6  # inches a chart
_MOST_COLUMNS = 4
_CROWDED = 0.04  # of a chart's width: points so close share a place, and their numbers stand side by side


def check_plot(path: Path) -> None:
    """Can a picture be drawn into this file? Raises ApplicationError before any work is done."""
    label = f"--plot {path}"
    if path.suffix.lower() not in SUFFIXES:
        raise ApplicationError(label, "this is no picture that can be drawn", "end the name in .png or .svg")
    if not path.parent.is_dir():
        raise ApplicationError(label, f"there is no folder '{path.parent}'", "make it first")
    need_matplotlib(label)


def draw_charts(charts: Sequence[Mapping[str, Any]], path: Path) -> list[str]:
    """Draw the charts that are known, one a path; returns the paths left out. Raises ApplicationError when none is."""
    known = [chart for chart in charts if chart["points"] is not None]
    if not known:
        raise ApplicationError(
            f"--plot {path}", "no path has a progress chart", "declare the cost of every operator of a path"
        )
    columns = min(_MOST_COLUMNS, math.ceil(math.sqrt(len(known))))
    rows = math.ceil(len(known) / columns)
    figure = new_figure(_SIDE_IN * columns, _SIDE_IN * rows * 0.85)
    grid = figure.subplots(rows, columns, squeeze=False).flat
    for axes, chart in zip(grid, known, strict=False):
        _draw(axes, chart)
    for axes in list(grid)[len(known) :]:
        axes.set_axis_off()
    save(figure, path)
    return [chart["path"] for chart in charts if chart["points"] is None]


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
    """Numbers at the points and names in the legend: names at the points would cover each other."""
    crowd = 0
    for at in range(1, len(times)):
        crowd = crowd + 1 if times[at] - times[at - 1] < _CROWDED * times[-1] else 0
        where = (3 + 7 * crowd, 4)
        axes.annotate(str(at), (times[at], sizes[at]), textcoords="offset points", xytext=where, fontsize=7)
        name = chart["points"][at]["after"].removeprefix(f"{chart['query']}/")
        axes.plot([], [], " ", label=f"{at}  {name}")
