"""A run that was started from Python: push rows in, read results, change it, end it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headgate.api import snapshot
from headgate.api.channels import with_channels
from headgate.api.report import Report
from headgate.api.results import Results
from headgate.application.checked import PolicySettings, RunLimits
from headgate.application.planner import DEFAULT_CLASS, check_shed
from headgate.connect.sinks.memory import MemorySink
from headgate.connect.sources.push_channel import PushChannel
from headgate.errors import ApplicationError, first_few, known_names
from headgate.plan.model import Query, QueryClass
from headgate.policies.master import Master
from headgate.policies.registry import make_policy
from headgate.scheduling.events import ClassAdded, ClassRemoved, QueryQosChanged, QueryToleranceChanged

if TYPE_CHECKING:
    from headgate.api.application import Application
    from headgate.application.untrusted import Allowed
    from headgate.runtime.spark.engine import SparkRuntime
    from headgate.twin.advice import Advice

log = logging.getLogger("headgate.run")

_LOOK_S = 0.5  # how often to check whether the run has ended
_DRAIN_LOOK_S = 0.005


class Run:
    """A run on Spark; `Application.start` makes it. Leaving its `with` block stops it. Any thread may use it."""

    def __init__(
        self,
        runtime: SparkRuntime,
        channels: dict[str, PushChannel],
        app: Application,
        stay_open: bool = False,
    ) -> None:
        self._runtime = runtime
        self._limits = RunLimits(until_idle=not stay_open, stay_open=stay_open)
        self._channels = channels
        self._app = app
        self._changing = threading.Lock()  # held while queries come and go
        self._over = threading.Event()  # nothing more will happen
        self._ending = threading.Event()  # `stop` was called
        self._stopping = threading.Lock()
        self._failure: BaseException | None = None
        self._report: Report | None = None  # of a run that was stopped
        self._last: dict[str, Any] | None = None  # the overview of a run that was stopped
        runtime.start()
        self._began = time.time() - runtime.now()
        self._watcher = self._watching()

    def _watching(self) -> threading.Thread:
        """Begin to watch for the end of the run."""
        self._over.clear()
        watcher = threading.Thread(target=self._watch, name="headgate-run", daemon=True)
        watcher.start()
        return watcher

    def _watch(self) -> None:
        """Wait until nothing more can happen or the run is stopped; sinks that lag behind are refreshed meanwhile."""
        try:
            self._runtime.wait(self._limits, self._look)
        except _Stopped:
            return  # `stop` goes on from here
        except BaseException as error:  # raised by the next call that waits
            self._failure = error
        self._over.set()

    def _look(self) -> None:
        if self._ending.is_set():
            raise _Stopped

    # Rows in -----------------------------------------------------------------------------------------------------

    def push(self, stream: str, rows: Any, timeout: float | None = None) -> int:
        """Push rows into a stream: dicts, tuples, a pandas data frame or an Arrow table. Returns how many there were.

        Waits while there is no room, at most `timeout` seconds: then TimeoutError. ApplicationError for a row that does
        not fit, with its number and column; none of the rows is taken then.
        """
        return self._channel(stream).put(rows, self._runtime.now, timeout)

    def end(self, stream: str) -> None:
        """No more rows will be pushed into a stream. A run whose streams have all ended comes to its end."""
        self._channel(stream).end()

    def _channel(self, stream: str) -> PushChannel:
        if stream not in self._channels:
            known = known_names("pushed streams", self._channels, stream)
            raise ApplicationError(f"streams.{stream}", "rows cannot be pushed into a stream of this name", known)
        return self._channels[stream]

    # Results out -------------------------------------------------------------------------------------------------

    def results(self, query: str) -> Results:
        """The results of a query whose sink is in memory, which is the default."""
        self._known(query)
        sink = self._runtime.sinks[query]
        if not isinstance(sink, MemorySink):
            remedy = "leave its sink out, or use sinks.Memory()"
            raise ApplicationError(f"queries.{query}.sink", "the results of this query are not kept in memory", remedy)
        return Results(query, sink, lambda: self._over.is_set() or self._is_done(query))

    def _is_done(self, query: str) -> bool:
        """Will a query have no more results? In a run that stays open, also because its streams have ended: elsewhere
        its results end with the run, when those of the other queries are there, too."""
        return not self._runtime.runs(query) or (self._limits.stay_open and self._runtime.is_complete(query))

    def snapshot(
        self,
        cql: str,
        limit: int = snapshot.ROWS,
        *,
        timeout: float = snapshot.TIMEOUT_S,
        untrusted: Allowed | None = None,
    ) -> pa.Table:
        """The answer to one SELECT over what there is now, computed once by Spark in this thread; at most `limit` rows.

        FROM names queries whose results are in memory, stored tables, and windows over streams (`trades [ROWS 10]`)
        that a running query holds as its result. ORDER BY and LIMIT are allowed. `untrusted`: the text comes from
        somebody else, who may use these functions only. ApplicationError: it cannot be computed; `SnapshotTimeout`, one
        of them: it took more than `timeout` seconds.
        """
        if self._report is not None:
            raise ApplicationError("snapshot", "the run has been stopped", "ask while it runs")
        return snapshot.take_snapshot(self._runtime, self._app, cql, limit, timeout, untrusted)

    def report(self) -> Report:
        """The report as of now; the last one, once the run was stopped."""
        return self._report or Report(self._runtime.report())

    def overview(self, over_time: bool = False) -> dict[str, Any]:
        """The run as people watch it, as plain data: classes, queries, streams, queues, shedders, the policy.

        With `over_time`, each class has its latencies of the last minutes, too. Cheap enough to be asked for every
        second, with a thousand queries: docs/operations.md has the keys. After `stop`, what was there last.
        """
        return self._last or {"began": self._began, "running": self.running, **self._runtime.overview(over_time)}

    def query_overview(self, query: str) -> dict[str, Any]:
        """One query as people watch it, as plain data: its operators, queues, latencies, promises and decisions."""
        self._known(query)
        return {"began": self._began, **self._runtime.query_overview(query)}

    def predict(self, policies: Iterable[str | Mapping[str, Any]] | None = None, seconds: float = 20.0) -> Advice:
        """Forecast the next seconds under other policies, and say which to take. None: under every policy.

        In a process of its own, from what calls cost lately, the arrivals of the last seconds and what waits now; the
        run goes on. With 500 calls a second, each policy takes about a fifth of the time that is forecast.
        """
        from headgate.policies.making import read_policy
        from headgate.twin.advice import advise

        if not self._runtime.core.plan.queries:
            raise ApplicationError("queries", "there is nothing to forecast", "add a query first")
        with _as_application_error("policy"):
            chosen = None if policies is None else [read_policy(one) for one in policies]
            return advise(self._runtime.snapshot(), chosen, seconds=seconds)

    # Changes -----------------------------------------------------------------------------------------------------

    def set_priority(self, class_name: str, priority: int) -> None:
        """Give a class another priority."""
        with self._changing, _as_application_error(f"classes.{class_name}.priority"):
            self._runtime.set_priority(class_name, priority)
            self._app = self._app.changed("classes", class_name, priority=priority)

    def set_class(self, query: str, class_name: str) -> None:
        """Put a query into another class."""
        with self._changing, _as_application_error(f"queries.{query}.class"):
            self._runtime.set_class(query, class_name)
            if class_name in self._app.sections("classes"):
                self._app = self._app.changed("queries", query, **{"class": class_name})

    def set_qos(self, query: str, qos: Mapping[str, Any] | None) -> None:
        """Promise something else to a query, as the application file says it, or with None nothing any more.

        The points of a graph count from the beginning of the run. The query keeps a policy that the optimizer chose.
        """
        with self._changing:
            self._require_running(query)
            app = self._app.changed("queries", query, qos=dict(qos) if qos else None)
            measures = app.query_section(query).measures
            with _as_application_error(f"queries.{query}.qos"):
                self._runtime.change(lambda at: QueryQosChanged(at, query, measures))
            self._app = app

    def set_tolerance(
        self, query: str, tolerance: float | None, *, shed: Any = None, error_bounds: bool | None = None
    ) -> None:
        """Let a query tolerate another error, or with None no error: nothing of it is dropped from then on.

        What is left out stays as it is. ApplicationError: its columns would change (`error_bounds`), or its results
        could not count for what would be dropped, because it was registered without a tolerance.
        """
        with self._changing:
            known = self._require_running(query)
            if error_bounds is not None and error_bounds != known.error_bounds:
                problem = "the columns of its results would change while it runs"
                remedy = "remove it and register it again"
                raise ApplicationError(f"queries.{query}.error_bounds", problem, remedy)
            changes = {} if shed is None else {"shed": shed}
            bounds = True if tolerance and known.error_bounds else None
            app = self._app.changed("queries", query, tolerance=tolerance, error_bounds=bounds, **changes)
            section = app.query_section(query)
            found = replace(known, tolerance=section.tolerance, shed=section.what_to_shed)
            check_shed(self._runtime.core.plan, found)
            with _as_application_error(f"queries.{query}.tolerance"):
                self._runtime.change(lambda at: QueryToleranceChanged(at, query, found.tolerance, found.shed))
            self._app = app

    def set_policy(self, name: str, **parameters: Any) -> None:
        """Continue with another policy. Queries that have one of their own keep it."""
        with _as_application_error("policy"):
            make_policy(name, parameters)  # wrong settings must not reach the run
            self._runtime.set_policy(PolicySettings(name, parameters))

    def set_query_policy(self, query: str, name: str | None, **parameters: Any) -> None:
        """Give a query a policy of its own, or with None take it away. Queries with different policies take turns."""
        with _as_application_error(f"queries.{query}.policy"):
            if name == Master.name:
                raise ValueError("a query cannot have the policy 'master' as its own; name another policy")
            if name is not None:
                make_policy(name, parameters)
            self._runtime.set_query_policy(query, None if name is None else PolicySettings(name, parameters))

    # Queries come and go -----------------------------------------------------------------------------------------

    def add_stream(self, name: str, schema: str, **settings: Any) -> None:
        """Add a stream, as `Application.stream` does, for queries that join later."""
        with self._changing:
            self._app.stream(name, schema, **settings)

    def add_table(self, name: str, rows: Any, schema: str | None = None) -> None:
        """Add a stored table, as `Application.table` does, for queries that join later."""
        with self._changing:
            self._app.table(name, rows, schema)

    def add_class(self, name: str, priority: int, **settings: Any) -> None:
        """Add a class, as `Application.add_class` does, for queries that join later or are put into it."""
        with self._changing:
            app = self._app.copy()
            app.add_class(name, priority, **settings)
            self._take_class(app, name)

    def _take_class(self, app: Application, name: str) -> None:
        """Let the run know a new class of `app`."""
        section = app.class_section(name)
        with _as_application_error(f"classes.{name}"):
            if not self._app.sections("classes") and name != DEFAULT_CLASS:
                self._replace_default_class(app)
            if name not in self._runtime.core.plan.classes:
                added = QueryClass(name, section.priority, section.linger)
                self._runtime.change(lambda at: ClassAdded(at, added))
            else:  # the one that an application without classes has
                self._runtime.set_priority(name, section.priority)
        self._app = app

    def _replace_default_class(self, app: Application) -> None:
        """The first class was added: the one that there is without classes stays if a query is in it, else it goes."""
        plan = self._runtime.core.plan
        if DEFAULT_CLASS in plan.classes:
            if any(query.class_name == DEFAULT_CLASS for query in self._runtime.core.monitor.plan.queries.values()):
                app.add_class(DEFAULT_CLASS, plan.classes[DEFAULT_CLASS].priority)
            else:
                self._runtime.change(lambda at: ClassRemoved(at, DEFAULT_CLASS))

    def remove_stream(self, name: str) -> None:
        """Forget a stream. ApplicationError: it is not there, or queries read it, even if they have ended."""
        with self._changing:
            self._refuse_used("streams", name)
            channel = self._channels.pop(name, None)
            if channel is not None:
                channel.close()
            with _as_application_error(f"streams.{name}"):
                self._runtime.remove_stream(name)
            if channel is not None:
                channel.forget(None)
            self._app = self._app.forget("streams", name)

    def remove_table(self, name: str) -> None:
        """Forget a table. ApplicationError: it is not there, or queries read it, even if they have ended."""
        with self._changing:
            self._refuse_used("tables", name)
            with _as_application_error(f"tables.{name}"):
                self._runtime.remove_table(name)
            self._app = self._app.forget("tables", name)

    def remove_class(self, name: str) -> None:
        """Forget a class. ApplicationError: it is not there, or queries are in it, even if they have ended."""
        with self._changing, _as_application_error(f"classes.{name}"):
            self._runtime.change(lambda at: ClassRemoved(at, name))
            if name in self._app.sections("classes"):
                self._app = self._app.forget("classes", name)

    def _refuse_used(self, key: str, name: str) -> None:
        known = self._app.sections(key)
        if name not in known:
            what = f"there is no such {key.removesuffix('s')}"
            raise ApplicationError(f"{key}.{name}", what, known_names(key, known, name))
        plan = self._runtime.core.plan
        running = plan.readers(name) if name in plan.streams else plan.table_readers(name)
        if readers := list(dict.fromkeys([*running, *self._app.readers(key, name)])):
            raise ApplicationError(f"{key}.{name}", f"it is read by {first_few(readers)}", "remove them first")

    def add_query(self, name: str, cql: str | None = None, *, force: bool = False, **settings: Any) -> None:
        """Let a query join, with the settings of `Application.query`; it reads what arrives from now on.

        ApplicationError: it is wrong, or cannot run, or leaves too little room for queries with a must-promise, unless
        it joins by `force`; nothing has changed then.
        """
        with self._changing:
            app = self._app.copy()
            app.query(name, cql, **settings)
            self._join(app, name, force)

    def add(self, key: str, name: str, section: Mapping[str, Any], *, force: bool = False) -> None:
        """Add a section as an application file has it, under `streams`, `tables`, `classes` or `queries`."""
        with self._changing:
            app = self._app.copy()
            app.add(key, name, section)
            if key == "queries":
                self._join(app, name, force)
            elif key == "classes":
                self._take_class(app, name)
            else:
                self._app = app

    def _join(self, app: Application, name: str, force: bool) -> None:
        """Let a query of `app` join the run."""
        checked = app.checked_query(name)
        channels = dict(self._channels)
        with app.located(), _as_application_error(f"queries.{name}"):
            self._runtime.add_queries(with_channels(checked, channels, self._runtime.streams_read), force)
        self._app = app
        self._channels.update(channels)
        if not self._watcher.is_alive():  # nothing was left to do
            self._watcher = self._watching()

    def stop_query(self, query: str) -> None:
        """End a query; the others go on. Tuples that wait for it are dropped. It stays in the report."""
        self._known(query)
        self._runtime.stop_queries([query])

    def remove_query(self, query: str) -> None:
        """Forget a query, in the report too; if it still runs, it ends. Its name is free from then on."""
        with self._changing:
            self._known(query)
            self._runtime.remove_query(query)
            self._app = self._app.forget("queries", query)

    def _known(self, query: str) -> None:
        sinks = self._runtime.sinks
        if query not in sinks:
            raise ApplicationError(f"queries.{query}", "there is no such query", known_names("queries", sinks, query))

    def _require_running(self, query: str) -> Query:
        self._known(query)
        plan = self._runtime.core.plan
        if query not in plan.queries:
            raise ApplicationError(f"queries.{query}", "the query has ended", "remove it and register it again")
        return plan.queries[query]

    def checkpoint(self) -> None:
        """Take a checkpoint now, and return when it is durable.

        ApplicationError: the application keeps none, or this one could not be written; the one before stays.
        """
        try:
            self._runtime.checkpoints.take()
        except (OSError, RuntimeError, ValueError) as error:
            problem, _, remedy = str(error).partition("; ")
            raise ApplicationError("checkpoint", problem, remedy) from error

    # The end -----------------------------------------------------------------------------------------------------

    @property
    def clock(self) -> float:
        """Now by the clock of the run, as a Unix time. It goes on with a run that goes on from a checkpoint."""
        return self._runtime.clock.unix

    @property
    def seconds(self) -> float:
        """How long the run has lasted."""
        return self._report.seconds if self._report else self._runtime.clock.lasted

    @property
    def running(self) -> bool:
        """May anything still happen?"""
        return not self._over.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until all sources have ended and everything is processed; False if `seconds` pass first.

        Raises what made the scheduler fail, if it did.
        """
        done = self._over.wait(seconds)
        self._raise_failure()
        return done

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until everything that was pushed so far is processed; False if `timeout` seconds pass first."""
        until = None if timeout is None else time.monotonic() + timeout
        while self.running and (self._pushed() or any(self._runtime.unfinished().values()) or self._pushed()):
            if until is not None and time.monotonic() >= until:
                return False
            time.sleep(_DRAIN_LOOK_S)
        self._raise_failure()
        return True

    def _pushed(self) -> bool:
        return any(channel.waiting for channel in self._channels.values())

    def stop(self) -> Report:
        """End the run and return its report: calls in flight finish, tuples that still wait are dropped.

        A second call returns the same report.
        """
        with self._stopping:
            if self._report is None:
                self._ending.set()
                for channel in self._channels.values():
                    channel.close()
                self._watcher.join()
                try:
                    with self._app.located():
                        self._report = Report(self._runtime.stop())
                        last = {"began": self._began, "running": False, **self._runtime.overview(over_time=True)}
                        self._last = last | {"at": self._report.seconds}
                finally:
                    self._over.set()
        return self._report

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None:
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def __repr__(self) -> str:
        state = "running" if self.running else "ended"
        return f"<Run: {state}, {self.seconds:.1f} s, {len(self._runtime.sinks)} queries>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


class _Stopped(Exception):
    """The watcher has nothing more to do."""


@contextmanager
def _as_application_error(place: str) -> Iterator[None]:
    """A ValueError of a runtime becomes an error that names its place."""
    try:
        yield
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        raise ApplicationError(place, problem, remedy) from error
