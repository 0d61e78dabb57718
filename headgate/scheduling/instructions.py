"""Instructions: what a runtime has to do, as data. `Core.handle` answers every event with some of them, in order."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headgate.plan.model import Plan
from headgate.scheduling.calls import Call
from headgate.scheduling.units import Unit


@dataclass(frozen=True, slots=True)
class StartCall:
    """Make this call, then report it with `CallEnded`. Only `SlotFree` is answered with one."""

    call: Call


@dataclass(frozen=True, slots=True)
class WakeSlots:
    """Idle slots should ask again: something has changed."""


@dataclass(frozen=True, slots=True)
class UnitsChanged:
    """Calls of these units are what comes from now on; what is kept for others may go."""

    plan: Plan
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class ForgetState:
    """These operators are gone, and what they remembered with them."""

    operators: Collection[str]


@dataclass(frozen=True, slots=True)
class QueryEnded:
    """A query is out of the plan: it failed, or without an error was asked to stop. `waiting` tuples are given up."""

    query: str
    error: Exception | None
    waiting: int


@dataclass(frozen=True, slots=True)
class StreamRefused:
    """The tuples of a stream could not be taken in; the queries that read it have ended. Stop reading it."""

    stream: str
    error: Exception


@dataclass(frozen=True, slots=True)
class RunFinished:
    """Nothing can happen any more unless something arrives or is asked for: streams have ended and queues are empty."""


Instruction = StartCall | WakeSlots | UnitsChanged | ForgetState | QueryEnded | StreamRefused | RunFinished
