"""What people see of a run while it goes on, as plain data; `Run.overview` says what is in it.

A page asks often, and a run may have a thousand queries. So what changes is copied under the runtime's lock, and the
rest is done after it is released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.metrics.live_latencies import Window
from headgate.plan.model import Edge, Plan, Query
from headgate.plan.operators.base import Port
from headgate.qos.optimizer import Optimizer
from headgate.scheduling.core import Core
from headgate.scheduling.shedder import share_of

PERCENTS = (50, 95, 99)
MOST_DECISIONS = 100
_NOTHING = Window(0, None, None)


@dataclass(frozen=True)
class Sight:
    """What was copied of a core at one moment."""

    at: float
    window: float
    plan: Plan  # of the queries that run
    known: Mapping[str, Query]  # those that have ended, too
    slots: int
    busy: float | None
    policy: Mapping[str, Any]
    memory: Mapping[str, int | float]
    rates: Mapping[str, float]
    open: frozenset[str]
    late: Mapping[str, int]
    waiting: Mapping[Edge, int]
    occupied: frozenset[str]
    shed: Mapping[Edge, float]
    outputs: Mapping[str, int]
    queries: Mapping[str, Window]
    classes: Mapping[str, Window]
    percentiles: Mapping[str, list[float | None]]
    courses: Mapping[str, Mapping[str, Any]]  # latencies of classes over time, if somebody wants them
    errors: Mapping[str, str]


def look(core: Core, at: float, slots: int, errors: Mapping[str, str], over_time: bool = False) -> Sight:
    """Copy what changes; `over_time`: the latencies of classes over time, too. Called under the runtime's lock."""
    monitor, live = core.monitor, core.monitor.live
    core.board.now = at
    live.count(at)
    memory = core.memory
    return Sight(
        at=at,
        window=live.window_s(at),
        plan=core.plan,
        known=monitor.plan.queries,
        slots=slots,
        busy=core.work.busy_lately(at),
        policy={"name": core.policy, "parameters": dict(core.changes.parameters)},
        memory={"tuples": memory.waiting, "bytes": memory.used, "spilled_bytes": memory.spilled_bytes},
        rates=core.rates(),
        open=frozenset(core.time.open),
        late=core.time.late,
        waiting={edge: queue.count for edge, queue in core.queues.items() if queue.count},
        occupied=frozenset(core.occupied),
        shed={edge: share_of(shedder.extra) for edge, shedder in core.shedders.items() if shedder.extra},
        outputs={name: monitor.outputs_so_far(name) for name in monitor.queries},
        queries=live.queries.windows(),
        classes=live.classes.windows(),
        percentiles={name: live.classes.percentiles(name, PERCENTS) for name in core.plan.classes},
        courses={name: live.classes.course(name) for name in core.plan.classes} if over_time else {},
        errors=dict(errors),
    )


