"""The mean latency of each class over time: `course` of `--plot`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headgate.charts.files import new_figure
from headgate.charts.style import GRAY, begin_at_zero, class_colors, remove_clutter, set_scale, title_of
from headgate.durations import format_duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE_IN = (7.6, 4.8)
_GAP = 0.07  # between two labels, as a share of the height of the axes
_MARGIN = 0.95  # share of the width of the axes: a line that ends beyond it is labeled in the margin

Line = Sequence[float | None]


def draw_latency_over_time(report: Mapping[str, Any]) -> Figure:
    """Mean latency over time, one line per class; below it the inversion. Changes of policy or classes are marked."""
    course, colors = report["course"], class_colors(report)
    figure = new_figure(*_SIZE_IN)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for axes in (above, below):
        remove_clutter(axes)
    known = (value for line in course["classes"].values() for value in line if value is not None)
    factor = set_scale(above, "mean latency", known)
    middles = [time + course["bucket"] / 2 for time in course["times"]]
    lines = {name: _scaled(course["classes"][name], factor) for name in colors}
    for name, color in colors.items():
        _add_line(above, middles, lines[name], color)
    _add_inversion(below, middles, _scaled(course["inversion"], 1.0))
    _label(above, below, report)
    for at, text in marks(report):
        _mark(above, below, at, text)
    ends = {name: end for name, line in lines.items() if (end := _end(middles, line)) is not None}
    _name_lines(above, ends, colors)
    return figure


def _scaled(line: Line, factor: float) -> list[float]:
    """The values in the unit of the axis, with nan for None, which is not drawn."""
    return [math.nan if value is None else factor * value for value in line]


def _add_line(axes: Axes, times: Sequence[float], values: Sequence[float], color: str) -> None:
    """A bucket without results leaves a gap. Isolated buckets are dots, joined by a thin line."""
    axes.plot(times, values, color=color, linewidth=1.4)
    around = [math.nan, *values, math.nan]
    known = [at for at in range(len(values)) if not math.isnan(values[at])]
    alone = [at for at in known if math.isnan(around[at]) and math.isnan(around[at + 2])]
    axes.plot([times[at] for at in alone], [values[at] for at in alone], "o", color=color, markersize=4.5)
    if alone and len(known) < len(values):
        axes.plot([times[at] for at in known], [values[at] for at in known], color=color, linewidth=0.8, alpha=0.5)


def _add_inversion(axes: Axes, times: Sequence[float], values: Sequence[float]) -> None:
    _add_line(axes, times, values, GRAY)
    axes.fill_between(times, values, color=GRAY, alpha=0.15, linewidth=0)
    axes.set_ylim(0.0, None if any(value > 0.0 for value in values) else 1.0)


def _label(above: Axes, below: Axes, report: Mapping[str, Any]) -> None:
    course = report["course"]
    end = max([report["seconds"], *(time + course["bucket"] for time in course["times"])])
    above.set_xlim(0.0, end or 1.0)
    begin_at_zero(above)
    above.set_title(title_of(report), fontsize=10, loc="left", parse_math=False)
    below.set_ylabel("priority\ninversion", fontsize=9)
    below.set_xlabel(f"time, s (means of each {format_duration(course['bucket'])})", fontsize=9)


def marks(report: Mapping[str, Any]) -> list[tuple[float, str]]:
    """When something was changed, and what. Changes in the same bucket share one mark."""
    found: dict[int, tuple[float, list[str]]] = {}
    for change in sorted([*report["switches"], *report["changes"]], key=lambda change: float(change["at"])):
        whose = change.get("class") or change.get("query")
        text = f"{change['from']} to {change['to']}"
        bucket = int(change["at"] / report["course"]["bucket"])
        _, texts = found.setdefault(bucket, (change["at"], []))
        texts.append(f"{whose}: {text}" if whose else text)
    return [(at, ", ".join(texts)) for at, texts in found.values()]


def _mark(above: Axes, below: Axes, at: float, text: str) -> None:
    for axes in (above, below):
        axes.axvline(at, color=GRAY, linewidth=0.9, linestyle=(0, (4, 3)))
    above.annotate(
        text,
        (at, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(3, -2),
        textcoords="offset points",
        rotation=90,
        va="top",
        fontsize=7,
        color=GRAY,
        parse_math=False,
    )


def _name_lines(axes: Axes, ends: Mapping[str, tuple[float, float]], colors: Mapping[str, str]) -> None:
    """Write the name of each class in its color: in the margin, or beside the end of a line that ends before it."""
    to_axes = axes.transScale + axes.transLimits
    places = {name: to_axes.transform(end) for name, end in ends.items()}
    heights = spread({name: float(y) for name, (x, y) in places.items() if x > _MARGIN})
    for name, (x, y) in places.items():
        axes.annotate(
            name,
            ends[name],
            xytext=(1.02, heights[name]) if name in heights else (x + 0.01, y),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=colors[name],
            parse_math=False,
            annotation_clip=False,
            bbox={
                "facecolor": "white",
                "edgecolor": "none",
                "alpha": 0.8,
                "pad": 1.0,
            },  # other lines may pass behind it
            arrowprops={"arrowstyle": "-", "color": colors[name], "alpha": 0.4, "linewidth": 0.8},
        )


def _end(times: Sequence[float], line: Sequence[float]) -> tuple[float, float] | None:
    known = [(time, value) for time, value in zip(times, line, strict=True) if not math.isnan(value)]
    return known[-1] if known else None


def spread(heights: Mapping[str, float]) -> dict[str, float]:
    """Heights, from 0 to 1, moved apart as far as labels need, in the same order."""
    gap = min(_GAP, 1.0 / max(1, len(heights)))
    found: dict[str, float] = {}
    lowest = 0.0
    for name in sorted(heights, key=lambda name: heights[name]):
        found[name] = max(lowest, heights[name])
        lowest = found[name] + gap
    highest = 1.0
    for name in reversed(found):
        found[name] = min(highest, found[name])
        highest = found[name] - gap
    return found
