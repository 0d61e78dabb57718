"""`/metrics` for Prometheus: the overview of the run, and the requests. docs/server.md lists the names."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client import Counter as RequestCounter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headgate.server.http.access import Reader
from headgate.server.service import Service

ELSEWHERE = "other"  # the route of requests that no route of the API takes: labels must stay few
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_NO_CHECKPOINTS: Mapping[str, Any] = {"taken": 0, "failed": 0, "last": None, "pause_s": {"max": None}}
_QUANTILES = {"p50": "0.5", "p95": "0.95", "p99": "0.99"}

Overview = Mapping[str, Any]
Look = Callable[[Mapping[str, Any]], float | None]  # from an entry of the overview to a value; None: not known


disable_created_metrics()  # when each was first counted: nobody needs that, and it doubles their number


class Metrics:
    """What a server counts itself, and a registry that has the overview of its run, too."""

    def __init__(self, service: Service, listeners: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        self.requests = RequestCounter(
            "headgate_http_requests", "Requests by route and status.", ["method", "route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "headgate_http_request_seconds", "Seconds until an answer began.", ["method", "route"],
            buckets=_BUCKETS, registry=self.registry,
        )  # fmt: skip
        self.registry.register(RunCollector(service, listeners))
        ProcessCollector(registry=self.registry)

    def text(self) -> bytes:
        """Everything in Prometheus's text format."""
        return generate_latest(self.registry)


class RunCollector(Collector):
    """The overview of a run, looked at once for each scrape."""

    def __init__(self, service: Service, listeners: Callable[[], int]) -> None:
        self._service = service
        self._listeners = listeners

    def describe(self) -> Iterable[Metric]:
        """Nothing is known before the first scrape; the registry would otherwise ask for all of it."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Called by the registry for each scrape."""
        overview = self._service.overview()
        yield from _of_the_run(overview, self._listeners())
        yield from _of_streams(overview["streams"])
        yield from _of_classes(overview["classes"])
        yield from _of_queries(overview["queries"])


def _of_the_run(overview: Overview, listeners: int) -> Iterator[Metric]:
    policy, queues = overview["policy"], overview["queues"]
    parameters = ",".join(f"{key}={value}" for key, value in policy["parameters"].items())
    yield InfoMetricFamily(
        "headgate_policy", "The policy in charge.", {"name": policy["name"], "parameters": parameters}
    )
    gauges = (
        ("headgate_running", "1 while the run goes on.", float(overview["running"])),
        ("headgate_run_seconds", "Seconds since the run began.", overview["at"]),
        ("headgate_slots", "Calls that may be in flight.", overview["slots"]),
        ("headgate_load_ratio", "Share of the slots' time that was busy.", overview["load"]),
        ("headgate_queued_tuples", "Tuples that wait in queues.", queues["tuples"]),
        ("headgate_queued_bytes", "Bytes that wait in queues.", queues["bytes"]),
        ("headgate_spilled_bytes", "Of these, bytes on disk.", queues["spilled_bytes"]),
        ("headgate_input_tuples_per_second", "Tuples of streams, each counted once.", overview["inputs_per_second"]),
        ("headgate_output_tuples_per_second", "Results of all queries.", overview["outputs_per_second"]),
        ("headgate_listeners", "Clients that follow results.", listeners),
    )
    for name, text, value in gauges:
        yield GaugeMetricFamily(name, text, value=_number(value))
    yield CounterMetricFamily("headgate_dead_letter_rows", "Rows put aside.", value=overview["dead_letters"])
    yield from _of_checkpoints(overview["checkpoint"] or _NO_CHECKPOINTS, overview["at"])


def _of_checkpoints(found: Overview, at: float) -> Iterator[Metric]:
    yield CounterMetricFamily("headgate_checkpoints", "Checkpoints taken.", value=found["taken"])
    yield CounterMetricFamily("headgate_checkpoint_failures", "Checkpoints that failed.", value=found["failed"])
    pause, age = found["pause_s"]["max"], None if found["last"] is None else at - found["last"]["at"]
    for name, text, value in (
        ("headgate_checkpoint_pause_max_seconds", "Longest time that calls waited for one.", pause),
        ("headgate_checkpoint_age_seconds", "Seconds since the last one.", age),
    ):
        yield GaugeMetricFamily(name, text, value=_number(value))


