"""The latencies of each class as a box plot: `boxes` of `--plot`."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from headgate.charts.boxes import Box, add_boxes
from headgate.charts.files import new_figure
from headgate.charts.style import GRAY, begin_at_zero, class_colors, remove_clutter, set_scale, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEAST_IN, _CLASS_IN, _HEIGHT_IN = 4.8, 1.1, 4.0
_LONG = 14  # letters; a longer name does not fit below its box


def draw_latency_boxes(report: Mapping[str, Any]) -> Figure:
    """One box per class of a report, the most important class on the left."""
    colors = class_colors(report)
    found = {name: _box(report["classes"][name]["latency"]) for name in colors}
    figure = new_figure(max(_LEAST_IN, 1.5 + _CLASS_IN * len(colors)), _HEIGHT_IN)
    axes = figure.subplots()
    remove_clutter(axes)
    factor = set_scale(axes, "latency", chain.from_iterable(box for box in found.values() if box))
    for at, (name, color) in enumerate(colors.items()):
        if box := found[name]:
            add_boxes(axes, [at], [Box(*(factor * value for value in box))], 0.5, color)
        else:
            axes.annotate("no results", (at, 0.02), xycoords=("data", "axes fraction"), ha="center", color=GRAY)
    begin_at_zero(axes)
    _label(axes, report, list(colors))
    return figure


def _label(axes: Axes, report: Mapping[str, Any], names: list[str]) -> None:
    axes.set_title(title_of(report), fontsize=10, loc="left", parse_math=False)
    axes.set_xlabel("box p25 to p75, line p50, whiskers p10 and p90, dot mean", fontsize=8, color=GRAY)
    axes.set_xlim(-0.6, len(names) - 0.4)
    labels = [f"{name}\npriority {one['priority']}\n{results(one['outputs'])}" for name, one in _named(report, names)]
    axes.set_xticks(range(len(names)), labels, fontsize=9, parse_math=False)
    if any(len(name) > _LONG for name in names):
        axes.tick_params(axis="x", labelrotation=30)


def _named(report: Mapping[str, Any], names: list[str]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(name, report["classes"][name]) for name in names]


def results(count: float) -> str:
    """How many results a box stands for: a box of three results says less than one of thousands."""
    return f"{count:,.0f} result{'' if count == 1 else 's'}"


def _box(latency: Mapping[str, float | None]) -> Box | None:
    values = [latency[field] for field in Box._fields]
    known = [value for value in values if value is not None]
    return Box(*known) if len(known) == len(values) else None
