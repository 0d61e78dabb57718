"""The workloads of the dissertation as applications for the simulator, with the operators and costs of SimAQSIOS."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from headgate.flow.seeds import derived_seed
from headgate.plan.application import Application, PolicySettings, SimulatorSettings
from headgate.plan.graph import build_plan
from headgate.plan.model import Query, QueryClass, Stream
from headgate.plan.operators import Declared, Operator, Port, Project, Select, Union
from headgate.plan.schema import parse_schema
from headgate.studies.sweep import Point

US = 1e-6
SCHEMA = parse_schema("v INT", "streams")
CALL = 12 * US  # of any operator
COPY = 0.3 * US  # of a tuple, from the buffer of its source
COSTS = {"select": 5.5 * US, "project": 3.5 * US, "aggregate": 19 * US, "join": 11 * US, "output": 5.5 * US}
JOINED = 0.5  # results of a join for each tuple of either input
PASSED = (0.25, 1.0)  # selectivities of selects, drawn for each query


@cache
def workloads() -> Mapping[str, Any]:
    """All workloads by name."""
    found: dict[str, Any] = yaml.safe_load(files(__package__).joinpath("workloads.yaml").read_text())
    return found


def application(point: Point) -> Application:
    """The application of a point: `workload`, `policy`, `parameters`, `tuples` of a stream, `seed`."""
    workload = workloads()[point["workload"]]
    maker = _Maker(point, workload)
    source_slots, slots = workload["cores"]
    simulator = SimulatorSettings(
        noise=0.1,
        decision_s=5.5 * US,
        switch_s=2 * US,
        inspect_s=0.2 * US,
        source_slots=source_slots,
        source_cost_s=2 * US,
    )
    policy = PolicySettings(point["policy"], dict(point["parameters"]))
    plan = build_plan(maker.streams, {}, maker.classes, maker.operators, maker.queries)
    return Application(plan, policy, slots, point["seed"], simulator=simulator)


class _Maker:
    """Collects the parts of a plan."""

    def __init__(self, point: Point, workload: Mapping[str, Any]) -> None:
        self._point = point
        self._each = workload["streams"] == "each"
        self._draw = random.Random(derived_seed(point["seed"], "aqsios", "selectivities"))
        self.streams: dict[str, Stream] = {}
        self.classes: dict[str, QueryClass] = {}
        self.operators: list[Operator] = []
        self.queries: list[Query] = []
        for number, section in enumerate(workload["classes"], start=1):
            self._add_class(f"class{number}", section)

    def _add_class(self, name: str, section: Mapping[str, Any]) -> None:
        self.classes[name] = QueryClass(name, section["priority"])
        inputs = self._inputs(name, section)
        number = 0
        for kind in ("aggregate", "join", "select"):
            for _ in range(section[f"{kind}s"]):
                number += 1
                query = f"{name}-{kind}{number}"
                root = self._query(query, kind, [next(inputs) for _ in range(2 if kind == "join" else 1)])
                self.queries.append(Query(query, name, root, (), sink={"kind": "none"}))

    def _inputs(self, name: str, section: Mapping[str, Any]) -> Iterator[Port]:
        """A stream of its own for each input of a query, or the two of the class in turn."""
        number = 0
        while True:
            stream = f"{name}-s{number if self._each else number % 2}"
            if stream not in self.streams:
                source = {
                    "kind": "feeder",
                    "arrivals": "poisson",
                    "rate": section["rate"],
                    "rows": self._point["tuples"],
                }
                self.streams[stream] = Stream(stream, SCHEMA, source)
            yield Port(stream)
            number += 1

    def _query(self, query: str, kind: str, inputs: Sequence[Port]) -> Port:
        if kind == "aggregate":
            port = self._add(query, "aggregate", inputs, COPY)
        elif kind == "join":
            port = self._add(query, "project", [self._add(query, "join", inputs, COPY, JOINED)])
        else:
            port = self._add(query, "project", [self._add(query, "select", inputs, COPY, self._draw.uniform(*PASSED))])
        return self._add(query, "output", [port])

    def _add(self, query: str, kind: str, inputs: Sequence[Port], more: float = 0.0, passed: float = 1.0) -> Port:
        name = f"{query}/{kind}"
        declared = Declared(fixed_s=CALL, cost_s=COSTS[kind] + more, selectivity=passed)
        if len(inputs) > 1:
            self.operators.append(Union(id=name, inputs=tuple(inputs), declared=declared))
        elif kind == "select":
            self.operators.append(Select(id=name, inputs=tuple(inputs), declared=declared, where="true"))
        else:
            self.operators.append(Project(id=name, inputs=tuple(inputs), declared=declared, columns={"v": "v"}))
        return Port(name)
