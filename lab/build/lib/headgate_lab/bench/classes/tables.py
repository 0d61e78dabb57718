"""The results of `bench classes` as readable tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headgate.durations import format_duration
from headgate_lab.bench.classes.comparison import FAIR, stock_ways

Figures = Mapping[str, Any]
LATENCY = ("mean", "p50", "p95")


class ShownTable(NamedTuple):
    """A table as it is printed."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables(result: Figures) -> list[ShownTable]:
    """A table per workload with every way of stock; then other ways of Headgate, and growing numbers of queries."""
    classes = list(result["settings"]["priorities"])
    return [
        *(_workload(name, result, classes) for name in result["workloads"]),
        _limit(result, classes),
        _trains(result["limit"], classes),
        *(_lingers(name, figures, classes) for name, figures in result.get("lingers", {}).items()),
        _scaling(result["scaling"], classes),
        *(_pairs(name, result[name]) for name in ("highest_rate_by_way", "changed_priorities", "source_of_stock")),
    ]


def _workload(name: str, result: Figures, classes: Sequence[str]) -> ShownTable:
    settings, contestants = result["settings"], result["workloads"][name]
    ours = {key: figures for key, figures in contestants.items() if not key.startswith("stock")}
    title = f"{name}: {settings['queries'][name]} queries at {settings['rates'][name]:,.0f} tuples/s each"
    best = f"{FAIR}, {contestants[FAIR]['pools']['used']}"
    ways = {f"{key} (best)" if key == best else key: figures for key, figures in stock_ways(contestants).items()}
    return ShownTable(title, _columns(classes), _rows({**ways, **ours}, classes))


def _limit(result: Figures, classes: Sequence[str]) -> ShownTable:
    settings = result["settings"]
    title = f"limit: {settings['queries']['heavy']} queries at {settings['rates']['limit']:,.0f} tuples/s each"
    return ShownTable(title, _columns(classes), _rows(result["limit"], classes))


def _trains(ways: Mapping[str, Figures], classes: Sequence[str]) -> ShownTable:
    """The mean number of tuples per call, and the number of calls, by class; from the first of several runs."""
    rows = []
    for name, figures in ways.items():
        details = figures["details"]
        trains = details.get("runs", [details])[0]["trains"]
        rows.append([name, *(f"{_number(trains[one]['tuples_a_call'])} ({trains[one]['calls']:,})" for one in classes)])
    return ShownTable("limit, tuples per call (calls)", ["", *classes], rows)


def _lingers(name: str, by_milliseconds: Mapping[str, Figures], classes: Sequence[str]) -> ShownTable:
    named = {f"{milliseconds} ms": figures for milliseconds, figures in by_milliseconds.items()}
    return ShownTable(f"{name}, mbd with other lingers", _columns(classes), _rows(named, classes))


def _scaling(scaling: Figures, classes: Sequence[str]) -> ShownTable:
    sides = {f"{queries} queries, {side}": figures for queries, one in scaling.items() for side, figures in one.items()}
    return ShownTable("growing numbers of queries", _columns(classes), _rows(sides, classes))


def _columns(classes: Sequence[str]) -> list[str]:
    named = [f"{name}: {', '.join(LATENCY)}" for name in classes]
    return ["", *named, "completed, %", "inversion: mean, p75", "CPU, us per tuple"]


def _rows(sides: Mapping[str, Figures], classes: Sequence[str]) -> list[list[str]]:
    return [
        [
            name,
            *(", ".join(_time(figures["classes"][one][key]) for key in LATENCY) for one in classes),
            ", ".join(_percent(figures["classes"][one]["completed"]) for one in classes),
            ", ".join(_number(figures["inversion"][key]) for key in ("mean", "p75")),
            _number(figures["cpu_us_per_tuple"]),
        ]
        for name, figures in sides.items()
    ]


def _pairs(name: str, figures: Figures) -> ShownTable:
    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            return ", ".join(f"{key} {_number(item)}" for key, item in value.items())
        return _number(value)

    return ShownTable(name.replace("_", " "), ("", ""), [[key, shown(value)] for key, value in figures.items()])


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else format_duration(seconds)


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"
