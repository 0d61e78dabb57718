"""Describes an application as plain data, for `headgate explain`, its `--json`, and programs that draw it.

The keys are stable. Numbers are in seconds, tuples and bytes; `null` is "not known".
"""

from __future__ import annotations

from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.metrics.assumptions import ASSUMED_SELECTIVITY
from headgate.metrics.stats import OperatorStats, declared_stats
from headgate.metrics.tuple_sizes import port_bytes
from headgate.plan.model import Plan, Query
from headgate.plan.operators import Aggregate
from headgate.plan.operators.base import Operator
from headgate.plan.paths import Path, find_paths
from headgate.plan.windows import SPARK_BOUNDS, RangeWindow, is_spark_window
from headgate.policies.worth import finite
from headgate.scheduling.segments import Segment, find_segments, path_capacity, path_cost, path_selectivity, path_steps
from headgate.sql.schema import Schema


class AssumedStats:
    """Declared statistics, and what follows from them for joins. An unknown selectivity counts as 1, shared equally by
    a split's branches, as in the simulator. Costs are not guessed."""

    def __init__(self, plan: Plan) -> None:
        self.known = declared_stats(plan)
        self._stats = declared_stats(plan, unknown_selectivity=ASSUMED_SELECTIVITY)

    def of(self, operator: str) -> OperatorStats:
        return self._stats[operator]

    def stream_bytes(self, stream: str) -> float | None:
        return None


def explain(app: CheckedApplication) -> dict[str, Any]:
    """Everything about an application that is known before it runs."""
    plan, stats, kept = app.plan, AssumedStats(app.plan), app.checkpoint
    paths = find_paths(plan)
    segments = find_segments(plan, stats, paths)
    path_data = {path.id: _path(plan, stats, path) for path in paths}
    segment_data = {segment.id: _segment(plan, segment) for segment in segments}
    return {
        "streams": {
            name: {
                "schema": _schema(stream.schema),
                "time": stream.time,
                "slack": stream.slack_s,
                "source": dict(stream.source),
            }
            for name, stream in plan.streams.items()
        },
        "tables": {
            name: {"schema": _schema(table.schema), "source": dict(table.source)} for name, table in plan.tables.items()
        },
        "classes": {
            name: {
                "priority": one.priority,
                "queries": [q.name for q in plan.queries.values() if q.class_name == name],
            }
            for name, one in plan.classes.items()
        },
        "queries": {
            query.name: _query(plan, stats, query)
            | {
                "paths": [path_data[path.id] for path in paths if path.query == query.name],
                "segments": [one for one in segment_data.values() if query.name in one["queries"]],
            }
            for query in plan.queries.values()
        },
        "paths": list(path_data.values()),
        "segments": list(segment_data.values()),
        "policy": {"name": app.policy.name, "parameters": dict(app.policy.parameters)},
        "slots": app.slots,
        "seed": app.seed,
        "checkpoint": None if kept is None else {"path": kept.path, "interval_s": kept.interval_s, "keep": kept.keep},
        "warnings": list(plan.warnings),
    }


def _query(plan: Plan, stats: AssumedStats, query: Query) -> dict[str, Any]:
    policy = query.policy
    return {
        "class": query.class_name,
        "result": str(query.root),
        "schema": _schema(plan.schemas[query.root]),
        "sink": dict(query.sink),
        "qos": {measure.name: measure.as_data() for measure in query.qos},
        "tolerance": query.tolerance,
        "shed": query.shed,
        "policy": None if policy is None else {"name": policy.name, "parameters": dict(policy.parameters)},
        "linger": plan.linger_s(query.name),
        "grows": list(plan.grows.get(query.name, ())),
        "operators": [_operator(plan, stats, plan.operators[name]) for name in query.operators],
    }


def _operator(plan: Plan, stats: AssumedStats, operator: Operator) -> dict[str, Any]:
    known = stats.of(operator.id)
    declared = operator.declared
    return {
        "id": operator.id,
        "kind": operator.kind,
        "parameters": operator.describe(),
        "inputs": [str(port) for port in operator.inputs],
        "bounds": _bounds(operator),
        "cost": known.cost_s,
        "fixed_cost": declared.fixed_s,
        "selectivity": known.selectivity,
        "assumed": stats.known[operator.id].selectivity is None,
        "branches": dict(known.branches),
        "sides": _sides(stats, operator),
        "bytes": port_bytes(plan)[operator.ports[0]],
        "schema": _schema(plan.schemas[operator.ports[0]]),
        "queries": list(plan.owners[operator.id]),
    }


def _bounds(operator: Operator) -> list[str]:
    """Which windows tuples at boundaries belong to: CQL and Spark differ."""
    found = [window.bounds for window in operator.windows if isinstance(window, RangeWindow)]
    if isinstance(operator, Aggregate) and any(map(is_spark_window, operator.group.values())):
        found.append(SPARK_BOUNDS)
    return list(dict.fromkeys(text for text in found if text is not None))


def _sides(stats: AssumedStats, operator: Operator) -> list[dict[str, Any]]:
    """Cost and selectivity of each input of an operator with several inputs."""
    sides = stats.of(operator.id).sides
    known = stats.known[operator.id].sides
    return [
        {
            "input": str(port),
            "cost": side.cost_s,
            "selectivity": side.selectivity,
            "assumed": before.selectivity is None,
        }
        for port, side, before in zip(operator.inputs, sides, known, strict=False)
    ]


def _path(plan: Plan, stats: AssumedStats, path: Path) -> dict[str, Any]:
    steps = path_steps(plan, stats, path)
    return {
        "id": path.id,
        "query": path.query,
        "stream": path.stream,
        "operators": list(path.operators),
        "cost": path_cost(steps),
        "selectivity": path_selectivity(steps),
        "capacity": finite(path_capacity(steps)),
    }


def _segment(plan: Plan, segment: Segment) -> dict[str, Any]:
    owners = {query for name in segment.operators for query in plan.owners[name]}
    return {
        "id": segment.id,
        "operators": list(segment.operators),
        "queries": [name for name in plan.queries if name in owners],
        "cost": segment.cost_s,
        "capacity": finite(segment.capacity),
        "release": finite(segment.release),
    }


def _schema(schema: Schema) -> list[dict[str, str | None]]:
    return [{"name": column.name, "type": column.type} for column in schema]
