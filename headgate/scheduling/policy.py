"""The policy protocol. A policy decides; the runtime acts and reports what happened."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from headgate.metrics.latency import LatencyTotal
from headgate.metrics.recent import RECENT_MEAN, RecentStatistic
from headgate.metrics.stats import OperatorStats, Stats
from headgate.plan.model import Plan
from headgate.scheduling.units import Group, Unit, by_operator, by_path, by_query

Granularity = Literal["operator", "segment", "path", "query", "class", "varies"]
Preemption = Literal["none", "quantum", "arrival"]
_GROUPINGS = {"operator": by_operator, "path": by_path, "query": by_query}
TOLERANCE = 1e-9  # share of a time budget: a call that exceeds it by less is within it, because time is rounded


class Decision(NamedTuple):
    """Run `unit` now. Without a bound it takes everything that waits at this moment.

    `tuples` bounds the input tuples, oldest first. `seconds` bounds the time: the simulator stops exactly then, Spark
    takes as many tuples as fit according to the statistics (always at least one). `ends_round` says that a round of
    the schedule has ended, with this decision or just before it. The simulator charges for the rest: `inspected` counts
    the queues or schedule entries inspected for this decision, `switches` the changes to another class, `ahead` the
    entries inspected beyond the one that was due.
    """

    unit: Unit
    tuples: int | None = None
    seconds: float | None = None
    ends_round: bool = False
    inspected: int = 0
    switches: int = 0
    ahead: int = 0


class FinishedCall(NamedTuple):
    """How a decision turned out; given to the policy when the call has ended."""

    unit: Unit
    slot: int
    started: float
    seconds: float  # time in the slot
    tuples: int  # input tuples processed
    outputs: int  # result tuples handed to sinks
    preempted: bool = False  # stopped before all its input was processed


class View(Protocol):
    """Everything that a policy may see. Times are in seconds since the run began."""

    @property
    def now(self) -> float: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def slots(self) -> int: ...
    @property
    def seed(self) -> int: ...  # the only source of chance in a policy
    @property
    def units(self) -> Sequence[Unit]: ...
    @property
    def priorities(self) -> Mapping[str, int]:  # by class; may change during the run
        ...

    @property
    def classes_version(self) -> int: ...  # grows when priorities, or the classes of queries, change

    @property
    def arrived(self) -> int: ...  # tuples that entered the system so far
    @property
    def memory(self) -> float: ...  # bytes in all queues
    @property
    def call_fixed_s(self) -> float | None: ...  # fixed cost of any call, in addition to that of its operators
    @property
    def stats_version(self) -> int: ...  # grows when statistics change, so results can be cached

    def ready(self) -> Sequence[Unit]:
        """The units that may run now, in unit order."""
        ...

    def stats(self, operator: str) -> OperatorStats:
        """Current statistics of an operator; unknown ones are None."""
        ...

    def stream_bytes(self, stream: str) -> float | None:
        """Measured size of a stream's tuples, as `tuple_bytes` of operators; None: estimate it from the schema."""
        ...

    def latency(self, class_name: str, statistic: RecentStatistic = RECENT_MEAN, since: float = -1.0) -> float | None:
        """Recent latency of a class, by default the mean over the last half second. None if there are too few results.

        Results up to the time `since` do not count.
        """
        ...

    def results(self, queries: Collection[str]) -> LatencyTotal:
        """The results of these queries so far: their number, and the sum of their latencies."""
        ...


class Policy(ABC):
    """Decides which unit a slot runs next. Pure: no clock, no I/O; chance comes from the view's seed.

    A runtime calls `units` and `start` when it installs the policy, `became_ready` and `choose` during the run, and
    `finished` (and `ran_dry` if nothing is ready) when a call has ended, all under its lock. `choose` must always
    answer: if the view is strange, with None ("nothing"), never with an exception.
    """

    name: ClassVar[str]
    unit: Granularity = "operator"
    preemption: ClassVar[Preemption] = "none"  # what may stop a call: its quantum's end, or an arrival (`preempts`)
    needs: ClassVar[tuple[str, ...]] = ()  # statistics it reads: fixed_s, cost_s, selectivity, tuple_bytes
    work_conserving: bool = True
    paper: ClassVar[str] = ""
    watches_queues: bool = False  # is `became_ready` also called when more tuples come to a ready unit?
    review_at: float = math.inf  # when the runtime is to call `review` next
    updates: int = 0  # how often it has made its schedule, including the first time
    updated_at: float = 0.0  # when it last did

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        """The units to schedule. Default: by the policy's granularity; policies of segments or classes override it."""
        if self.unit not in _GROUPINGS:
            known = ", ".join(_GROUPINGS)
            raise PolicyError(
                f"policy '{self.name}' schedules by {self.unit}: it must define `units`; only {known} are made for it"
            )
        return _GROUPINGS[self.unit](plan)

    def regroups(self, plan: Plan, stats: Stats) -> bool:
        """Statistics have changed: should the runtime call `units` again, and restart the policy with them?"""
        return False

    @property
    def preemptive(self) -> bool:
        """May an arrival stop a call? Then the runtime calls `preempts`."""
        return self.preemption == "arrival"

    def start(self, view: View) -> None:
        """The policy is installed, at the start of a run or in place of another. Ready units are announced next."""
        self.view = view

    def became_ready(self, unit: Unit) -> None:
        """A unit may run from now on. It can stop being ready without notice, so check `unit.ready`.

        May be called again while the unit is ready, when its oldest tuple may have changed; if the policy
        `watches_queues`, whenever more tuples wait.
        """

    @abstractmethod
    def choose(self, slot: int) -> Decision | None:
        """The next call of a free slot; None when nothing should run until something changes."""

    def preempts(self, running: Sequence[Unit], arrived: Unit) -> Unit | None:
        """Which of `running` should give its slot to `arrived`, which has just received input? None: none of them.

        Called if `preemption` is `arrival` and no slot is free. `running`, in slot order and never empty, are the
        units in whose slots it could run; their `spent` is the time given so far to the tuple in progress.
        """
        return None

    def finished(self, call: FinishedCall) -> None:
        """A call has ended, completely or preempted."""

    def ran_dry(self) -> None:
        """A call has ended and nothing is ready: idle time follows, which must be charged to no class."""

    def review(self) -> bool:
        """The time `review_at` has come: look at how things went, and set the next one.

        True: the runtime should call `units` and `start` again.
        """
        self.review_at = math.inf
        return False

    def explain(self) -> dict[str, Any]:
        """What the schedule is based on, as plain data for `headgate explain`; called after `start`, before a run.

        `ranked` says whether every unit has a priority; a policy adds what else it uses.
        """
        return {"ranked": False}

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        """What the policy knows about one unit, as plain data; called after `start`."""
        return {}

    def round_ended(self) -> None:
        """A decision marked `ends_round` was accepted."""


class PolicyError(ValueError):
    """An unknown policy, an unknown parameter, or a decision that breaks a rule."""
