"""The checkpoints of one run: what it goes on from, and those that it takes. An application may have none."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication
from headgate.errors import ApplicationError
from headgate.plan.weighing import weighed
from headgate.runtime.spark.checkpoint.checkpointer import Checkpointer
from headgate.runtime.spark.checkpoint.cut import Cut
from headgate.runtime.spark.checkpoint.opening import open_checkpoints
from headgate.runtime.spark.joining import Joining
from headgate.runtime.spark.query_sinks import Failed, QuerySinks
from headgate.runtime.spark.stateful.state import States
from headgate.scheduling.core import Core
from headgate.scheduling.core_state import restore
from headgate.scheduling.queue import SpillError

log = logging.getLogger("headgate.checkpoint")


@dataclass(frozen=True)
class Beginning:
    """What a run begins with, before it has a core: all of it empty, unless it goes on from a checkpoint."""

    epoch_us: int | None = None  # the date and time of time 0
    at: float = 0.0  # seconds since then, at the cut
    sinks: Mapping[str, Any] = field(default_factory=dict)  # by query
    sources: Mapping[str, Any] = field(default_factory=dict)  # positions by stream


class RunCheckpoints:
    """Made before the core of a run, from the application as it is given. ApplicationError: see `open_checkpoints`."""

    def __init__(self, app: CheckedApplication, spark: SparkSession, fresh: bool = False) -> None:
        self._whole = app
        self._settings = app.checkpoint
        opened = None if app.checkpoint is None else open_checkpoints(app, app.checkpoint, spark, fresh)
        self._store = None if opened is None else opened.store
        self._resumed = resumed = None if opened is None else opened.resumed
        self._checkpointer: Checkpointer | None = None
        self.beginning = Beginning()
        if resumed is None:
            self.app = replace(app, plan=weighed(app.plan))
        else:  # queries that the checkpoint does not have join once the others run
            self.app = replace(app, plan=resumed.plan, policy=resumed.policy)
            state = resumed.state
            sinks = {name: one for name, one in resumed.parts("sinks", "queries").items() if name in app.plan.queries}
            self.beginning = Beginning(state["epoch_us"], state["at"], sinks, resumed.parts("sources", "streams"))

    @property
    def path(self) -> str:
        """Where they are kept."""
        return "" if self._settings is None else self._settings.path

    def announce_to(self, announce: Callable[[str], None]) -> None:
        """Say what the run goes on from, if it does: to people who wait for it, and in the log."""
        if self._resumed is not None:
            saved = self._resumed.saved
            announce(f"going on from checkpoint {saved.number} of {saved.written}")
            log.info("going on from checkpoint %d of %s in %s", saved.number, saved.written, self.path)

    @property
    def goes_on(self) -> bool:
        """Does the run go on from a checkpoint?"""
        return self._resumed is not None

    @property
    def queries_to_add(self) -> CheckedApplication | None:
        """The application whose queries are to join once the run has begun; None: all run already."""
        return self._whole if self._resumed is not None and self._resumed.fresh else None

    def refuse_recording(self) -> None:
        """Raise ApplicationError if what a run does depends on what was before it: its events alone do not say it."""
        if self._resumed is not None:
            problem = "a run that goes on from a checkpoint cannot be replayed from its events"
            raise ApplicationError("--record", problem, "leave it out, or start over with --fresh")

    def begin(self) -> None:
        """The run begins now: checkpoints that it does not go on from are removed, before sinks are opened."""
        if self._store is None or self._resumed is not None:
            return
        if numbers := self._store.numbers():
            log.warning("starting over: the %d checkpoints in %s are removed", len(numbers), self.path)
        self._store.clear()

    def restore(self, core: Core, now: float, states: States, joining: Joining) -> None:
        """Let the core and the operators go on from the checkpoint. To be called before anything runs.

        ApplicationError: what waits is too much for memory, and the disk failed.
        """
        if self._resumed is None:
            joining.note(core.plan)
            return
        state = self._resumed.state
        core.board.now = now
        try:
            restore(core, state["core"])
        except SpillError as error:
            raise ApplicationError("checkpoint", str(error)) from error
        states.restore(state["operators"])
        joining.restore(state["groups"], state["settings"][0])
        self._resumed = replace(self._resumed, saved=self._resumed.saved._replace(state=None))  # not needed any more

    def start(
        self,
        sinks: QuerySinks,
        cut: Callable[[], Cut],
        forget: Callable[[Mapping[str, Any]], None],
        failed: Callable[[Failed], None],
        broken: Callable[[Exception], None],
    ) -> None:
        """Take checkpoints from now on; see `Checkpointer`."""
        if self._store is None or self._settings is None:
            return
        saved = None if self._resumed is None else self._resumed.saved
        rest = (saved, sinks, cut, forget, failed, broken)
        self._checkpointer = Checkpointer(self._store, self._settings.interval_s, self._settings.keep, *rest)
        self._checkpointer.start()

    def take(self) -> None:
        """Take one now. OSError, RuntimeError: that was not possible. ValueError: the application keeps none."""
        if self._checkpointer is None:
            raise ValueError("this run keeps no checkpoints; give the application a `checkpoint`")
        self._checkpointer.take()

    def end(self, last: bool) -> None:
        """The run ends: take no more, except a last one if it is to be had. No call is in flight any more."""
        if self._checkpointer is None:
            return
        written = self._checkpointer.stop()
        if not written:
            log.error("the run ends while a checkpoint is being written, the one before stays")
        elif last:
            try:
                self._checkpointer.take()
            except Exception as error:
                log.error("the run ends without a last checkpoint, the one before stays: %s", error)

    def close(self) -> None:
        """Let another run use them."""
        if self._store is not None:
            self._store.close()

    def report(self) -> dict[str, Any] | None:
        """For the report; None: the run keeps none."""
        return None if self._checkpointer is None else self._checkpointer.report()
