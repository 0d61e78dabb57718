"""Charts of the page, as options of ECharts made from plain data. Pure: nothing here knows the page.

No text of a user becomes a key of the options, and tooltips are drawn, not written as HTML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.plan.quality import QosGraph

Options = dict[str, Any]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
# Seconds as text, for the axis; the only script in the options, and it holds nothing of a user.
_SECONDS = (
    "v => v === 0 ? '0' : v >= 1 ? +v.toPrecision(3) + ' s' : v >= 1e-3 ? +(v * 1e3).toPrecision(3) + ' ms'"
    " : +(v * 1e6).toPrecision(3) + ' µs'"
)
_PLAIN = "v => v == null ? '–' : +(+v).toPrecision(4)"


@dataclass(frozen=True)
class Palette:
    """The colors of charts: of text, lines of the grid, and one for each series."""

    text: str
    grid: str
    surface: str
    accent: str
    promise: str
    series: tuple[str, ...]


# Series have the colors of Okabe and Ito, which color-blind people can distinguish; lighter ones on a dark ground.
LIGHT = Palette(
    text="#566171",
    grid="#e4e8ee",
    surface="#ffffff",
    accent="#2059c4",
    promise="#8a5a00",
    series=("#0072b2", "#c85400", "#008560", "#b8609a", "#9a6a00", "#2f8fc7", "#5b4a9f", "#6b6b6b"),
)
DARK = Palette(
    text="#a3aebd",
    grid="#2a313b",
    surface="#181c22",
    accent="#7fb0ff",
    promise="#e0b050",
    series=("#56b4e9", "#f0883e", "#3fc79a", "#e79fcb", "#e6b04a", "#8ecdf2", "#a99bea", "#a9a9a9"),
)


def palette(dark: bool) -> Palette:
    """The colors for a dark or a light ground."""
    return DARK if dark else LIGHT


def latency_chart(
    began: float,
    courses: Mapping[str, Mapping[str, Any]],
    colors: Palette,
    promises: Mapping[str, Sequence[tuple[float, float]]] | None = None,
    decisions: Sequence[Mapping[str, Any]] = (),
    maxima: bool = False,
) -> Options:
    """Latency over time, a line for each course as `Run.query_overview` has it; `maxima` adds a second, dotted one.

    `promises` are expected values at run times, by course; `decisions` are marked on the time line.
    """
    series: list[Options] = []
    for at, (name, course) in enumerate(courses.items()):
        color = colors.series[at % len(colors.series)]
        series.append(_line(name, _points(began, course, "means"), color))
        if maxima:
            series.append(_line("largest", _points(began, course, "maxima"), colors.text, dotted=True))
        if promises and name in promises:
            data = [[_at(began, time), value] for time, value in promises[name]]
            alone = len(courses) == 1
            label = "promise" if alone else f"promise to {name}"
            series.append(_line(label, data, colors.promise if alone else color, dashed=True))
    if decisions and series:
        series[0]["markLine"] = _decision_marks(began, decisions, colors)
    axis: Options = {"type": "log"} if _wide(series) else {"type": "value", "min": 0}
    options = _frame(colors, legend=[one["name"] for one in series])
    options["xAxis"] = {"type": "time", "splitNumber": 4, **_axis_style(colors, lines=False)}
    options["yAxis"] = {**axis, **_axis_style(colors, lines=True)}
    options["yAxis"]["axisLabel"][":formatter"] = _SECONDS
    options["tooltip"][":valueFormatter"] = f"v => v == null ? '–' : ({_SECONDS})(v)"
    options["series"] = series
    return options


def qos_chart(points: Sequence[Sequence[float]], measure: str, colors: Palette) -> Options:
    """What is expected over time: the graph that somebody edits."""
    last = points[-1][0] if points else 0.0
    after = max(last * 1.15, last + 1.0)
    shown = [list(point) for point in points] + ([[after, points[-1][1]]] if points else [])
    line = _line("expected", shown, colors.accent)
    line |= {"symbol": "circle", "symbolSize": 8, "areaStyle": {"opacity": 0.08}}
    options = _frame(colors, legend=None)
    options["xAxis"] = {"type": "value", "min": 0, "max": after, **_axis_style(colors, lines=False)}
    options["xAxis"]["axisLabel"][":formatter"] = "v => +(+v).toPrecision(4) + ' s'"
    options["yAxis"] = {"type": "value", "min": 0, **_axis_style(colors, lines=True)}
    formatter = _SECONDS if measure == "latency" else _PLAIN
    options["yAxis"]["axisLabel"][":formatter"] = formatter
    options["tooltip"][":valueFormatter"] = formatter
    options["series"] = [line]
    return options


def promised_between(
    points: Sequence[Sequence[float]], course: Mapping[str, Any], until: float
) -> list[tuple[float, float]]:
    """The part of a QoS graph beside a course, as corners of a line."""
    graph = QosGraph(tuple((float(time), float(value)) for time, value in points))
    start = min(course["times"][0] if course["times"] else until, until)
    corners = [time for time, _ in graph.points if start < time < until]
    return [(time, graph.expected(time)) for time in (start, *corners, until)]


def _points(began: float, course: Mapping[str, Any], key: str) -> list[list[float | None]]:
    """Points in the middle of their buckets; None where there were no results."""
    half = course["bucket"] / 2
    return [
        [_at(began, time + half), _rounded(value)] for time, value in zip(course["times"], course[key], strict=True)
    ]


def _at(began: float, time: float) -> int:
    return round((began + time) * 1000)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _wide(series: Sequence[Mapping[str, Any]]) -> bool:
    """Are the values so far apart that small ones would lie flat on a linear axis?"""
    points = [point["value"] if isinstance(point, dict) else point for one in series for point in one["data"]]
    values = [value for _, value in points if value]
    return bool(values) and max(values) > 20 * min(values)


def _line(name: str, data: list[Any], color: str, *, dashed: bool = False, dotted: bool = False) -> Options:
    style = {"width": 1.5 if dashed or dotted else 2, "type": "dashed" if dashed else "dotted" if dotted else "solid"}
    return {
        "name": name,
        "type": "line",
        "data": _with_lonely_points(data),
        "symbol": "none",
        "connectNulls": True,
        "color": color,
        "lineStyle": style,
        "emphasis": {"disabled": True},
    }


def _with_lonely_points(data: list[Any]) -> list[Any]:
    """A point between buckets without results gets a dot: there, the line alone says nothing of what was measured."""
    known = [False, *(value is not None for _, value in data), False]
    lonely = [known[at + 1] and not known[at] and not known[at + 2] for at in range(len(data))]
    dot = {"symbol": "circle", "symbolSize": 5}
    return [{"value": point, **dot} if alone else point for point, alone in zip(data, lonely, strict=True)]


def _decision_marks(began: float, decisions: Sequence[Mapping[str, Any]], colors: Palette) -> Options:
    return {
        "symbol": ["none", "circle"],
        "symbolSize": 7,
        "animation": False,
        "lineStyle": {"color": colors.text, "type": "solid", "width": 1, "opacity": 0.7},
        "label": {"show": True, "color": colors.text, "fontSize": 11, "formatter": "{b}", "rotate": 0},
        "data": [{"name": decision_words(one), "xAxis": _at(began, one["at"])} for one in decisions],
    }


def decision_words(decision: Mapping[str, Any]) -> str:
    """A decision in a few words: `switch rr → mbd`."""
    before, after = decision.get("from"), decision.get("to")
    if decision["kind"] == "switch":
        return f"{before} → {after}"
    return f"{decision['kind']}: {_share(before)} → {_share(after)}"


def _share(value: Any) -> str:
    return f"{value * 100:.0f} %" if isinstance(value, (int, float)) else str(value)


def _frame(colors: Palette, legend: list[str] | None) -> Options:
    return {
        "animation": False,
        "backgroundColor": "transparent",
        "textStyle": {"fontFamily": FONT, "color": colors.text},
        "aria": {"enabled": True},
        "grid": {"left": 8, "right": 16, "top": 42 if legend is not None else 12, "bottom": 8, "containLabel": True},
        "legend": {
            "show": legend is not None,
            "data": list(dict.fromkeys(legend or [])),
            "type": "scroll",
            "top": 0,
            "left": 0,
            "icon": "roundRect",
            "itemWidth": 14,
            "itemHeight": 4,
            "textStyle": {"color": colors.text, "fontSize": 12},
            "pageTextStyle": {"color": colors.text},
        },
        "tooltip": {
            "trigger": "axis",
            "renderMode": "richText",
            "confine": True,
            "backgroundColor": colors.surface,
            "borderColor": colors.grid,
            "textStyle": {"color": colors.text, "fontSize": 12},
        },
    }


def _axis_style(colors: Palette, *, lines: bool) -> Options:
    return {
        "axisLine": {"show": not lines, "lineStyle": {"color": colors.grid}},
        "axisTick": {"show": False},
        "axisLabel": {"color": colors.text, "fontSize": 11, "hideOverlap": True},
        "splitLine": {"show": lines, "lineStyle": {"color": colors.grid}},
    }
