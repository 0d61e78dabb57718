"""The policy protocol. A policy decides; a runtime acts and tells what happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from headgate.metrics.recent import RECENT_MEAN, RecentStatistic
from headgate.metrics.stats import OperatorStats, Stats
from headgate.plan.model import Plan
from headgate.scheduling.units import Group, Unit, by_operator, by_path, by_query

Granularity = Literal["operator", "segment", "path", "query", "class"]
Preemption = Literal["none", "quantum", "arrival"]
_GROUPINGS = {"operator": by_operator, "path": by_path, "query": by_query}
TOLERANCE = 1e-9  # of a budget of time: what ends so little after it has ended within it, for time is rounded


class Decision(NamedTuple):
    """Run `unit` now. Without a budget it gets everything that waits at this moment.

    `tuples` bounds the input tuples taken, oldest first; `seconds` bounds the time: the simulator stops exactly
    then, Spark takes as many tuples as the statistics say fit (always at least one). `ends_round` says that a round of
    the schedule has ended, with this decision or just before it. `inspected` counts queues or schedule entries looked
    at on the way here, `switches` the classes gone on to, `ahead` the entries looked at beyond the one that was due;
    the simulator charges for them.
    """

    unit: Unit
    tuples: int | None = None
    seconds: float | None = None
    ends_round: bool = False
    inspected: int = 0
    switches: int = 0
    ahead: int = 0


class FinishedCall(NamedTuple):
    """What became of a decision: told to the policy when the call has ended."""

    unit: Unit
    slot: int
    started: float
    seconds: float  # time in the slot
    tuples: int  # input tuples processed
    outputs: int  # result tuples handed to sinks
    preempted: bool = False  # stopped before its input was used up


class View(Protocol):
    """All that a policy may see. Times are in seconds since the run began."""

    @property
    def now(self) -> float: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def slots(self) -> int: ...
    @property
    def seed(self) -> int: ...  # what chance there is in a policy comes from it
    @property
    def units(self) -> Sequence[Unit]: ...
    @property
    def priorities(self) -> Mapping[str, int]:  # by class; the administrator may change them while running
        ...

    @property
    def classes_version(self) -> int: ...  # grows when priorities, or the classes of queries, change

    @property
    def arrived(self) -> int: ...  # tuples that entered the system so far
    @property
    def memory(self) -> float: ...  # bytes in all queues
    @property
    def call_fixed_s(self) -> float | None: ...  # fixed cost of any call, beside that of its operators
    @property
    def stats_version(
        self,
    ) -> int: ...  # grows when statistics change, so that what follows from them can be kept

    def ready(self) -> Sequence[Unit]:
        """The units that may run now, in unit order."""
        ...

    def stats(self, operator: str) -> OperatorStats:
        """Current statistics of an operator; unknown ones are None."""
        ...

    def stream_bytes(self, stream: str) -> float | None:
        """Size of a stream's tuples, measured as `tuple_bytes` of operators; None: go by the schema."""
        ...

    def latency(self, class_name: str, statistic: RecentStatistic = RECENT_MEAN, since: float = -1.0) -> float | None:
        """Latency of the results that a class gave lately, and after `since`; None with too few of them."""
        ...


class Policy(ABC):
    """Decides which unit a slot runs next. Pure: no clock, no I/O; chance comes from the view's seed.

    A runtime calls `units` and `start` when it installs the policy, `became_ready` and `choose` under its lock, and
    `finished`, maybe `ran_dry`, when a call has ended. `choose` must always answer: a strange view gives None
    ("nothing"), never an exception.
    """

    name: ClassVar[str]
    unit: Granularity = "operator"
    preemption: ClassVar[Preemption] = "none"  # what may stop a call: its quantum's end, or an arrival (`preempts`)
    needs: ClassVar[tuple[str, ...]] = ()  # statistics it reads: fixed_s, cost_s, selectivity, tuple_bytes
    work_conserving: ClassVar[bool] = True
    paper: ClassVar[str] = ""
    watches_queues: bool = False  # should it hear of every tuple that comes to a ready unit, not only of the first?
    updates: int = 0  # how often it made its schedule anew, the first time included,
    updated_at: float = 0.0  # and when it last did

    def units(self, plan: Plan, stats: Stats) -> Sequence[Group]:
        """The units to schedule. Default: by the policy's granularity; a policy of segments or classes says its own."""
        if self.unit not in _GROUPINGS:
            known = ", ".join(_GROUPINGS)
            raise PolicyError(
                f"policy '{self.name}' schedules by {self.unit}: it must define `units`; only {known} are made for it"
            )
        return _GROUPINGS[self.unit](plan)

    def regroups(self, plan: Plan, stats: Stats) -> bool:
        """Statistics have changed: should `units` be asked again, and the policy started anew with what it says?"""
        return False

    @property
    def preemptive(self) -> bool:
        """May an arrival stop a call? Then `preempts` is asked."""
        return self.preemption == "arrival"

    def start(self, view: View) -> None:
        """Installed: at the start of a run, or in place of another policy. Ready units are announced next."""
        self.view = view

    def became_ready(self, unit: Unit) -> None:
        """A unit may run from now on. It can stop being ready without notice, so check `unit.ready`.

        May be called again while the unit is ready: its oldest tuple may have changed, and if it `watches_queues`, more
        tuples may wait.
        """

    @abstractmethod
    def choose(self, slot: int) -> Decision | None:
        """The next call of a free slot; None when nothing should run until something changes."""

    def preempts(self, running: Sequence[Unit], arrived: Unit) -> Unit | None:
        """Which of `running` should give its slot to `arrived`, which just got input? None: none of them.

        Asked when `preemption` is `arrival` and no slot is free. `running`, in slot order and never empty, are the
        units in whose slots it could run; their `spent` is the time given so far to the tuple in progress.
        """
        return None

    def finished(self, call: FinishedCall) -> None:
        """A call has ended, completely or preempted."""

    def ran_dry(self) -> None:
        """A call has ended and nothing is ready: what comes next comes after a pause, which is nobody's time."""

    def explain(self) -> dict[str, Any]:
        """What the schedule follows from, as plain data for `headgate explain`; asked after `start`, before a run.

        `ranked` says whether every unit has a priority; a policy adds what else it goes by.
        """
        return {"ranked": False}

    def explain_unit(self, unit: Unit) -> dict[str, Any]:
        """What the policy goes by for one unit, as plain data. Asked after `start`."""
        return {}

    def round_ended(self) -> None:
        """The decision marked `ends_round` was taken; a place for monitoring and repair."""


class PolicyError(ValueError):
    """A policy that does not exist, a parameter it does not know, or a decision that may not be."""
