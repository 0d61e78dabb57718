"""The application file as it is written: which keys it has and what each may hold.

These models check shape alone (keys, types, ranges); `planner.py` checks what they mean together. Every section refuses
unknown keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from headgate.application.checked import CheckpointSettings, QueueSettings
from headgate.application.operator_sections import AnyOperator, StatsSection
from headgate.connect.sinks import SINKS, Memory
from headgate.connect.sources import SOURCES, TABLES
from headgate.plan.quality import QosGraph, QosMeasure, read_goals
from headgate.qos.monitoring import Monitoring
from headgate.qos.settings import CANDIDATES, OptimizerSettings, Selection
from headgate.settings.kinds import one_of
from headgate.settings.sections import (
    Count,
    Duration,
    Filled,
    Name,
    NotNegative,
    Section,
    Share,
    as_text,
    refuse,
    shown,
)
from headgate.settings.sizes import MemorySize

# Sources and tables ---------------------------------------------------------------------------------------------

Source = Annotated[Any, one_of(lambda: SOURCES)]
TableSection = Annotated[Any, one_of(lambda: TABLES)]


def _max_jump(value: Any) -> Any:
    """A duration; `off` is false in YAML."""
    return None if value is False or value == "off" else value


class StreamSection(Section):
    schema_: Filled = Field(alias="schema")
    time: Filled | None = None
    slack: Duration = 0.0
    max_jump: Annotated[Duration | None, BeforeValidator(_max_jump)] = None  # default: depends on the type of `time`
    relation: bool = False
    source: Source


# Queries --------------------------------------------------------------------------------------------------------


def _points(value: list[list[float]]) -> list[list[float]]:
    times = [point[0] for point in value]
    if len(value) < 2 or len(value) % 2 or times != sorted(times):
        raise refuse(
            "points come in pairs, one pair per interval, in order of time",
            "write [[from, value], [to, value], ...], for example [[0, 0.5], [60, 0.5]]",
        )
    return value


Point = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]


class QosSection(Section):
    priority: Literal["must", "best-effort", "dont-care"]
    points: Annotated[list[Point], AfterValidator(_points)]

    def measure(self, name: Literal["latency", "memory", "throughput"]) -> QosMeasure:
        """What the section says, for a plan."""
        return QosMeasure(name, self.priority, QosGraph(tuple((time, value) for time, value in self.points)))


class GoalSection(Section):
    statistic: Literal["latency", "memory", "throughput"]
    goal: Literal["minimize", "maximize"] | None = None  # default: what is good of the statistic
    weight: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


def _goals(value: list[GoalSection]) -> list[GoalSection]:
    """Goals that make sense together."""
    try:
        read_goals([one.model_dump(exclude_none=True) for one in value])
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        raise refuse(problem, remedy) from error
    return value


Goals = Annotated[list[GoalSection], Field(min_length=1), AfterValidator(_goals)]


class ShedSection(Section):
    attribute: Filled
    drop: Literal["lowest", "center", "highest"]


Sink = Annotated[Any, one_of(lambda: SINKS)]


def _policy(value: Any) -> Any:
    """`rr` or `{name: rr, quantum: 0.05}`."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value
    raise refuse(f"{shown(value)} does not name a policy", "write a name, or {name: rr, quantum: 0.05}")


def _shed(value: Any) -> Any:
    if isinstance(value, str) and value != "random":
        raise refuse(f"'{value}' is not a way to shed load", "use random, or {attribute: column, drop: lowest}")
    return value


Policy = Annotated[dict[str, Any], BeforeValidator(_policy)]


class QuerySection(Section):
    cql: Filled | None = None
    stats: dict[str, StatsSection] = {}  # of the operators that the text is compiled to
    operators: list[AnyOperator] = []
    class_: Filled | None = Field(default=None, alias="class")
    qos: dict[Literal["latency", "memory", "throughput"], QosSection] = {}
    tolerance: Share | None = None
    shed: Annotated[Literal["random"] | ShedSection | None, BeforeValidator(_shed)] = None
    error_bounds: bool = False
    emit: Literal["changes", "final"] = "changes"
    sink: Sink = Memory()
    policy: Policy | None = None
    goals: Goals | None = None  # for its own policy `adaptive`
    on_error: Literal["stop", "skip"] = "stop"
    linger: Duration | None = None  # default: that of its class

    @property
    def measures(self) -> tuple[QosMeasure, ...]:
        """What is promised, for a plan."""
        return tuple(qos.measure(name) for name, qos in self.qos.items())

    @property
    def what_to_shed(self) -> Any:
        """What is dropped first, for a plan."""
        return self.shed.model_dump() if isinstance(self.shed, ShedSection) else self.shed

    @model_validator(mode="before")
    @classmethod
    def _one_way_to_say_it(cls, data: Any) -> Any:
        if isinstance(data, dict):
            if data.get("cql") is not None and data.get("operators"):
                raise refuse("the query has both 'cql' and 'operators'", "keep one of them", at="cql")
            if data.get("cql") is None and not data.get("operators"):
                raise refuse("the query is empty", "write it as 'cql', or list its 'operators'")
            if data.get("operators") and data.get("stats") is not None:
                raise refuse("'stats' is for queries in CQL", "declare them in each operator", at="stats")
        return data


