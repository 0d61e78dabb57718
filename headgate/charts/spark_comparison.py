"""Latencies by class under Headgate and under stock Spark: the figure of `bench classes`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headgate.charts.files import new_figure
from headgate.charts.style import GRAY, colors_by_priority, remove_clutter, set_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE_IN = (9.6, 4.0)
_ORDER = ("easy", "medium", "heavy")  # as the load grows
_APART = 0.22  # distance between the classes of one contestant
_NOTHING = 0.97  # height of the mark of a class without results, as a share of the axes


def draw_spark_comparison(result: Mapping[str, Any]) -> Figure:
    """One panel per workload, one column per contestant, one mark per class: mean, p50 and p95."""
    workloads, priorities = result["workloads"], result["settings"]["priorities"]
    figure = new_figure(*_SIZE_IN)
    panels = figure.subplots(1, len(_ORDER), sharey=True)
    for axes in panels:
        remove_clutter(axes)
    factor = set_scale(panels[0], "latency: mean, line p50 to p95", _known(workloads))
    colors = colors_by_priority(priorities)
    for axes, name in zip(panels, _ORDER, strict=True):
        _fill(axes, workloads[name], colors, factor)
        rate = result["settings"]["rates"][name]
        queries = result["settings"]["queries"][name]
        axes.set_title(f"{name}: {queries} queries at {rate:,.0f} tuples/s each", fontsize=9, loc="left")
    _legend(figure, colors, priorities)
    return figure


def _fill(axes: Axes, contestants: Mapping[str, Any], colors: Mapping[str, str], factor: float) -> None:
    for at, contestant in enumerate(contestants.values()):
        for number, (name, color) in enumerate(colors.items()):
            place, found = at + (number - (len(colors) - 1) / 2) * _APART, contestant["classes"][name]
            if found["mean"] is None:
                axes.plot(place, _NOTHING, "x", color=color, markersize=6, transform=axes.get_xaxis_transform())
                continue
            mean, low, high = (factor * found[field] for field in ("mean", "p50", "p95"))
            axes.plot([place, place], [low, high], color=color, linewidth=1.6, alpha=0.6)
            axes.plot(place, mean, "o", color=color, markersize=5)
    axes.set_xticks(range(len(contestants)), [name.replace(" ", "\n") for name in contestants], fontsize=8)
    axes.set_xlim(-0.6, len(contestants) - 0.4)


def _legend(figure: Figure, colors: Mapping[str, str], priorities: Mapping[str, int]) -> None:
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], color=color, marker="o", label=f"{name}, priority {priorities[name]}")
        for name, color in colors.items()
    ]
    marks.append(Line2D([], [], color=GRAY, marker="x", linestyle="none", label="no result in the whole run"))
    figure.legend(handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8, frameon=False)


def _known(workloads: Mapping[str, Any]) -> list[float]:
    return [
        found[field]
        for contestants in workloads.values()
        for contestant in contestants.values()
        for found in contestant["classes"].values()
        for field in ("mean", "p50", "p95")
        if found[field] is not None
    ]
