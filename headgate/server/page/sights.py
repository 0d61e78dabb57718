"""What open pages are told: found out once for all of them, in a thread. Pure but for what it asks the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.metrics.class_measures import by_priority
from headgate.plan.quality import QosGraph
from headgate.server.http.rows import as_json_rows
from headgate.server.page.words import plain
from headgate.server.service import Service

MOST_LINES = 8  # of the chart of classes
SHOWN_RESULTS = 12
SHOWN_DECISIONS = 200


@dataclass(frozen=True)
class Promise:
    """The least latency that a query of a class expects now, and which query that is."""

    query: str
    seconds: float


@dataclass(frozen=True)
class OverviewSight:
    """What the first page shows."""

    found: Mapping[str, Any]  # see `Run.overview`
    promises: Mapping[str, Promise]  # by class
    unread: list[str]  # streams that no query has read yet


def see_overview(service: Service) -> OverviewSight:
    """The run as a whole."""
    found = service.overview()
    unread = [name for name in service.sections("streams") if name not in found["streams"]]
    return OverviewSight(found, tightest_promises(service.sections("queries"), found), unread)


def tightest_promises(sections: Mapping[str, Mapping[str, Any]], found: Mapping[str, Any]) -> dict[str, Promise]:
    """By class, the promise among its running queries that is hardest to keep now."""
    tightest: dict[str, Promise] = {}
    for name, one in found["queries"].items():
        points = ((sections.get(name, {}).get("qos") or {}).get("latency") or {}).get("points")
        if not points or one["state"] != "running":
            continue
        graph = QosGraph(tuple((float(time), float(value)) for time, value in points))
        promise = Promise(name, graph.expected(found["at"]))
        if one["class"] not in tightest or promise.seconds < tightest[one["class"]].seconds:
            tightest[one["class"]] = promise
    return tightest


@dataclass(frozen=True)
class ClassesSight:
    """Latencies of classes over the last minutes."""

    began: float
    at: float
    courses: Mapping[str, Mapping[str, Any]]  # by class, the most important first
    points: Mapping[str, list[list[float]]]  # the QoS graph of the tightest promise of each class


def see_classes(service: Service) -> ClassesSight:
    """The most important classes that have queries, with their latencies over time."""
    found = service.overview(over_time=True)
    sections, classes = service.sections("queries"), found["classes"]
    used = {one["class"] for one in found["queries"].values() if one["state"] == "running"}
    order = by_priority({name: one["priority"] for name, one in classes.items()})
    shown = [name for name in order if name in used][:MOST_LINES]
    courses = {name: classes[name]["latencies"] for name in shown}
    tightest = tightest_promises(sections, found)
    points = {name: sections[tightest[name].query]["qos"]["latency"]["points"] for name in shown if name in tightest}
    return ClassesSight(found["began"], found["at"], courses, points)


@dataclass(frozen=True)
class ResultsSight:
    """The newest results of a query, as texts."""

    columns: list[str]
    rows: list[list[str]]
    total: int


def see_results(service: Service, query: str) -> ResultsSight:
    """The newest results, the newest first. ApplicationError: there are none to see."""
    results = service.results(query)
    table = results.latest(SHOWN_RESULTS)
    rows = [[plain(value) for value in row.values()] for row in as_json_rows(table)]
    return ResultsSight(list(table.column_names), rows[::-1], results.rows)


@dataclass(frozen=True)
class DecisionsSight:
    """What the optimizer decided, the newest first."""

    at: float
    decisions: list[dict[str, Any]]


def see_decisions(service: Service) -> DecisionsSight:
    """The newest decisions about all queries."""
    return DecisionsSight(service.overview()["at"], service.decisions(SHOWN_DECISIONS)[::-1])
