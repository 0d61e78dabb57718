"""A checked application: a plan and how to run it. What checking returns and the runtimes take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headgate.plan.model import Plan


@dataclass(frozen=True)
class PolicySettings:
    """A policy's name and parameters, as the application file or the command line gives them."""

    name: str = "rr"
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class SimulatorSettings:
    """What the simulator adds to the declared costs; everything off by default, as in the papers' models."""

    noise: float = 0.0  # costs vary uniformly by this share: 0.1 is +-10 %
    decision_s: float = 0.0  # a scheduling decision
    call_s: float = 0.0  # any call, beside the fixed costs of its operators, as on Spark; policies know it
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
    )  # operator -> from a time of arrival on, what passes; policies see what was measured
    in_step: bool = False  # operators with several inputs consume in the order of arrival, waiting for each other


@dataclass(frozen=True)
class Change:
    """What the administrator does at a time of a simulated run: classes get other priorities."""

    at_s: float
    priorities: Mapping[str, int]


@dataclass(frozen=True)
class CheckedApplication:
    """Everything that a runtime needs to know. `folder` is where relative file names start."""

    plan: Plan
    policy: PolicySettings = PolicySettings()
    slots: int = 1
    seed: int = 0
    folder: Path = Path()
    name: str = ""  # the file that it was read from, for people
    dead_letters: Path | None = None  # where rows that were put aside are written; None: they are only counted
    checkpoint: str | None = None
    simulator: SimulatorSettings = SimulatorSettings()
    changes: tuple[Change, ...] = ()  # in the simulator; at a run on Spark they are made by hand
    rehearse: bool | None = None  # run every unit on a sample before the clock starts? None: where it pays
    spark: Mapping[str, str] = field(default_factory=dict)  # extra Spark settings; `master` among them


@dataclass(frozen=True)
class RunLimits:
    """When a run ends: after `seconds`, or `until_idle`: sources exhausted and queues empty. Neither: Ctrl-C."""

    seconds: float | None = None
    until_idle: bool = False
