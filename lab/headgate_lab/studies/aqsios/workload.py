"""The workloads of the dissertation as applications for the simulator, with the operators and costs of SimAQSIOS.

A point has the parameters `workload`, `scheduler`, `tuples` (per stream), `seed`, `low` (the class with a low input
rate, 0 for none), `profile` (what changes over time, "" for nothing), `in_step`, and `variant`: "cheap calls", "taken
back" (see that module) or "".
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from headgate.application.checked import Change, CheckedApplication, SimulatorSettings
from headgate.plan.graph import build_plan
from headgate.plan.model import Query, QueryClass, Stream
from headgate.plan.operators import Declared, Operator, Port, Project, Select, Union
from headgate.sql.schema import parse_schema
from headgate_lab.studies.aqsios.schedulers import settings
from headgate_lab.studies.sweep import Point

US = 1e-6
SCHEMA = parse_schema("v INT", "streams")
RAMP_STEPS = 40
_USUAL_RATE = 1500.0  # a rough rate for streams whose rate changes
BY_OPERATOR = {"rr", "hr", "wehr", "cqc", "morr", "mol"}


@cache
def workloads() -> Mapping[str, Any]:
    """All workloads by name."""
    return data("workloads.yaml")


@cache
def costs(variant: str = "") -> Mapping[str, Any]:
    """The costs of operators and of scheduling."""
    found = data("costs.yaml")
    return {**found, **found["variants"].get(variant, {})}


@cache
def profiles() -> Mapping[str, Any]:
    """What changes over time, by name."""
    return data("profiles.yaml")


def data(name: str) -> Mapping[str, Any]:
    """A data file of the study."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath(name).read_text(encoding="utf-8"))
    return found


def application(point: Point) -> CheckedApplication:
    """The application of a point."""
    workload = workloads()[point["workload"]]
    maker = _Maker(point, workload)
    plan = build_plan(maker.streams, {}, maker.classes, maker.operators, maker.queries)
    policy = settings(point["scheduler"])
    source_slots, slots = workload["cores"]
    cost, by_operator = costs(point.get("variant", "")), policy.name in BY_OPERATOR | {"abd"}
    simulator = SimulatorSettings(
        noise=cost["noise"],
        decision_s=cost["decision"] * US if slots > 1 else 0.0,
        class_switch_s=cost["class_switch"] * US,
        look_ahead_s=cost["look_ahead"] * US,
        switch_s=cost["switch"] * US,
        inspect_s=cost["inspect_operator" if by_operator else "inspect_query"] * US,
        source_slots=source_slots,
        source_cost_s=cost["operators"]["source"] * US,
        selectivities=maker.selectivities,
        in_step=point.get("in_step", True),
    )
    return CheckedApplication(plan, policy, slots, point["seed"], simulator=simulator, changes=tuple(maker.changes))


def input_seconds(point: Point) -> float:
    """How long the streams deliver tuples: until the fastest steady one has delivered `tuples`, so that all end
    together. (In the dissertation a class with a low input rate would go on alone, long after the others.) Where
    something changes over time, the profile says how long."""
    lasts = profiles()["seconds"].get(point.get("profile", ""))
    if lasts is not None:
        return float(lasts)
    if point["workload"].startswith("5O"):
        return float(profiles()["ramp"]["seconds"]) * point["tuples"] / 10_000
    rates = [section["rate"] for section in workloads()[point["workload"]]["classes"]]
    return float(point["tuples"] / max(rate for rate in rates if not isinstance(rate, str)))


def has_its_time(point: Point) -> bool:
    """Is the length of the input fixed, whatever the number of tuples, because something changes over time?"""
    return point.get("profile", "") in profiles()["seconds"] or point["workload"].startswith("5O")


def input_tuples(point: Point) -> float:
    """Roughly how many tuples the queries read: the time that a run takes grows with it."""
    read = 0.0
    for section in workloads()[point["workload"]]["classes"]:
        rate = section["rate"] if not isinstance(section["rate"], str) else _USUAL_RATE
        read += rate * (section["aggregates"] + 2 * section["joins"] + section["selects"])
    return read * input_seconds(point)


