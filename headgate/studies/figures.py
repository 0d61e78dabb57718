"""Figures: lines with confidence intervals, or boxes, as PNG and SVG. Needs matplotlib (`headgate[study]`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headgate.plan.errors import ApplicationError
from headgate.studies.claims import estimate

FORMATS = ("png", "svg")
_MARKERS = "osD^v<>P"
_SIZE = (6.4, 4.0)  # inches
# Without a date and with fixed ids a figure drawn again is the same file.
_STABLE = {"svg.hashsalt": "headgate"}


@dataclass(frozen=True)
class Chart:
    """A figure to draw. A line is a list of (x, samples over seeds)."""

    name: str  # of the file, without ending
    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Sequence[tuple[float, Sequence[float]]]]
    log_x: bool = False
    log_y: bool = False


class Box(NamedTuple):
    """A distribution as the box charts of papers show it."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float
    mean: float


@dataclass(frozen=True)
class BoxChart(Chart):
    """A figure of boxes, instead of lines, side by side in each group: `boxes` has those of each label, by group. Where
    nothing was measured there is None."""

    groups: Sequence[str] = ()
    boxes: Mapping[str, Sequence[Box | None]] = field(default_factory=dict)


def need_matplotlib() -> Any:
    """The plotting module. Raises ApplicationError saying what to install; called before a study starts, too."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise ApplicationError("figures", "matplotlib is not installed", "pip install 'headgate[study]'") from error
    matplotlib.use("Agg")  # files only: no display
    from matplotlib import pyplot

    return pyplot


def draw(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Draw each chart into the folder, which must exist, in every format; returns the files."""
    return [path for chart in charts for path in _draw(chart, folder)]


def _draw(chart: Chart, folder: Path) -> list[Path]:
    pyplot = need_matplotlib()
    with pyplot.rc_context(_STABLE):
        figure, axes = pyplot.subplots(figsize=_SIZE, layout="constrained")
        for at, (label, line) in enumerate(chart.lines.items()):
            _add(axes, label, line, _MARKERS[at % len(_MARKERS)])
        axes.set(title=chart.title, xlabel=chart.x_label, ylabel=chart.y_label)
        axes.set_xscale("log" if chart.log_x else "linear")
        axes.set_yscale("log" if chart.log_y else "linear")
        if isinstance(chart, BoxChart):
            _add_boxes(axes, chart)  # after the scales, which choose ticks of their own
        axes.grid(alpha=0.3)
        if len(axes.get_legend_handles_labels()[0]) > 1:
            axes.legend()
        files = [folder / f"{chart.name}.{ending}" for ending in FORMATS]
        for path in files:
            figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
        pyplot.close(figure)
    return files


def _add(axes: Any, label: str, line: Sequence[tuple[float, Sequence[float]]], marker: str) -> None:
    """A line with bars for the intervals; a single seed has none. Where nothing was measured there is no point."""
    line = [(x, samples) for x, samples in line if samples]
    found = [estimate(samples) for _, samples in line]
    halves = [one.high - one.mean if one.seeds > 1 else 0.0 for one in found]
    axes.errorbar([x for x, _ in line], [one.mean for one in found], yerr=halves, label=label, marker=marker, capsize=3)


def _add_boxes(axes: Any, chart: BoxChart) -> None:
    """Whiskers from p10 to p90, a line at the median, a point at the mean."""
    width = 0.8 / max(1, len(chart.boxes))
    for at, (label, row) in enumerate(chart.boxes.items()):
        places = [number + width * (at + 0.5) - 0.4 for number, box in enumerate(row) if box is not None]
        known = [box for box in row if box is not None]
        colour = f"C{at % 10}"
        drawn = [
            {"whislo": b.p10, "q1": b.p25, "med": b.p50, "q3": b.p75, "whishi": b.p90, "mean": b.mean, "fliers": []}
            for b in known
        ]
        axes.bxp(
            drawn,
            positions=places,
            widths=0.8 * width,
            showmeans=True,
            showfliers=False,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": colour, "alpha": 0.5},
            medianprops={"color": "black"},
            meanprops={"marker": "o", "markerfacecolor": colour, "markeredgecolor": "black", "markersize": 4},
        )
        axes.plot([], [], color=colour, linewidth=6, alpha=0.5, label=label)  # for the legend
    axes.set_xticks(range(len(chart.groups)), chart.groups)
