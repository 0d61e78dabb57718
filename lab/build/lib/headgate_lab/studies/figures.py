"""Figures: lines with confidence intervals, or boxes, as PNG and SVG. Needs matplotlib (`headgate[plot]`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.charts.boxes import Box, add_boxes
from headgate.charts.files import new_figure, save_all
from headgate_lab.studies.claims import estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^v<>P"
_SIZE_IN = (6.4, 4.0)


@dataclass(frozen=True)
class Chart:
    """A figure to draw. A line is a list of (x, samples over seeds)."""

    name: str  # of the file, without its extension
    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[float, Sequence[float]]]]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class BoxChart(Chart):
    """A figure of boxes instead of lines, side by side in each group. `boxes` has a list for each label, with a box per
    group, or None where nothing was measured."""

    groups: Sequence[str] = ()
    boxes: Mapping[str, Sequence[Box | None]] = field(default_factory=dict)


def draw(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Draw each chart into the folder, which must exist, in every format; returns the files."""
    return [path for chart in charts for path in _draw(chart, folder)]


def _draw(chart: Chart, folder: Path) -> list[Path]:
    figure = new_figure(*_SIZE_IN)
    axes = figure.subplots()
    for at, (label, line) in enumerate(chart.lines.items()):
        _add(axes, label, line, _MARKERS[at % len(_MARKERS)])
    axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
    axes.set_xscale("log" if chart.log_x else "linear")
    axes.set_yscale("log" if chart.log_y else "linear")
    if isinstance(chart, BoxChart):
        _add_groups(axes, chart)  # after the scales, which set ticks of their own
    axes.grid(alpha=0.3)
    if len(axes.get_legend_handles_labels()[0]) > 1:
        axes.legend()
    return save_all(figure, folder, chart.name)


def _add(axes: Axes, label: str, line: Sequence[tuple[float, Sequence[float]]], marker: str) -> None:
    """Add a line with error bars for the intervals, unless there is one seed. Values without samples are skipped."""
    line = [(x, samples) for x, samples in line if samples]
    found = [estimate(samples) for _, samples in line]
    halves = [one.high - one.mean if one.seeds > 1 else 0.0 for one in found]
    axes.errorbar([x for x, _ in line], [one.mean for one in found], yerr=halves, label=label, marker=marker, capsize=3)


def _add_groups(axes: Axes, chart: BoxChart) -> None:
    width = 0.8 / max(1, len(chart.boxes))
    for at, (label, row) in enumerate(chart.boxes.items()):
        places = [number + width * (at + 0.5) - 0.4 for number, box in enumerate(row) if box is not None]
        color = f"C{at % 10}"
        add_boxes(axes, places, [box for box in row if box is not None], 0.8 * width, color)
        axes.plot([], [], color=color, linewidth=6, alpha=0.5, label=label)  # for the legend
    axes.set_xticks(range(len(chart.groups)), chart.groups)
