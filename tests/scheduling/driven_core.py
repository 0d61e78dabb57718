"""The core with a caller of plain Python and a clock that a test moves: what the Spark runtime is, without Spark."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from headgate.plan.model import Plan
from headgate.policies.registry import make_policy
from headgate.runtime.spark.checkpoint.tree import put_together, take_apart
from headgate.scheduling.calls import Call, Outcome
from headgate.scheduling.core import Core
from headgate.scheduling.core_settings import CoreSettings
from headgate.scheduling.core_state import restore, state_of
from headgate.scheduling.event_log import describe_instruction
from headgate.scheduling.events import (
    CallEnded,
    Event,
    QueriesAdded,
    QueriesStopped,
    QueryRemoved,
    SlotFree,
    StreamEnded,
    TuplesArrived,
)
from headgate.scheduling.instructions import (
    ForgetState,
    Instruction,
    QueryEnded,
    RunFinished,
    StartCall,
    StreamRefused,
    UnitsChanged,
    WakeSlots,
)
from headgate.scheduling.queue import FiledRows, SharedMemory
from tests.scheduling.plain_caller import PlainCaller, TimedCaller, ValueCaller


class Shelf:
    """Takes spilled batches, in memory."""

    def __init__(self) -> None:
        self.tables: dict[int, pa.Table] = {}
        self._next = 0

    def write(self, table: pa.Table) -> int:
        self._next += 1
        self.tables[self._next] = table
        return self._next

    def hold(self, handle: int) -> int:
        return self.write(self.tables[handle])

    def read(self, handle: int) -> pa.Table:
        return self.tables[handle]

    def delete(self, handle: int) -> None:
        del self.tables[handle]


@dataclass
class DrivenCore:
    """Runs an application by hand. `steps` has every event with the instructions that answered it."""

    plan: Plan
    policy: str = "fifo"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    slots: int = 1
    seed: int = 0
    limit_bytes: int | None = None
    linger_s: float = 0.0
    caller: PlainCaller = field(default_factory=ValueCaller)

    def __post_init__(self) -> None:
        self.settings = CoreSettings(
            self.plan, self.policy, self.parameters, self.slots, self.seed, linger_s=self.linger_s
        )
        self.shelf = Shelf()
        self.core = Core(self.settings, make_policy, SharedMemory(self.limit_bytes, self.shelf, piece_bytes=64))
        self.now = 0.0
        self.calls: dict[int, Call] = {}  # in flight
        self.results: dict[str, list[pa.Table]] = {name: [] for name in self.plan.queries}
        self.ended: dict[str, QueryEnded] = {}
        self.finished = False
        self.steps: list[tuple[Event, list[str]]] = []

    # Events -------------------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Instruction]:
        """Tell the core, do as it says, and check what always holds."""
        self.finished = False
        instructions = self.core.handle(event)
        self.steps.append((event, [describe_instruction(one) for one in instructions]))
        for one in instructions:
            match one:
                case StartCall(call=call):
                    assert isinstance(event, SlotFree)
                    self._started(call)
                case QueryEnded(query=query):
                    assert query not in self.ended, "a query ends once"
                    self.ended[query] = one
                case ForgetState(operators=operators):
                    if isinstance(self.caller, TimedCaller):
                        self.caller.forget(operators)
                case RunFinished():
                    self.finished = True
                case UnitsChanged(plan=plan, units=units):
                    assert {name for unit in units for name in unit.operators} == set(plan.operators)
                case WakeSlots() | StreamRefused():
                    pass
        self.core.check()
        return instructions

    def arrive(self, tables: Mapping[str, pa.Table], complete: Collection[str] = ()) -> list[Instruction]:
        return self.handle(TuplesArrived(self.now, tables, complete, self.now))

    def end(self, stream: str, error: Exception | None = None) -> None:
        self.handle(StreamEnded(self.now, stream, error))

    def ask(self, slot: int) -> bool:
        """A free slot asks for a call; did anything come of it?"""
        instructions = self.handle(SlotFree(self.now, slot))
        return any(isinstance(one, (StartCall, WakeSlots)) for one in instructions)

    def finish(self, slot: int) -> None:
        """A call ends well."""
        call = self.calls.pop(slot)
        result = self.caller.run(call)
        self.now += result.seconds
        self._ended(slot, Outcome([result]))

    def give_up(self, slot: int) -> None:
        """A call fails in a way that may pass: all its input goes back."""
        self._ended(slot, Outcome(unused=dict(self.calls.pop(slot).inputs)))

    def fail(self, slot: int, operator: str) -> None:
        """An operator of a call fails for good: its queries stop, what the call took goes back for the others."""
        call = self.calls.pop(slot)
        error = ArithmeticError(f"{operator} failed")
        self._ended(slot, Outcome(failed=dict.fromkeys(call.plan.owners[operator], error), unused=dict(call.inputs)))

    def refuse(self, slot: int, query: str) -> None:
        """A call ends well, but the sink of a query takes nothing any more."""
        call = self.calls.pop(slot)
        self._ended(slot, Outcome([self.caller.run(call)]), {query: OSError("the disk is full")})

    def stop(self, queries: Collection[str]) -> None:
        self.handle(QueriesStopped(self.now, tuple(queries)))

    def add(self, plan: Plan) -> None:
        self.handle(QueriesAdded(self.now, plan))
        for name in plan.queries:
            self.results.setdefault(name, [])

    def remove(self, query: str) -> None:
        self.handle(QueryRemoved(self.now, query))
        self.ended.pop(query, None)

    def restart(self) -> None:
        """Let all calls end, and go on with another core, from what a checkpoint would hold of this one."""
        for slot in sorted(self.calls):
            self.finish(slot)
        plain, rows = take_apart(state_of(self.core))
        tables = [one.table() if isinstance(one, FiledRows) else one for one in rows]
        for one in rows:
            if isinstance(one, FiledRows):
                one.release()
        counted = self.core.memory.waiting
        self.core.memory.close()
        assert not self.shelf.tables, "no spilled batch is left behind"
        memory = SharedMemory(self.limit_bytes, self.shelf, piece_bytes=64)
        self.core = Core(self.core.settings, make_policy, memory, began=self.now)
        self.ended.clear()
        restore(self.core, put_together(json.loads(json.dumps(plain)), tables))
        self.core.check()
        assert self.core.memory.waiting == counted

    def drain(self) -> None:
        """Let the slots work until nothing is left; time passes only while units linger."""
        for slot in sorted(self.calls):
            self.finish(slot)
        for _ in range(100_000):
            came = [self.ask(slot) for slot in range(self.slots) if slot not in self.calls]
            if not any(came):
                if self.core.board.linger.next == math.inf:
                    return
                self.now = max(self.now, self.core.board.linger.next)
            for slot in sorted(self.calls):
                self.finish(slot)
        raise AssertionError("the slots never come to rest")

    # Inside -------------------------------------------------------------------------------------------------------

    def _started(self, call: Call) -> None:
        assert call.slot not in self.calls
        busy = {name for other in self.calls.values() for name in other.unit.operators}
        assert busy.isdisjoint(call.unit.operators), "a unit never runs in two slots at once"
        assert call.rows or call.bounds, "a call has something to do"
        self.calls[call.slot] = call

    def _ended(self, slot: int, outcome: Outcome, refused: Mapping[str, Exception] | None = None) -> None:
        written: dict[str, list[pa.Table]] = {}
        for result in outcome.results:
            for port, table in result.outputs.items():
                for query in self.core.plan.sinks.get(port, ()):
                    kept = self.core.up_to_last_event(query, table)
                    if kept.num_rows and query not in (refused or {}):
                        written.setdefault(query, []).append(kept)
        for query, tables in written.items():
            self.results[query] += tables
        self.handle(CallEnded(self.now, slot, outcome, written, refused or {}))
