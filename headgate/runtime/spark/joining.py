"""Queries join a run and leave it, and what nobody reads any more is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from headgate.application.checked import CheckedApplication
from headgate.plan.added_queries import plan_of_added
from headgate.plan.changed_settings import settings_of
from headgate.plan.model import Plan
from headgate.plan.weighing import weighed
from headgate.runtime.spark.caller_setup import extend_caller
from headgate.runtime.spark.promises import refuse_without_room
from headgate.runtime.spark.source_thread import Opening
from headgate.scheduling.events import QueryRemoved, StreamRemoved, TableRemoved

if TYPE_CHECKING:
    from headgate.runtime.spark.engine import SparkRuntime


Group = Sequence[Sequence[str]]  # queries that joined together, and those of their application that were there


class Joining:
    """One addition or removal at a time: each takes several steps, and Spark checks one addition at a time.

    `groups` has the queries that joined together, with those of their application that were there before: from this a
    run that goes on from a checkpoint makes the same operators (`checkpoint.resumed.joined`). `given` has their
    settings as they joined (`plan.changed_settings`).
    """

    def __init__(self, runtime: SparkRuntime, lock: threading.Condition) -> None:
        self._runtime = runtime
        self._lock = lock
        self._adding = threading.Lock()
        self.groups: list[tuple[list[str], list[str]]] = []
        self.given = settings_of(runtime.core.plan.without(runtime.core.plan.queries))

    def note(self, plan: Plan, beside: Collection[str] = ()) -> None:
        """These queries have joined."""
        if plan.queries:
            self.groups.append((list(plan.queries), list(beside)))
        for key, found in settings_of(plan).items():
            self.given[key] = {**found, **self.given[key]}

    def restore(self, groups: Iterable[Group], given: Mapping[str, Any]) -> None:
        """Go on from a checkpoint. Queries that do not go on leave their group: they may join again, in another."""
        here = self._runtime.core.plan.queries
        kept = [([name for name in names if name in here], list(beside)) for names, beside in groups]
        self.groups = [group for group in kept if group[0]]
        self.given = {key: dict(found) for key, found in given.items()}
        self.given["queries"] = {name: one for name, one in self.given["queries"].items() if name in here}

    def add(
        self, app: CheckedApplication, slots: int, force: bool, resume: Mapping[str, Any] = MappingProxyType({})
    ) -> None:
        """See `SparkRuntime.add_queries`. With `resume`, streams that are not read go on from these positions."""
        run, core = self._runtime, self._runtime.core
        with self._adding:
            beside = [name for name in app.plan.queries if name in core.monitor.queries]
            plan = weighed(plan_of_added(app.plan, beside))
            if not force:
                with self._lock:
                    refuse_without_room(core, plan, slots)
            extend_caller(run.caller, replace(app, plan=plan))
            try:
                run.sinks.open(plan, app.folder, app.name)
                unread = [name for name in plan.streams if plan.readers(name) and core.time.starts(name)]
                run.sources.wait_closed(unread)  # their last readers have just stopped
                opening = Opening(app, run.dead_letters, run.now(), run.clock.epoch_us)
                sources = opening.sources(unread, resume)
                with self._lock:
                    run.join(plan)
                    self.note(plan, beside)
            except BaseException:
                run.sinks.discard(plan.queries)
                raise
            if sources:
                run.read(sources, opening)

    def remove_query(self, query: str) -> None:
        """See `SparkRuntime.remove_query`."""
        run = self._runtime
        with self._adding:
            run.change(lambda at: QueryRemoved(at, query))
            with self._lock:
                self._lock.wait_for(lambda: not run.core.in_flight(query))
                self.groups = [group for group in self._groups_without(query) if group[0]]
                self.given["queries"].pop(query, None)
            run.sinks.discard([query])
            run.errors.pop(query, None)
            run.unprocessed.pop(query, None)

    def _groups_without(self, query: str) -> list[tuple[list[str], list[str]]]:
        return [([name for name in names if name != query], beside) for names, beside in self.groups]

    def remove_stream(self, stream: str) -> None:
        """See `SparkRuntime.remove_stream`."""
        run = self._runtime
        with self._adding:
            if stream not in run.core.plan.streams:
                return  # no query ever read it
            run.core.plan.without_stream(stream)  # refused before anything is waited for
            run.sources.wait_closed([stream])
            run.change(lambda at: StreamRemoved(at, stream))
            run.positions.pop(stream, None)

    def remove_table(self, table: str) -> None:
        """See `SparkRuntime.remove_table`."""
        run = self._runtime
        with self._adding:
            if table in run.core.plan.tables:
                run.change(lambda at: TableRemoved(at, table))
                run.caller.forget_table(table)
