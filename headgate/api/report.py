"""The report of a run or a simulation: typed numbers, a table for people, and charts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headgate.display.json_values import json_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Latency:
    """Seconds from arrival to result; None without results."""

    mean: float | None = None
    p10: float | None = None
    p25: float | None = None
    p50: float | None = None
    p75: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    max: float | None = None


@dataclass(frozen=True)
class ClassReport:
    """A class: its priority at the end of the run, the tuples of its queries, and their latencies."""

    priority: int
    inputs: int
    outputs: float  # a whole number, but for fluid simulations
    shed: int
    latency: Latency


@dataclass(frozen=True)
class QueryReport:
    """A query: the class that it was in at the end of the run, its tuples, and their latencies."""

    class_name: str
    inputs: int
    outputs: float
    shed: int
    latency: Latency


@dataclass(frozen=True)
class MemoryReport:
    """Bytes queued between operators."""

    mean: float
    max: float


@dataclass(frozen=True)
class Throughput:
    """Tuples per second; a tuple counts once for each query that reads it."""

    inputs: float
    outputs: float


class Report:
    """The report of a run. Print it, show it in a notebook, or read its numbers.

    >>> import headgate as hg
    >>> report = hg.load("examples/first.yaml").simulate()
    >>> report.classes["critical"].outputs
    2
    >>> report.classes["critical"].latency.p95 < 0.001
    True
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `headgate run --json` prints it."""
        found: dict[str, Any] = json_value(self._data)
        return found

    @property
    def runtime(self) -> str:
        """`spark` or `simulated`."""
        return str(self._data["runtime"])

    @property
    def policy(self) -> str:
        """The policy at the end of the run."""
        return str(self._data["policy"])

    @property
    def slots(self) -> int:
        """How many calls could be in flight."""
        return int(self._data["slots"])

    @property
    def seconds(self) -> float:
        """How long the run took."""
        return float(self._data["seconds"])

    @property
    def weighted_mean_latency(self) -> float | None:
        """Mean latency of the classes, weighted by their priorities."""
        found: float | None = self._data["weighted_mean_latency"]
        return found

    @property
    def priority_inversion(self) -> float | None:
        """How much slower important classes were than less important ones; 0: not at all."""
        found: float | None = self._data["priority_inversion"]
        return found

    @property
    def starvation_ratio(self) -> float | None:
        """Mean latency of the least important class over that of the most important."""
        found: float | None = self._data["starvation_ratio"]
        return found

    @cached_property
    def classes(self) -> Mapping[str, ClassReport]:
        """By name."""
        return {name: ClassReport(**_counts(one), priority=one["priority"]) for name, one in self._of("classes")}

    @cached_property
    def queries(self) -> Mapping[str, QueryReport]:
        """By name; queries that have stopped are here, too."""
        return {name: QueryReport(**_counts(one), class_name=one["class"]) for name, one in self._of("queries")}

    @property
    def memory(self) -> MemoryReport:
        """Bytes queued between operators."""
        return MemoryReport(**self._data["memory"])

    @property
    def throughput(self) -> Throughput:
        """Tuples per second."""
        return Throughput(**self._data["throughput"])

    @property
    def errors(self) -> Mapping[str, str]:
        """Query that stopped -> why."""
        return dict(self._data.get("errors", {}))

    def _of(self, key: str) -> list[tuple[str, Any]]:
        return list(self._data[key].items())

    def plot(self, kind: Literal["course", "boxes"] = "course", folder: str | Path | None = None) -> Figure:
        """A chart of the classes: their latency over time, or as boxes; also written to a folder, when one is given.

        ApplicationError: matplotlib is not installed.
        """
        from headgate.charts.files import need_matplotlib, save_all

        need_matplotlib()
        figure = self._figure(kind)
        if folder is not None:
            Path(folder).mkdir(parents=True, exist_ok=True)
            save_all(figure, Path(folder), kind)
        return figure

    def _figure(self, kind: str) -> Figure:
        if kind == "course":
            from headgate.charts.latency_over_time import draw_latency_over_time

            return draw_latency_over_time(self._data)
        if kind == "boxes":
            from headgate.charts.latency_boxes import draw_latency_boxes

            return draw_latency_boxes(self._data)
        raise ValueError(f"there is no chart '{kind}'; use course or boxes")

    def __str__(self) -> str:
        from headgate.display.capture import as_text
        from headgate.display.report import print_report

        return as_text(lambda out: print_report(self._data, out))

    def __repr__(self) -> str:
        return f"<Report: {self.policy}, {self.runtime} runtime, {self.seconds:.4g} s, {len(self.queries)} queries>"

    def _repr_html_(self) -> str:
        from headgate.display.capture import as_html
        from headgate.display.report import print_report

        return as_html(lambda out: print_report(self._data, out)) + self._chart()

    def _chart(self) -> str:
        """Latency over time as a picture in HTML; empty without matplotlib, or without results."""
        from headgate.display.capture import figure_html
        from headgate.errors import ApplicationError

        if not any(one.outputs for one in self.queries.values()):
            return ""
        try:
            return figure_html(self.plot())
        except ApplicationError:
            return ""


def _counts(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one[key] for key in ("inputs", "outputs", "shed")} | {"latency": Latency(**one["latency"])}
