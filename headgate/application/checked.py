"""A checked application: a plan and how to run it. Checking returns it; runtimes take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headgate.plan.model import Plan
from headgate.plan.model import PolicySettings as PolicySettings  # part of what runtimes take
from headgate.qos.settings import OptimizerSettings


@dataclass(frozen=True)
class SimulatorSettings:
    """What the simulator adds to the declared costs; everything off by default, as in the papers' models."""

    noise: float = 0.0  # costs vary uniformly by this share: 0.1 is +-10 %
    decision_s: float = 0.0  # a scheduling decision
    call_s: float = 0.0  # any call, in addition to the fixed costs of its operators, as on Spark; policies know it
    switch_s: float = 0.0  # calling an operator
    preempt_s: float = 0.0  # stopping a call
    stops_calls: bool = True  # may an arrival stop a call? On Spark none can
    inspect_s: float = 0.0  # looking at one queue or schedule entry on the way to a decision
    look_ahead_s: float = 0.0  # looking at a schedule entry beyond the one that is due
    class_switch_s: float = 0.0  # going on from one class to the next on the way to a decision
    source_slots: int = 0  # cores that only read sources; 0: sources cost nothing
    source_cost_s: float = 0.0  # per tuple read, on a source slot
    fluid: bool = False  # tuples shrink by the selectivity instead of passing or not
    selectivities: Mapping[str, Sequence[tuple[float, float]]] = field(
        default_factory=dict
    )  # operator -> arrival times, and the selectivity from each on; policies see measured values
    in_step: bool = False  # operators with several inputs take tuples in order of arrival: inputs wait for each other


@dataclass(frozen=True)
class QueueSettings:
    """How much may wait in queues, and where batches go that do not fit into memory."""

    memory_bytes: int = 512 * 2**20  # beyond it batches go to disk; sources that can be replayed wait at half of it
    disk_bytes: int = 16 * 10**9  # beyond it every source waits, and pushed rows are refused in the end
    folder: Path | None = None  # None: the system's temporary folder


@dataclass(frozen=True)
class Change:
    """New priorities that the administrator gives to classes at a time of a simulated run."""

    at_s: float
    priorities: Mapping[str, int]


@dataclass(frozen=True)
class CheckpointSettings:
    """Where checkpoints are kept, and how often one is written."""

    path: str  # a folder, from the application's on, or a URI that Hadoop knows
    interval_s: float = 10.0
    keep: int = 3  # so many of the latest stay
    # In a server, by place (`queries.fire`), the Unix time since which a query or stream is what it is: state from
    # before is that of another. What the application says is then newer than settings in a checkpoint.
    since: Mapping[str, float] | None = None


@dataclass(frozen=True)
class CheckedApplication:
    """Everything that a runtime needs to know. `folder` is where relative file names start."""

    plan: Plan
    policy: PolicySettings = field(default_factory=PolicySettings)
    slots: int = 1
    seed: int = 0
    folder: Path = Path()
    name: str = ""  # the file that it was read from, for messages
    dead_letters: Path | None = None  # where rows that were put aside are written; None: they are only counted
    checkpoint: CheckpointSettings | None = None  # None: the run writes none
    queues: QueueSettings = QueueSettings()
    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    simulator: SimulatorSettings = SimulatorSettings()
    changes: tuple[Change, ...] = ()  # for the simulator; on Spark, changes are made while it runs
    rehearse: bool | None = None  # run every unit on a sample before the clock starts? None: where it pays
    driver_share: float | None = None  # of the driver's cores that direct calls may use; None: see docs/spark.md
    spark: Mapping[str, str] = field(default_factory=dict)  # extra Spark settings; `master` among them


@dataclass(frozen=True)
class RunLimits:
    """When a run ends: after `seconds`; with `until_idle` or without `seconds`, once sources and queues are empty.

    One that is to `stay_open` goes on, even without queries.
    """

    seconds: float | None = None
    until_idle: bool = False
    stay_open: bool = False