def overview(seen: Sight, sources: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The run as a whole, with the states of its sources."""
    plan = seen.plan
    readers = {name: plan.readers(name) for name in plan.streams}
    classes = {name: _class_overview(seen, name) for name in plan.classes}
    for query in plan.queries.values():
        classes[query.class_name]["queries"] += 1
    for stream, rate in seen.rates.items():
        for name in readers.get(stream, ()):
            entry = classes[plan.queries[name].class_name]
            entry["inputs_per_second"] = (entry["inputs_per_second"] or 0.0) + rate
    read = [stream for stream, names in readers.items() if names]
    results = sum(window.results for window in seen.classes.values())
    return {
        "at": seen.at,
        "slots": seen.slots,
        "load": None if seen.busy is None else min(1.0, seen.busy / seen.slots),
        "policy": seen.policy,
        "window": seen.window,
        "inputs_per_second": sum(seen.rates.get(stream, 0.0) for stream in read),
        "outputs_per_second": results / seen.window if seen.window > 0.0 else 0.0,
        "queues": seen.memory,
        "streams": {
            name: {
                "tuples_per_second": seen.rates.get(name),
                "queries": len(readers[name]),
                "open": name in seen.open,
                "late": seen.late.get(name, 0),
                "source": sources.get(name),
            }
            for name in plan.streams
        },
        "classes": classes,
        "shedders": [
            {"query": query, "operator": edge.operator, "input": edge.input, "share": share}
            for edge, share in seen.shed.items()
            for query in plan.owners.get(edge.operator, ())
        ],
        "queries": {name: _query_overview(seen, query) for name, query in {**seen.known, **plan.queries}.items()},
    }


def _class_overview(seen: Sight, name: str) -> dict[str, Any]:
    window = seen.classes.get(name, _NOTHING)
    p50, p95, p99 = seen.percentiles.get(name, [None] * 3)
    return {
        "priority": seen.plan.classes[name].priority,
        "queries": 0,
        "latency": {"mean": window.mean, "p50": p50, "p95": p95, "p99": p99, "max": window.max},
        "results": window.results,
        "outputs_per_second": window.results / seen.window if seen.window > 0.0 else 0.0,
        "inputs_per_second": None,
        **({"latencies": seen.courses[name]} if name in seen.courses else {}),
    }


def _query_overview(seen: Sight, query: Query) -> dict[str, Any]:
    window = seen.queries.get(query.name, _NOTHING)
    edges = _edges(seen.plan, query)
    return {
        "class": query.class_name,
        "state": state_of(seen, query.name),
        "error": seen.errors.get(query.name),
        "latency": {"mean": window.mean, "max": window.max},
        "results": window.results,
        "outputs": seen.outputs.get(query.name, 0),
        "waiting": sum(seen.waiting.get(edge, 0) for edge in edges),
        "policy": None if query.policy is None else query.policy.name,
        "shedding": max((seen.shed.get(edge, 0.0) for edge in edges), default=0.0),
    }


def state_of(seen: Sight, query: str) -> str:
    """Does a query run? It has ended, too, once its streams have ended and everything is processed."""
    if query in seen.errors:
        return "error"
    running = seen.plan.queries.get(query)
    if running is None:
        return "ended"
    if not seen.open.isdisjoint(seen.plan.reads[query]) or not seen.occupied.isdisjoint(running.operators):
        return "running"
    return "running" if any(edge in seen.waiting for edge in _edges(seen.plan, running)) else "ended"


def _edges(plan: Plan, query: Query) -> list[Edge]:
    """The queues of a query; none once it has ended."""
    names = query.operators if query.name in plan.queries else ()
    return [Edge(name, at) for name in names for at in range(len(plan.operators[name].inputs))]


# One query ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class QuerySight:
    """What was copied of one query, besides what was copied of the core."""

    core: Sight
    query: Query
    own: Mapping[str, Any]  # plain data


def look_at_query(core: Core, seen: Sight, name: str, optimizer: Optimizer, linger_s: float) -> QuerySight:
    """Copy what changes of one query. Called under the lock of the runtime."""
    monitor, live, plan = core.monitor, core.monitor.live, seen.plan
    query = plan.queries.get(name) or seen.known[name]
    runs = name in plan.queries
    linger = plan.linger_s(name) if runs else query.linger_s
    return QuerySight(
        seen,
        query,
        {
            "linger": linger_s if linger is None else linger,
            "inputs": monitor.inputs_so_far(name),
            "dropped": monitor.shed_so_far(name),
            "latencies": live.queries.course(name),
            "class_latencies": live.classes.course(query.class_name),
            "score": optimizer.score_of(name),
            "decisions": [one.as_data() for one in optimizer.decisions_about(name, MOST_DECISIONS)],
            "operators": _operators(core, query) if runs else [],
            "edges": _edges_of(core, query, seen) if runs else [],
        },
    )


def query_overview(seen: QuerySight, unprocessed: int) -> dict[str, Any]:
    """One query."""
    query, whole = seen.query, seen.core
    summary = _query_overview(whole, query)
    own_policy = query.policy
    return {
        "at": whole.at,
        "name": query.name,
        "priority": whole.plan.classes[query.class_name].priority if query.class_name in whole.plan.classes else None,
        **{key: summary[key] for key in ("class", "state", "error", "latency", "results", "outputs", "waiting")},
        "window": whole.window,
        "cql": query.cql,
        "policy": None if own_policy is None else {"name": own_policy.name, "parameters": dict(own_policy.parameters)},
        "tolerance": query.tolerance,
        "shed": query.shed,
        "error_bounds": query.error_bounds,
        "unprocessed": unprocessed,
        "qos": {one.name: {**one.as_data(), "expected": one.graph.expected(whole.at)} for one in query.qos},
        "streams": list(whole.plan.reads.get(query.name, ())),
        **seen.own,
    }


def _operators(core: Core, query: Query) -> list[dict[str, Any]]:
    found = []
    for name in query.operators:
        stats = core.stats.of(name)
        found.append(
            {
                "id": name,
                "kind": core.plan.operators[name].kind,
                "cost_s": stats.cost_s,
                "fixed_s": stats.fixed_s,
                "selectivity": stats.selectivity,
                "tuple_bytes": stats.tuple_bytes,
                "queries": list(core.plan.owners[name]),
            }
        )
    return found


def _edges_of(core: Core, query: Query, seen: Sight) -> list[dict[str, Any]]:
    found = []
    for edge in _edges(core.plan, query):
        port = core.plan.operators[edge.operator].inputs[edge.input]
        queue = core.queues[edge]
        found.append(
            {
                "from": port.node,
                "branch": "" if _is_stream(core.plan, port) else port.branch,
                "to": edge.operator,
                "input": edge.input,
                "waiting": queue.count,
                "bytes": int(queue.bytes),
                "shedding": seen.shed.get(edge, 0.0),
            }
        )
    return found


def _is_stream(plan: Plan, port: Port) -> bool:
    return port.node in plan.streams
