"""Instructions: what the runtime must do, as data. `Core.handle` answers every event with a list of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headgate.plan.model import Plan
from headgate.scheduling.calls import Call
from headgate.scheduling.units import Unit


@dataclass(frozen=True, slots=True)
class StartCall:
    """Run this call, then report it with `CallEnded`. Comes only in answer to `SlotFree`, at most once."""

    call: Call


@dataclass(frozen=True, slots=True)
class WakeSlots:
    """Let idle slots ask again with `SlotFree`: something has changed."""


@dataclass(frozen=True, slots=True)
class UnitsChanged:
    """From now on only these units are called; what is kept for other units may be dropped."""

    plan: Plan
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class ForgetState:
    """Drop the state of these operators: they are no longer in the plan."""

    operators: Collection[str]


@dataclass(frozen=True, slots=True)
class QueryEnded:
    """A query has left the plan, with the error if it failed. `waiting` is how many waiting tuples were dropped."""

    query: str
    error: Exception | None
    waiting: int


@dataclass(frozen=True, slots=True)
class StreamRefused:
    """Stop reading a stream: its tuples could not be queued, and the queries that read it have ended."""

    stream: str
    error: Exception


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run is over unless queries are added: no query is left, or streams have ended and queues are empty."""


Instruction = StartCall | WakeSlots | UnitsChanged | ForgetState | QueryEnded | StreamRefused | RunFinished
