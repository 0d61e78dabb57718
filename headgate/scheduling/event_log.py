"""Records the events of a run in a file, and replays the run from it.

A replay makes every decision of the run again, step by step, without Spark and without the sources: use it to find out
why a decision was made. A log holds the tuples that arrived and the results of calls, so it is as
large, and as confidential, as the data. It is a Python pickle: read only logs that you trust.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO

from headgate.errors import InvariantError
from headgate.scheduling.calls import Call
from headgate.scheduling.core import Core
from headgate.scheduling.core_settings import CoreSettings, MakePolicy
from headgate.scheduling.events import CallEnded, Event, QueriesAdded, TuplesArrived
from headgate.scheduling.instructions import Instruction, QueryEnded, StartCall, UnitsChanged
from headgate.scheduling.queue import SharedMemory


class EventLog:
    """Writes the events of a run to a file as they happen. Not thread-safe: the runtime holds its lock."""

    def __init__(self, path: Path, settings: CoreSettings, limit_bytes: int | None) -> None:
        self._file = path.open("wb")
        self._write((replace(settings, plan=settings.plan.without_connectors()), limit_bytes))

    def record(self, event: Event) -> None:
        """Append an event; called before the core handles it."""
        self._write(_picklable(event))

    def close(self) -> None:
        """Write what is left and close the file. A second call does nothing."""
        self._file.close()

    def _write(self, item: Any) -> None:
        pickle.dump(item, self._file)


class EventLogError(ValueError):
    """The file is not a log of events, or was written by another version of Headgate."""


@dataclass(frozen=True, slots=True)
class EventRefused:
    """In a replay, stands for the instructions that an event did not get because `Core.handle` raised an error."""

    error: Exception


Answer = Instruction | EventRefused


def replay(path: Path, make_policy: MakePolicy) -> Iterator[tuple[Event, list[Answer], Core]]:
    """Yield each event of a recorded run, the instructions that answer it now, and the core after it.

    An event that was refused in the run, such as a priority for an unknown class, is refused again.

    A log that was cut off by a crash is replayed as far as it goes. EventLogError: the file is not a log, or cannot be
    read.
    """
    with _opened(path) as file:
        try:
            settings, limit_bytes = pickle.load(file)
        except Exception as error:  # pickle may raise anything
            raise EventLogError("it is not a log of events, or was written by another version of Headgate") from error
        core = Core(settings, make_policy, SharedMemory(limit_bytes, _SpillToMemory()))
        while True:
            try:
                event = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return
            try:
                answers: list[Answer] = [*core.handle(event)]
            except (ValueError, InvariantError) as error:
                answers = [EventRefused(error)]
            yield event, answers, core


def describe_event(event: Event) -> str:
    """An event in one line: its name and its contents, without tables."""
    match event:
        case TuplesArrived(tables=tables):
            return f"TuplesArrived({', '.join(f'{name}: {table.num_rows}' for name, table in tables.items())})"
        case CallEnded(slot=slot, outcome=outcome, written=written):
            results = {name: sum(table.num_rows for table in tables) for name, tables in written.items()}
            failed = {name: str(error) for name, error in outcome.failed.items()}
            return f"CallEnded(slot {slot}, results {results}{f', failed {failed}' if failed else ''})"
        case QueriesAdded(plan=plan):
            return f"QueriesAdded({', '.join(plan.queries)})"
        case _:
            values = [getattr(event, field.name) for field in fields(event) if field.name != "at"]
            return f"{type(event).__name__}({', '.join(map(str, values))})"


def describe_instruction(instruction: Answer) -> str:
    """An instruction in one line, without addresses or tables; also used to compare two runs."""
    match instruction:
        case StartCall(call=call):
            return f"StartCall({_call(call)})"
        case QueryEnded(query=query, error=error, waiting=waiting):
            return f"QueryEnded({query}, {error}, {waiting})"
        case UnitsChanged(units=units):
            return f"UnitsChanged({', '.join(unit.id for unit in units)})"
        case _:
            values = [getattr(instruction, field.name) for field in fields(instruction)]
            shown = [sorted(value) if isinstance(value, frozenset) else value for value in values]
            return f"{type(instruction).__name__}({', '.join(map(str, shown))})"


def _call(call: Call) -> str:
    taken = {f"{edge.operator}:{edge.input}": table.num_rows for edge, table in call.inputs.items()}
    until = {name: tuple(bounds) for name, bounds in call.bounds.items()}
    return f"slot {call.slot}, {call.unit.id}, takes {taken}, evaluates {until}"


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise EventLogError(f"it cannot be read: {error.strerror}") from error


class _SpillToMemory:
    """Where the queues of a replay spill to."""

    def write(self, table: Any) -> Any:
        return table

    def hold(self, handle: Any) -> Any:
        return handle

    def read(self, handle: Any) -> Any:
        return handle

    def delete(self, handle: Any) -> None:
        pass


def _picklable(event: Event) -> Event:
    """The event with plain errors instead of those of Spark, which hold a connection to its JVM."""
    if isinstance(event, QueriesAdded):
        return replace(event, plan=event.plan.without_connectors())
    changed: dict[str, Any] = {}
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, Exception):
            changed[field.name] = _plain(value)
        elif field.name in ("refused", "errors"):
            changed[field.name] = {name: _plain(error) for name, error in value.items()}
        elif field.name == "outcome":
            changed[field.name] = replace(value, failed={name: _plain(error) for name, error in value.failed.items()})
    return replace(event, **changed) if changed else event


def _plain(error: Exception) -> Exception:
    return RuntimeError(str(error))