class _Maker:
    """Collects the parts of a plan."""

    def __init__(self, point: Point, workload: Mapping[str, Any]) -> None:
        self._point = point
        self._workload = workload
        self._costs = costs(point.get("variant", ""))
        self._profile = point.get("profile", "")
        self.seconds = input_seconds(point)
        source_slots, slots = workload["cores"]
        self._single = source_slots == 0
        self._several = slots > 1
        self._draw = random.Random(f"aqsios selectivities {point['seed']}")
        self.streams: dict[str, Stream] = {}
        self.classes: dict[str, QueryClass] = {}
        self.operators: list[Operator] = []
        self.queries: list[Query] = []
        self.selectivities: dict[str, list[tuple[float, float]]] = {}
        self.changes: list[Change] = []
        for number, section in enumerate(workload["classes"], start=1):
            self._add_class(number, section)
        for kind in workload.get("across", ()):
            self._add_across(kind)
        self._take_priorities()

    def _take_priorities(self) -> None:
        """Set the initial priorities and schedule the changes to them."""
        for at, priorities in profiles()["priorities"].get(self._profile, ()):
            by_class = dict(zip(self.classes, priorities, strict=True))
            if at > 0.0:
                self.changes.append(Change(at, by_class))
            else:
                self.classes = {name: QueryClass(name, priority) for name, priority in by_class.items()}

    def _add_class(self, number: int, section: Mapping[str, Any]) -> None:
        name = f"class{number}"
        self.classes[name] = QueryClass(name, section["priority"])
        inputs = self._inputs(number, section["rate"])
        count = 0
        for kind in ("aggregate", "join", "select"):
            for _ in range(section[f"{kind}s"]):
                count += 1
                self._add_query(f"{name}-{kind}{count}", number, kind, inputs)

    def _inputs(self, number: int, rate: Any) -> Iterator[str]:
        """Yield a stream for each input of a query: a new one each time, or the class's two streams in turn."""
        at = 0
        while True:
            shared = self._workload["streams"] == "class"
            stream = f"class{number}-s{at % 2 if shared else at}"
            if stream not in self.streams:
                self.streams[stream] = Stream(stream, SCHEMA, self._source(number, rate))
            yield stream
            at += 1

    def _source(self, number: int, rate: Any) -> dict[str, Any]:
        if self._point.get("low") == number:
            rate = profiles()["low"]
        if self._profile == "adaptive" and number == 1:
            rate = "adaptive"
        source: dict[str, Any] = {"kind": "feeder", "arrivals": "poisson"}
        steps = _rates(rate) if isinstance(rate, str) else [(0.0, float(rate))]
        first, ends = steps[0][1], [*(at for at, _ in steps[1:]), math.inf]
        tuples = sum(r * max(0.0, min(end, self.seconds) - at) for (at, r), end in zip(steps, ends, strict=True))
        changes = [[at, r / first] for at, r in steps[1:]]
        return {**source, "rate": first, "rows": round(tuples), "changes": changes}

    def _add_query(self, query: str, number: int, kind: str, streams: Iterator[str]) -> None:
        ports = [self._port(query, next(streams), at) for at in range(2 if kind == "join" else 1)]
        if kind == "aggregate":
            root = self._add(query, "aggregate", ports, number)
        elif kind == "join":
            ports = [self._extra_select(query, at, port, number) for at, port in enumerate(ports)]
            joined = self._add(query, "join", ports, number, self._costs["passed"]["join"])
            root = self._add(query, "project", [joined], number)
        else:
            passed = self._passed(number)
            root = self._add(query, "project", [self._add(query, "select", ports, number, passed)], number)
        self._end(query, number, root)

    def _passed(self, number: int) -> float:
        """The selectivity that a select has at the start."""
        # Drawn even if it is not used, so that the other selectivities are the same in all experiments.
        drawn = self._draw.uniform(*self._costs["passed"]["select"])
        return self._changing()[0][1] if number == 3 and self._profile == "sel-change" else drawn

    def _changing(self) -> list[tuple[float, float]]:
        return [(at, share) for at, share in profiles()["selectivities"]["sel-change"]]

    def _add_across(self, kind: str) -> None:
        """Add a query over one stream of every class; it belongs to the most important class."""
        ports = [Port(f"class{number}-s0") for number in range(1, len(self._workload["classes"]) + 1)]
        root = self._add(kind, kind, ports, 1, self._costs["passed"].get(kind, 1.0))
        self._end(kind, 1, root)

    def _end(self, query: str, number: int, root: Port) -> None:
        port = self._add(query, "output", [root], number)
        self.queries.append(Query(query, f"class{number}", port, (), sink={"kind": "none"}))

    def _port(self, query: str, stream: str, at: int) -> Port:
        """The port that a query reads: a stream, or on a single core the operator that is its source."""
        return self._add(f"{query}-in{at}", "source", [Port(stream)], 0) if self._single else Port(stream)

    def _extra_select(self, query: str, at: int, port: Port, number: int) -> Port:
        """In Sel-Change, every input of class 3's joins goes through an additional select."""
        if self._profile == "sel-change" and number == 3:
            return self._add(f"{query}-in{at}", "select", [port], number)
        return port

    def _add(self, query: str, kind: str, inputs: Sequence[Port], number: int, passed: float = 1.0) -> Port:
        name = f"{query}/{kind}"
        cost = self._costs
        fixed = cost["source_call" if kind == "source" else "call"] * US
        copied = cost["copy"] * US if self._several and any(port.node in self.streams for port in inputs) else 0.0
        declared = Declared(fixed_s=fixed, cost_s=cost["operators"][kind] * US + copied, selectivity=passed)
        self._vary(name, kind, number, passed)
        if len(inputs) > 1:
            self.operators.append(Union(id=name, inputs=tuple(inputs), declared=declared))
        elif kind == "select":
            self.operators.append(Select(id=name, inputs=tuple(inputs), declared=declared, where="true"))
        else:
            self.operators.append(Project(id=name, inputs=tuple(inputs), declared=declared, columns={"v": "v"}))
        return Port(name)

    def _vary(self, name: str, kind: str, number: int, passed: float) -> None:
        """Note selectivities that change over time, as in two of the experiments."""
        if self._profile == "sel-change" and number == 3 and kind == "select":
            self.selectivities[name] = self._changing()
        if self._profile == "piat" and kind in ("select", "join") and str(number) in profiles()["factors"]:
            factors = profiles()["factors"][str(number)]
            self.selectivities[name] = [(at, min(1.0, passed * factor)) for at, factor in factors]


def _rates(name: str) -> list[tuple[float, float]]:
    """The rates of a profile as (start time, rate)."""
    if name != "ramp":
        return [(float(at), float(rate)) for at, rate in profiles()["rates"][name]]
    ramp = profiles()["ramp"]
    width, rise = ramp["seconds"] / RAMP_STEPS, (ramp["to"] - ramp["from"]) / RAMP_STEPS
    return [(at * width, ramp["from"] + rise * (at + 0.5)) for at in range(RAMP_STEPS)]
