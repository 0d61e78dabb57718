"""What the server can do: one verb for each thing that a request, the page or a command asks for.

It joins the run on Spark to what is saved, so that a restart brings back what was registered.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from headgate.api.application import Application
from headgate.api.results import Results
from headgate.api.run import Run
from headgate.application.checked import CheckedApplication
from headgate.application.explain import explain
from headgate.application.untrusted import refuse_untrusted, refuse_untrusted_plan
from headgate.display.json_values import json_value
from headgate.errors import ApplicationError, RowText, ServerError, known_names
from headgate.server.limits import Limits
from headgate.server.saved_sections import SavedSections

log = logging.getLogger("headgate.server")

Lost = dict[str, dict[str, dict[str, Any]]]  # key -> name -> section


class NotThere(ApplicationError):
    """What a request names does not exist."""


class Taken(ApplicationError):
    """What a request asks for clashes with what there is."""


class Service:
    """The running application of a server. Any thread may use it; changes happen one at a time.

    Every verb raises ApplicationError for what its caller did wrong, and has then changed nothing.
    """

    def __init__(
        self,
        app: Application,
        run: Run,
        saved: SavedSections,
        limits: Limits,
        lost: Lost,
        broken: dict[str, str],
        operators: Application,
    ) -> None:
        """`app` holds what is registered, running or not; `lost` what was saved and is wrong by now.

        `broken` says why a query of either could not be started. What is in `operators`, the application of the
        server's operator, can be changed and stopped, and not removed: it would be back after a restart.
        """
        self._app = app
        self._run = run
        self._saved = saved
        self.limits = limits
        self._lost = lost
        self._broken = broken
        self._operators = operators
        self._stopped = {name for name, one in saved.of("queries").items() if not one.started}
        self._changing = threading.RLock()

    # What there is -----------------------------------------------------------------------------------------------

    def sections(self, key: str) -> dict[str, dict[str, Any]]:
        """What was registered under `streams`, `tables`, `classes` or `queries`, by name."""
        return self._app.sections(key) | self._lost[key]

    def section(self, key: str, name: str) -> dict[str, Any]:
        """One of them. NotThere: there is none of this name."""
        found = self.sections(key)
        if name not in found:
            raise NotThere(f"{key}.{name}", f"there is no '{name}' under {key}", known_names(key, found, name))
        return found[name]

    def state(self, query: str) -> tuple[str, str | None]:
        """Of a registered query: `running`, `stopped`, `ended` (its streams have) or `failed`; and its whole error."""
        if query in self._broken:
            return "failed", self._broken[query]
        found = self._run.overview()["queries"].get(query)
        return ("stopped", None) if found is None else self._state(query, found)

    def _state(self, query: str, found: Mapping[str, Any]) -> tuple[str, str | None]:
        """Of a query that the run knows."""
        if found["error"] is not None:
            return "failed", found["error"]
        state = str(found["state"])
        return "stopped" if state == "ended" and query in self._stopped else state, None

    def overview(self, over_time: bool = False) -> dict[str, Any]:
        """The run as of now, in a few milliseconds: see `Run.overview`. Queries that do not run are there, too.

        Errors are without values of rows, as in the report: those are for who looks at the query itself.
        """
        found = self._run.overview(over_time)
        queries = found["queries"]
        for name, one in queries.items():
            one["state"], error = self._state(name, one)
            one["error"] = _without_rows(error)
        for name, section in self.sections("queries").items():
            if name not in queries:
                queries[name] = _idle(section, self._broken.get(name))
        return found

    def query_overview(self, name: str) -> dict[str, Any]:
        """A query as of now: operators, edges, latencies over time, decisions; see `Run.query_overview`."""
        section = self.section("queries", name)
        state, error = self.state(name)
        if state in ("stopped", "failed") and name not in self._run.overview()["queries"]:
            return {"name": name, "cql": section.get("cql", ""), "operators": [], "edges": []} | _idle(section, error)
        return self._run.query_overview(name) | {"state": state, "error": error}

    def explain(self) -> dict[str, Any]:
        """The whole application, as `headgate explain` shows it. ApplicationError: there are no queries yet."""
        return self._app.explain().to_dict()

    def explain_query(self, name: str) -> dict[str, Any]:
        """A query as operators, with the queries that it reads."""
        self.section("queries", name)
        found: dict[str, Any] = json_value(explain(self._app.checked_query(name)))
        return found

    def report(self) -> dict[str, Any]:
        """The report as of now, as `headgate run --json` prints it."""
        found = self._run.report().to_dict()
        found["errors"] = {query: _without_rows(error) for query, error in found["errors"].items()}
        for sink in found["sinks"].values():  # of a query that ended, too
            sink["error"] = _without_rows(sink["error"])
        return found

    def decisions(self, n: int) -> list[dict[str, Any]]:
        """The newest decisions of the optimizer, with their reasons, oldest first."""
        return list(self.report()["decisions"])[-n:] if n else []

    def results(self, query: str) -> Results:
        """The results of a query. NotThere: no such query; Taken: it was not started yet, or keeps none in memory."""
        self.section("queries", query)
        try:
            return self._run.results(query)
        except ApplicationError as error:
            raise Taken(error.place, error.problem, error.remedy) from error

    def snapshot(self, cql: str, limit: int) -> pa.Table:
        """The answer of a query that is asked once: see `Run.snapshot`."""
        return self._run.snapshot(cql, limit, timeout=self.limits.snapshot_seconds, untrusted=self.limits.allowed)

    def stop(self) -> None:
        """End the run."""
        self._run.stop()

    @property
    def running(self) -> bool:
        """Does the run go on? False once its scheduler has failed, or Spark has died."""
        return self._run.running

    # Register and remove -----------------------------------------------------------------------------------------

    def add(self, key: str, name: str, section: Mapping[str, Any], *, start: bool = True, force: bool = False) -> None:
        """Register something under `streams`, `tables`, `classes` or `queries`; a query is started, if it is to be."""
        with self._changing:
            self._refuse_taken(key, name)
            trial = self._trial(key, name, section)
            self._saved.save(key, name, section, start, self._run.clock)
            if key != "queries" or start:
                try:
                    self._run.add(key, name, section, force=force)
                except BaseException:
                    self._saved.forget(key, name)
                    raise
            else:
                self._stopped.add(name)
            self._app = trial

    def validate(self, name: str, section: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
        """Check a query without registering it. Returns the columns of its result, and what to know about it."""
        with self._changing:
            checked = self._checked_query(name, section)[1]
        columns = json_value(explain(checked)["queries"][name]["schema"])
        return columns, [*checked.plan.warnings]

    def _checked_query(self, name: str, section: Mapping[str, Any]) -> tuple[Application, CheckedApplication]:
        self._refuse_untrusted("queries", name, section)
        known = name in self._app.sections("queries")
        trial = self._app.forget("queries", name) if known else self._app.copy()
        trial.add("queries", name, section)
        checked = trial.checked_query(name)
        refuse_untrusted_plan(checked.plan, [name], self.limits.allowed)
        return trial, checked

    def _refuse_untrusted(self, key: str, name: str, section: Mapping[str, Any]) -> None:
        refuse_untrusted(key, name, section, self.limits.allowed, self._app.folder)

    def _trial(self, key: str, name: str, section: Mapping[str, Any]) -> Application:
        """The application with one thing more, checked."""
        if key == "queries":
            return self._checked_query(name, section)[0]
        self._refuse_untrusted(key, name, section)
        trial = self._app.copy()
        trial.add(key, name, section)
        return trial

    def _refuse_taken(self, key: str, name: str) -> None:
        found = self.sections(key)
        if name in found:
            raise Taken(f"{key}.{name}", f"there is already one named '{name}'", "remove it, or choose another name")
        if len(found) >= self.limits.most_of_each:
            problem = f"there are {len(found)} {key}, as many as this server allows"
            raise Taken(f"{key}.{name}", problem, "remove one, or let the operator allow more with --most")

    def remove(self, key: str, name: str) -> None:
        """Forget something; a query that runs is stopped. Taken: a query uses it, or it is the operator's."""
        with self._changing:
            self.section(key, name)
            if name in self._operators.sections(key):
                remedy = "stop it" if key == "queries" else "ask the operator to take it out there"
                raise Taken(f"{key}.{name}", "it is in the application file of the server's operator", remedy)
            self._refuse_used(key, name)
            trial = self._app
            if name not in self._lost[key]:
                trial = trial.forget(key, name)
                if key != "queries" or name in self._run.overview()["queries"]:
                    self._remove_from_run(key, name)
            self._app = trial
            self._lost[key].pop(name, None)
            if key == "queries":
                self._broken.pop(name, None)
                self._stopped.discard(name)
            self._saved.forget(key, name)

    def _remove_from_run(self, key: str, name: str) -> None:
        verbs: dict[str, Callable[[str], None]] = {
            "streams": self._run.remove_stream,
            "tables": self._run.remove_table,
            "classes": self._run.remove_class,
            "queries": self._run.remove_query,
        }
        verbs[key](name)

    def _refuse_used(self, key: str, name: str) -> None:
        users = self._app.users(key, name)
        if users:
            problem = f"it is used by {', '.join(users[:6])}" + (f" and {len(users) - 6} more" if users[6:] else "")
            raise Taken(f"{key}.{name}", problem, "remove these queries first")

    # Start and stop ----------------------------------------------------------------------------------------------

    def start_query(self, name: str, force: bool = False) -> None:
        """Start a registered query that does not run. It reads what arrives from now on."""
        with self._changing:
            section = self.section("queries", name)
            state, _ = self.state(name)
            if state == "running":
                raise Taken(f"queries.{name}", "it runs already", "")
            app = self._trial("queries", name, section) if name in self._lost["queries"] else self._app
            if name in self._run.overview()["queries"]:  # it ended, and is still in the report
                self._run.remove_query(name)
            since = self._run.clock
            self._run.add("queries", name, section, force=force)
            self._app = app
            self._lost["queries"].pop(name, None)
            self._broken.pop(name, None)
            self._stopped.discard(name)
            self._saved.save("queries", name, section, started=True, since=since)

    def stop_query(self, name: str) -> None:
        """Stop a query, and keep it registered. Its results so far stay readable."""
        with self._changing:
            section = self.section("queries", name)
            if self.state(name)[0] != "running":
                raise Taken(f"queries.{name}", "it does not run", "")
            self._run.stop_query(name)
            self._stopped.add(name)
            self._saved.save("queries", name, section, started=False)

    # Change ------------------------------------------------------------------------------------------------------

    def change_class(self, name: str, changes: Mapping[str, Any]) -> None:
        """Give a class another priority."""
        with self._changing:
            section = {**self._readable("classes", name), **changes}
            self._refuse_untrusted("classes", name, section)
            trial = self._app.replaced("classes", name, section)
            self._run.set_priority(name, section["priority"])
            self._keep_change("classes", name, section, trial)

    def change_query(self, name: str, changes: Mapping[str, Any]) -> None:
        """Change the class, QoS, tolerance or policy of a query; while it runs, if it does. None takes a value away."""
        with self._changing:
            before = self._readable("queries", name)
            if changes.get("class", "") is None:
                raise ApplicationError(f"queries.{name}.class", "a query is always in a class", "name one")
            section = {key: one for key, one in {**before, **changes}.items() if one is not None}
            self._refuse_untrusted("queries", name, section)
            trial = self._app.replaced("queries", name, section)
            if self.state(name)[0] == "running":
                self._change_running(name, before, section, changes)
            self._keep_change("queries", name, section, trial)

    def _readable(self, key: str, name: str) -> dict[str, Any]:
        """A section that is not wrong as it stands."""
        section = self.section(key, name)
        if name in self._lost[key]:
            raise Taken(f"{key}.{name}", "it cannot be changed, because it is wrong by now", "register it again")
        return section

    def _change_running(
        self, name: str, before: Mapping[str, Any], section: Mapping[str, Any], changes: Mapping[str, Any]
    ) -> None:
        """Let the run take the changes, one after another; those before one that fails are taken back."""
        done: list[str] = []
        try:
            for change in changes:
                self._change_one(name, change, section)
                done.append(change)
        except ApplicationError:
            for change in reversed(done):
                self._change_one(name, change, before)
            raise

    def _change_one(self, name: str, change: str, section: Mapping[str, Any]) -> None:
        run = self._run
        if change == "class":
            run.set_class(name, section["class"])
        elif change == "qos":
            run.set_qos(name, section.get("qos"))
        elif change in ("tolerance", "shed"):
            run.set_tolerance(name, section.get("tolerance"), shed=section.get("shed"))
        elif change == "policy":
            policy = dict(section.get("policy") or {})
            run.set_query_policy(name, policy.pop("name", None), **policy)

    def _keep_change(self, key: str, name: str, section: Mapping[str, Any], trial: Application) -> None:
        self._app = trial
        saved = self._saved.of(key).get(name)
        self._saved.save(key, name, section, saved.started if saved else True)

    @property
    def policy(self) -> dict[str, Any]:
        """The policy of the application: its name and its parameters."""
        found: dict[str, Any] = self._run.overview()["policy"]
        return found

    def set_policy(self, name: str, parameters: Mapping[str, Any]) -> None:
        """Continue with another policy."""
        with self._changing:
            self._run.set_policy(name, **parameters)
            self._saved.save_policy({"name": name, **parameters})

    # Data --------------------------------------------------------------------------------------------------------

    def push(self, stream: str, rows: Any) -> int:
        """Push rows into a stream; returns how many. With a log, they are on disk then.

        TimeoutError: there was no room for them in time. ServerError: the log cannot be written. None was taken then.
        """
        self.section("streams", stream)
        try:
            return self._run.push(stream, rows, self.limits.push_seconds)
        except TimeoutError:
            raise
        except OSError as error:
            log.error("rows of stream %s are refused, because its log cannot be written: %s", stream, error)
            raise ServerError(f"streams.{stream}", "its log cannot be written", "send the rows again") from error

    def end_stream(self, name: str) -> None:
        """No more rows will be pushed into a stream."""
        self.section("streams", name)
        self._run.end(name)


def _without_rows(error: str | None) -> str | None:
    """An error as lists and reports have it, which go further than results do."""
    if not isinstance(error, RowText):
        return error
    return f"{error.error_class} (look at the query itself: the rest may hold values of rows)".lstrip()


def _idle(section: Mapping[str, Any], error: str | None) -> dict[str, Any]:
    """In an overview, a query that is registered and does not run."""
    return {
        "class": section.get("class"),
        "state": "failed" if error else "stopped",
        "error": error,
        "latency": {"mean": None, "max": None},
        "results": 0,
        "outputs": 0,
        "waiting": 0,
        "policy": (section.get("policy") or {}).get("name"),
        "shedding": 0.0,
    }