def _of_streams(streams: Mapping[str, Overview]) -> Iterator[Metric]:
    yield from _gauges(
        "stream",
        streams,
        ("headgate_stream_tuples_per_second", "Arrival rate.", lambda one: one["tuples_per_second"]),
        ("headgate_stream_queries", "Queries that read it.", lambda one: one["queries"]),
        ("headgate_stream_open", "1 until it has ended.", lambda one: float(one["open"])),
    )
    late = CounterMetricFamily("headgate_stream_late_tuples", "Tuples that came too late.", labels=["stream"])
    for name, one in streams.items():
        late.add_metric([name], one["late"])
    yield late


def _of_classes(classes: Mapping[str, Overview]) -> Iterator[Metric]:
    latency = GaugeMetricFamily(
        "headgate_class_latency_seconds", "Latency of the last minute.", labels=["class", "quantile"]
    )
    for name, one in classes.items():
        for key, quantile in _QUANTILES.items():
            latency.add_metric([name, quantile], _number(one["latency"][key]))
    yield latency
    yield from _gauges(
        "class",
        classes,
        *_latencies("class"),
        ("headgate_class_priority", "Its priority.", lambda one: one["priority"]),
        ("headgate_class_queries", "Its queries that run.", lambda one: one["queries"]),
        ("headgate_class_output_tuples_per_second", "Its results.", lambda one: one["outputs_per_second"]),
        ("headgate_class_input_tuples_per_second", "What its queries read.", lambda one: one["inputs_per_second"]),
    )


def _of_queries(queries: Mapping[str, Overview]) -> Iterator[Metric]:
    states = Counter(one["state"] for one in queries.values())
    counts = GaugeMetricFamily("headgate_queries", "Queries by state.", labels=["state"])
    for state in ("running", "stopped", "ended", "failed"):
        counts.add_metric([state], states[state])
    yield counts
    info = InfoMetricFamily("headgate_query", "Class, state and own policy.", labels=["query"])
    outputs = CounterMetricFamily("headgate_query_output_tuples", "Results so far.", labels=["query"])
    for name, one in queries.items():
        info.add_metric([name], {"class": one["class"] or "", "state": one["state"], "policy": one["policy"] or ""})
        outputs.add_metric([name], one["outputs"])
    yield info
    yield outputs
    yield from _gauges(
        "query",
        queries,
        *_latencies("query"),
        ("headgate_query_waiting_tuples", "Tuples that wait for it.", lambda one: one["waiting"]),
        ("headgate_query_shed_ratio", "Share of its tuples that is dropped now.", lambda one: one["shedding"]),
    )


def _latencies(label: str) -> tuple[tuple[str, str, Look], ...]:
    name = f"headgate_{label}_latency"
    return (
        (f"{name}_mean_seconds", "Mean latency of the last minute.", lambda one: one["latency"]["mean"]),
        (f"{name}_max_seconds", "Largest latency of the last minute.", lambda one: one["latency"]["max"]),
    )


def _gauges(label: str, found: Mapping[str, Overview], *wanted: tuple[str, str, Look]) -> Iterator[Metric]:
    """One metric for each wanted value; entries of which it is not known are left out."""
    for name, text, look in wanted:
        metric = GaugeMetricFamily(name, text, labels=[label])
        for key, one in found.items():
            value = look(one)
            if value is not None:
                metric.add_metric([key], value)
        yield metric


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


class RequestMetrics:
    """Counts requests by route and status, and how long answers take to begin. Outermost of all that requests pass."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._count(scope, message["status"], time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counted)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route(scope)
        method = scope["method"] if scope["method"] in _METHODS else ELSEWHERE
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)


def _route(scope: Scope) -> str:
    """The route that took a request, with names for what varies: `/v1/queries/{name}`.

    A route knows only the end of its path; what stands before it, in the routers that hold it, never varies.
    """
    end = getattr(scope.get("route"), "path", None)
    if end is None or not scope["path"].startswith(("/v1/", "/metrics")):
        return ELSEWHERE
    whole, parts = scope["path"].split("/"), end.split("/")
    return "/".join([*whole[: len(whole) - len(parts) + 1], *parts[1:]])


_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
metrics_route = APIRouter(tags=["system"])


@metrics_route.get("/metrics", dependencies=[Reader], include_in_schema=False)  # it is not of the API
def read_metrics(request: Request) -> Response:
    """Everything that is measured, in Prometheus's text format."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)
