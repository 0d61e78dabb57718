"""The common style of charts: colors of classes, units of time, scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from headgate.durations import format_duration
from headgate.metrics.class_measures import by_priority

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRAY = "0.35"
# Colors that color-blind people can distinguish (Okabe and Ito). With more classes they repeat.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b4a9f", "#7f7f7f")
_UNITS = ((1.0, "s"), (1e3, "ms"), (1e6, "us"))
_LOG_ABOVE = 20.0  # ratio of the largest to the smallest: on a linear axis the smallest would be flat


def class_colors(report: Mapping[str, Any]) -> dict[str, str]:
    """The classes of a report, the most important first, each with its color."""
    return colors_by_priority({name: one["priority"] for name, one in report["classes"].items()})


def colors_by_priority(priorities: Mapping[str, int]) -> dict[str, str]:
    """Classes, the most important first, each with its color."""
    order = by_priority(priorities)
    return {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(order)}


def title_of(report: Mapping[str, Any]) -> str:
    """Policy, slots, runtime and duration of a run."""
    slots = report["slots"]
    lasted = format_duration(report["seconds"])
    return f"{report['policy']} on {slots} slot{'' if slots == 1 else 's'}, {report['runtime']} runtime, {lasted}"


def time_unit(seconds: Iterable[float]) -> tuple[float, str]:
    """The unit in which the largest of these times is at least 1, after the number of such units in a second."""
    largest = max(seconds, default=0.0)
    return next((unit for unit in _UNITS if largest * unit[0] >= 1.0), _UNITS[1] if largest == 0.0 else _UNITS[-1])


def set_scale(axes: Axes, what: str, seconds: Iterable[float]) -> float:
    """Set up the y axis for these times, with a label. Returns the number of its units in a second.

    If times are far apart and none is 0, the axis is logarithmic, and each tick has its own unit.
    """
    known = list(seconds)
    if not known or min(known) <= 0.0 or max(known) <= _LOG_ABOVE * min(known):
        factor, unit = time_unit(known)
        axes.set_ylabel(f"{what}, {unit}", fontsize=9)
        return factor
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.set_ylabel(what, fontsize=9)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if max(known) < 1e3 * min(known) else (1.0,)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_duration(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    return 1.0


def begin_at_zero(axes: Axes) -> None:
    """Call it after drawing: a linear axis begins at 0, and the highest point stays below its upper edge."""
    if axes.get_yscale() == "linear":
        axes.set_ylim(0.0, 1.08 * axes.get_ylim()[1])


def remove_clutter(axes: Axes) -> None:
    """Keep only the lines that help reading."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("0.7")
    axes.tick_params(labelsize=8, color="0.7")
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