# The whole file -------------------------------------------------------------------------------------------------


class ClassSection(Section):
    priority: Annotated[int, Field(gt=0, lt=2**31)]
    linger: Duration | None = None  # default: see `runtime.spark.engine`


class SimulatorSection(Section):
    noise: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    decision: Duration = 0.0
    call: Duration = 0.0
    switch: Duration = 0.0
    preempt: Duration = 0.0
    inspect: Duration = 0.0
    look_ahead: Duration = 0.0
    class_switch: Duration = 0.0
    source_slots: Count = 0
    source_cost: Duration = 0.0
    fluid: bool = False
    in_step: bool = False


class OptimizerSection(Section):
    selection: Selection = "table"
    candidates: Annotated[list[Filled] | None, Field(min_length=1)] = None  # default: those of the papers' table
    checks: Annotated[int, Field(gt=0)] = Monitoring.checks
    shortest: Annotated[Duration, Field(gt=0)] = Monitoring.shortest_s
    longest: Annotated[Duration, Field(gt=0)] = Monitoring.longest_s
    look_ahead: Share = Monitoring.look_ahead
    linger: bool = True

    def settings(self) -> OptimizerSettings:
        """What the section says, for a run."""
        candidates = CANDIDATES if self.candidates is None else tuple(self.candidates)
        return OptimizerSettings(
            self.selection,
            candidates,
            Monitoring(self.checks, self.shortest, self.longest, self.look_ahead),
            self.linger,
        )


class QueuesSection(Section):
    memory: MemorySize = QueueSettings.memory_bytes
    disk: MemorySize = QueueSettings.disk_bytes
    folder: Filled | None = None

    def settings(self, base: Path) -> QueueSettings:
        """What the section says, for a run; `base` is where relative file names start."""
        return QueueSettings(self.memory, self.disk, None if self.folder is None else base / self.folder)


class CheckpointSection(Section):
    path: Filled
    interval: Annotated[Duration, Field(ge=0.1)] = CheckpointSettings.interval_s
    keep: Annotated[int, Field(gt=1, le=1000)] = CheckpointSettings.keep

    def settings(self) -> CheckpointSettings:
        """What the section says, for a run."""
        return CheckpointSettings(self.path, self.interval, self.keep)


def _checkpoint(value: Any) -> Any:
    """`state/` is short for `{path: state/}`."""
    return {"path": value} if isinstance(value, str) else value


Checkpoint = Annotated[CheckpointSection, BeforeValidator(_checkpoint)]

MAY_BE_EMPTY = {"may_be_empty": True}  # the context in which an application may have no streams and no queries


class ApplicationFile(Section):
    extensions: list[Filled] = []  # the user's Python files and modules with kinds and policies
    streams: dict[Name, StreamSection]
    tables: dict[Name, TableSection] = {}
    classes: dict[Name, ClassSection] = {}
    queries: dict[Name, QuerySection]
    policy: Policy | None = None  # default: see `planner.py`
    goals: Goals | None = None  # for the policy `adaptive`
    optimizer: OptimizerSection = OptimizerSection()
    slots: Annotated[int, Field(gt=0, le=1000)] = 2
    checkpoint: Checkpoint | None = None  # default: none are written
    queues: QueuesSection = QueuesSection()
    dead_letters: Filled | None = None  # default: beside the application file
    seed: Count = 0
    share: bool = False
    rehearse: bool | None = None
    driver_share: Share | None = None  # default: see `runtime.spark.direct.places`
    simulator: SimulatorSection = SimulatorSection()
    spark: dict[str, Annotated[str, BeforeValidator(as_text)]] = {}

    @model_validator(mode="after")
    def _something_to_do(self, info: ValidationInfo) -> ApplicationFile:
        for section in ("streams", "queries"):
            if not getattr(self, section) and info.context is not MAY_BE_EMPTY:
                raise refuse(f"there are no {section}", "add at least one", at=section)
        return self
