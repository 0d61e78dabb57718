"""Applications built in Python, or read from a file: the same sections, the same checks, the same errors."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pydantic import TypeAdapter, ValidationError

from headgate.api.explanation import Explanation
from headgate.api.report import Report
from headgate.api.sections import (
    PolicyChoice,
    class_section,
    policy_section,
    query_section,
    stream_section,
    table_section,
)
from headgate.api.write import yaml_text
from headgate.application.checked import CheckedApplication, RunLimits
from headgate.application.file import ClassSection, QuerySection, StreamSection, TableSection
from headgate.application.load import Draft, read_draft
from headgate.application.overrides import Override, apply_overrides, parse_override
from headgate.application.planner import check_policy
from headgate.application.sources import read_table as checked_table
from headgate.connect.connector import Connector
from headgate.connect.sources import Push
from headgate.connect.sources import read_table as table_rows
from headgate.connect.sources.push import nobody_can_push
from headgate.errors import ApplicationError
from headgate.settings.errors import first_error
from headgate.settings.sections import Section

if TYPE_CHECKING:
    from headgate.api.run import Run

log = logging.getLogger("headgate.plan")


class Application:
    """Streams, tables, classes and queries, and how to run them. Build it call by call; each checks what it is given.

    >>> import headgate as hg
    >>> app = hg.Application(slots=1)
    >>> app.stream("clicks", "user STRING, price DOUBLE", source=hg.sources.Feeder(rate=100, rows=50))
    >>> app.query("large", "SELECT user, price FROM clicks WHERE price > 0.5")
    >>> app.simulate().queries["large"].inputs
    50
    """

    def __init__(
        self,
        *,
        policy: PolicyChoice | None = None,
        slots: int | None = None,
        seed: int | None = None,
        name: str = "",
        folder: str | Path = ".",
        share: bool | None = None,
        rehearse: bool | None = None,
        driver_share: float | None = None,
        queues: Mapping[str, Any] | None = None,
        dead_letters: str | None = None,
        checkpoint: str | Mapping[str, Any] | None = None,
        extensions: Sequence[str] | None = None,
        goals: Sequence[Mapping[str, Any]] | None = None,
        optimizer: Mapping[str, Any] | None = None,
        simulator: Mapping[str, Any] | None = None,
        spark: Mapping[str, Any] | None = None,
    ) -> None:
        """What is left out has its default. `folder` is where relative file names start; `name` is for messages."""
        given = {
            "policy": None if policy is None else policy_section(policy),
            "slots": slots,
            "seed": seed,
            "share": share,
            "rehearse": rehearse,
            "driver_share": driver_share,
            "queues": None if queues is None else dict(queues),
            "dead_letters": dead_letters,
            "checkpoint": dict(checkpoint) if isinstance(checkpoint, Mapping) else checkpoint,
            "extensions": None if extensions is None else list(extensions),
            "goals": None if goals is None else [dict(one) for one in goals],
            "optimizer": None if optimizer is None else dict(optimizer),
            "simulator": None if simulator is None else dict(simulator),
            "spark": None if spark is None else dict(spark),
        }
        data: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        self._draft = Draft(data, Path(folder), name)
        if policy is not None:
            check_policy(data["policy"], "policy")

    @classmethod
    def _of(cls, draft: Draft) -> Application:
        app = cls()
        app._draft = draft
        return app

    @classmethod
    def of_sections(cls, sections: Mapping[str, Mapping[str, Any]]) -> Application:
        """An application of sections as a file has them, by key and name; they are checked where it is used."""
        return cls._of(Draft(copy.deepcopy(dict(sections))))

    @classmethod
    def empty(cls, set: Sequence[str | Override] = ()) -> Application:
        """An application with settings alone, for a server to begin with; `set` as in `load`."""
        changes = [parse_override(one) if isinstance(one, str) else one for one in set]
        return cls._of(Draft(apply_overrides({}, changes)))

    def with_settings(self, **changes: Any) -> Application:
        """A copy with other settings, to compare: `app.with_settings(policy="fifo", slots=4)`."""
        other = Application(**changes)
        draft = copy.copy(self._draft)
        draft.data = {**draft.data, **other._draft.data}
        return Application._of(draft)

    # Build -------------------------------------------------------------------------------------------------------

    def stream(
        self,
        name: str,
        schema: str,
        *,
        source: Connector | Mapping[str, Any] | None = None,
        time: str | None = None,
        slack: float | str | None = None,
        max_jump: float | str | None = None,
        relation: bool = False,
    ) -> None:
        """Add a stream. Without a source, rows are pushed into it by `Run.push`."""
        section = stream_section(schema, source=source, time=time, slack=slack, max_jump=max_jump, relation=relation)
        self._add("streams", name, section, StreamSection)

    def table(self, name: str, rows: Any, schema: str | None = None) -> None:
        """Add a stored table: a Spark or pandas data frame, an Arrow table, a list of dicts, or a csv or json file."""
        self._add("tables", name, table_section(name, rows, schema), None)

    def add_class(self, name: str, priority: int, *, linger: float | str | None = None) -> None:
        """Add a class of queries; a larger priority is more important.

        `linger` is how long tuples may wait for others, so that a call is worth its fixed cost: `"10 ms"`.
        """
        self._add("classes", name, class_section(priority, linger), ClassSection)

    def query(
        self,
        name: str,
        cql: str | None = None,
        *,
        operators: Iterable[Mapping[str, Any]] | None = None,
        in_class: str | None = None,
        sink: Connector | Mapping[str, Any] | None = None,
        stats: Mapping[str, Any] | None = None,
        emit: str | None = None,
        on_error: str | None = None,
        qos: Mapping[str, Any] | None = None,
        tolerance: float | None = None,
        shed: Any = None,
        error_bounds: bool | None = None,
        policy: PolicyChoice | None = None,
        goals: Sequence[Mapping[str, Any]] | None = None,
        linger: float | str | None = None,
    ) -> None:
        """Add a query, as CQL or as operators. It is checked with the streams, tables and queries that are there."""
        section = query_section(
            cql,
            operators=operators,
            in_class=in_class,
            sink=sink,
            stats=stats,
            emit=emit,
            on_error=on_error,
            qos=qos,
            tolerance=tolerance,
            shed=shed,
            error_bounds=error_bounds,
            policy=policy,
            goals=goals,
            linger=linger,
        )
        self._add("queries", name, section, QuerySection)

    def add(self, key: str, name: str, section: Mapping[str, Any]) -> None:
        """Add a section as an application file has it, under `streams`, `tables`, `classes` or `queries`."""
        self._add(key, name, copy.deepcopy(dict(section)), _MODELS[key])

    def _add(self, key: str, name: str, section: dict[str, Any], model: type[Section] | None) -> None:
        """Add a section if it is valid by itself and with what is there already; otherwise change nothing."""
        place, data = f"{key}.{name}", self._draft.data
        if name in (data.get(key) or {}):
            raise ApplicationError(place, f"there is already one named '{name}'", "choose another name")
        if model is not None:
            _check_shape(model, section, place)
        trial = {**data, key: {**(data.get(key) or {}), name: section}}
        self._checked_part(trial, key, name)
        self._draft.data = trial

    def _checked_part(self, data: dict[str, Any], key: str, name: str) -> CheckedApplication:
        """Check a section with what it needs and nothing else; whole-application checks come later."""
        part = {
            k: v for k, v in data.items() if k not in ("streams", "tables", "classes", "queries", "policy", "goals")
        }
        if key != "queries":
            stream = {"schema": "k INT", "source": {"kind": "feeder", "rate": 1}}
            part |= {"streams": {_ANY: stream}, "queries": {f"{_ANY}_query": {"cql": f"SELECT k FROM {_ANY}"}}}
            part[key] = {**part.get(key, {}), name: data[key][name]}
            return self._draft.checked(part)
        if not data.get("streams"):
            raise ApplicationError(f"queries.{name}", "there are no streams yet", "add those that it reads first")
        part |= {k: data[k] for k in ("streams", "tables", "classes") if k in data}
        needed, words = _read_by(data["queries"], name)
        part["queries"] = {query: section for query, section in data["queries"].items() if query in needed}
        few = {k: {n: one for n, one in data.get(k, {}).items() if n.lower() in words} for k in ("streams", "tables")}
        try:
            return self._draft.checked({**part, **few})
        except ApplicationError:
            return self._draft.checked(part)  # the error may name what there is instead

    @property
    def folder(self) -> Path:
        """Where relative file names start."""
        return self._draft.folder

    def sections(self, key: str) -> dict[str, Any]:
        """What there is under `streams`, `tables`, `classes` or `queries`: by name, as an application file has it.

        The sections themselves are the application's own; copy what is to be changed.
        """
        return dict(self._draft.data.get(key) or {})

    @property
    def settings(self) -> list[str]:
        """The settings that were given: what is no stream, table, class or query."""
        return [key for key in self._draft.data if key not in _MODELS]

    # While it runs -----------------------------------------------------------------------------------------------

    def copy(self) -> Application:
        """A copy with the same sections: a run adds queries to its own."""
        return Application._of(copy.copy(self._draft))

    def checked_query(self, name: str) -> CheckedApplication:
        """One query, with those that it reads, checked to join a run."""
        return self._checked_part(self._draft.data, "queries", name)

    def changed(self, key: str, name: str, **changes: Any) -> Application:
        """A copy in which a section has other settings; None takes one away. Only its shape is checked.

        A section that is not there is left alone, as is the class that an application without classes has.
        """
        app, data = self.copy(), self._draft.data
        section = (data.get(key) or {}).get(name)
        if section is not None:
            section = {k: value for k, value in {**section, **changes}.items() if value is not None}
            _check_shape(ClassSection if key == "classes" else QuerySection, section, f"{key}.{name}")
            app._draft.data = {**data, key: {**data[key], name: section}}
        return app

    def query_section(self, name: str) -> QuerySection:
        """A query as it is written."""
        return QuerySection.model_validate(self._draft.data["queries"][name])

    def class_section(self, name: str) -> ClassSection:
        """A class as it is written."""
        return ClassSection.model_validate(self._draft.data["classes"][name])

    def readers(self, key: str, name: str) -> list[str]:
        """The queries that read a stream or a table, by their texts."""
        queries = self._draft.data.get("queries") or {}
        return [query for query in queries if name.lower() in _read_by(queries, query)[1] and self._reads(query, name)]

    def _reads(self, query: str, name: str) -> bool:
        """Does a query whose text has the name really mean it?"""
        try:
            plan = self.checked_query(query).plan
        except ApplicationError:  # it reads a query that was removed
            return True
        return query in plan.readers(name) if name in plan.streams else query in plan.table_readers(name)

    def forget(self, key: str, name: str) -> Application:
        """A copy without a stream, a table, a class or a query."""
        app, data = self.copy(), self._draft.data
        app._draft.data = {**data, key: {one: section for one, section in data[key].items() if one != name}}
        return app

    def replaced(self, key: str, name: str, section: Mapping[str, Any]) -> Application:
        """A copy in which a section is in the place of another. ApplicationError: it is wrong."""
        app = self.forget(key, name)
        app.add(key, name, section)
        in_order = {one: app._draft.data[key][one] for one in self._draft.data[key]}
        app._draft.data = {**app._draft.data, key: in_order}
        return app

    def users(self, key: str, name: str) -> list[str]:
        """The queries that read a stream, a table or a query, or that are in a class."""
        queries = self._draft.data.get("queries") or {}
        if key == "classes":
            return [query for query, section in queries.items() if section.get("class") == name]
        if key == "queries":
            return [query for query, section in queries.items() if query != name and name.lower() in _names_in(section)]
        return self.readers(key, name)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the stored tables."""
        return tuple(self._draft.data.get("tables") or ())

    def read_table(self, name: str) -> pa.Table:
        """The rows of a stored table, as they are now; for one-time queries."""
        section = TypeAdapter(TableSection).validate_python(self._draft.data["tables"][name])
        return table_rows(checked_table(name, section, self._draft.folder), self._draft.folder)

    # Look --------------------------------------------------------------------------------------------------------

    def checked(self, may_be_empty: bool = False) -> CheckedApplication:
        """The whole application, checked: what runtimes take. ApplicationError says what is wrong with it."""
        app = self._draft.checked(may_be_empty=may_be_empty)
        for warning in app.plan.warnings:
            log.warning("%s%s", f"{app.name}: " if app.name else "", warning)
        return app

    def explain(self, *, policy: bool = False, check: bool = False) -> Explanation:
        """What the application is: its operators, paths, segments, classes.

        `policy`: also what its policy makes of it. `check`: let Spark's analyzer check every query; that starts Spark.
        """
        from headgate.application.explain import explain

        app = self.checked()
        found = explain(app) | {"checked": check}
        if check:
            self.check_on_spark(app)
        if policy:
            from headgate.application.explain_policy import explain_policy

            found["schedule"] = explain_policy(app)
        return Explanation(found)

    def check_on_spark(self, app: CheckedApplication | None = None) -> None:
        """Let Spark's analyzer check every query. ApplicationError names the query and the place in its text."""
        from headgate.runtime.spark.analysis.check import check

        with self._draft.located():
            check(app or self.checked())

    def to_yaml(self) -> str:
        """The application as a file. ApplicationError names what a file cannot express: a data frame, a function."""
        return yaml_text(self._draft.data)

    def located(self) -> AbstractContextManager[None]:
        """Give file and line to errors that only come up in a run; for callers that run what was `checked`."""
        return self._draft.located()

    # Run ---------------------------------------------------------------------------------------------------------

    def simulate(self, seconds: float | None = None, until_idle: bool | None = None) -> Report:
        """Run in virtual time, by declared costs and selectivities, until the work is done or `seconds` have passed."""
        from headgate.runtime.simulated import simulate

        app = self.checked()
        limits = _limits(seconds, seconds is None if until_idle is None else until_idle)
        if app.checkpoint is not None:
            log.warning(
                "%sa simulation neither writes checkpoints nor goes on from one", f"{app.name}: " if app.name else ""
            )
        with self._draft.located():
            return Report(simulate(app, limits).report)

    def run(
        self,
        seconds: float | None = None,
        until_idle: bool = False,
        spark: Any = None,
        *,
        force: bool = False,
        fresh: bool = False,
    ) -> Report:
        """Run on Spark until the sources have ended and the queues are empty, at most for `seconds`.

        With `seconds` and without `until_idle` it lasts exactly that long. Ctrl-C ends it with its report. `force`
        runs it even if its declared load is too much for the promises that it makes. An application with a checkpoint
        goes on from it, unless it is to start over, `fresh`.
        """
        app, limits = self.checked(), _limits(seconds, until_idle)
        self.refuse_pushed(app)
        from headgate.runtime.spark.run import run

        with self._draft.located():
            return Report(run(app, limits, spark, force=force, fresh=fresh))

    def refuse_pushed(self, app: CheckedApplication) -> None:
        """Raise ApplicationError when rows are pushed into a stream, for a run that nobody can push into."""
        for stream in app.plan.streams.values():
            if isinstance(stream.connector, Push):
                with self.located():
                    raise nobody_can_push(stream.name)

    def start(
        self,
        spark: Any = None,
        *,
        force: bool = False,
        stay_open: bool = False,
        fresh: bool = False,
        since: Mapping[str, float] | None = None,
    ) -> Run:
        """Start on Spark and return the run once it has begun; a `with` block around it stops it.

        `spark` is a session to use; without one, the session of this process, or a new one, which ends with the run.
        `force`, `fresh`: see `run`. One that is to `stay_open`, as in a server, goes on until it is stopped, even when
        nothing is left to do. It may begin without queries, and without streams. `since` is for who keeps the
        application up to date while it runs, also over a crash: by place (`queries.fire`), the time by `Run.clock` at
        which a query was last started, or a stream added. State in a checkpoint from before that is of another, and the
        application's settings count.
        """
        from headgate.api.start import start

        return start(self.copy(), spark, force, stay_open, fresh, since)

    def __repr__(self) -> str:
        data = self._draft.data
        counts = [f"{len(data.get(key) or {})} {key}" for key in ("streams", "tables", "classes", "queries")]
        return f"<Application: {', '.join(counts)}>"


_MODELS: Mapping[str, type[Section] | None] = {
    "streams": StreamSection,
    "tables": None,
    "classes": ClassSection,
    "queries": QuerySection,
}


def _check_shape(model: type[Section], section: dict[str, Any], place: str) -> None:
    """Raise ApplicationError if the section at a place is not valid by itself."""
    try:
        model.model_validate(section)
    except ValidationError as error:
        raise first_error(error, section, lambda _: 0, place) from None


_ANY = "headgate_any"  # stands in for the rest of an application where only a part is checked


def load(path: str | Path, set: Sequence[str | Override] | Mapping[str, Any] = ()) -> Application:
    """The application in a file. `set` changes values before they are checked, by dotted keys: `{"slots": 4}`.

    >>> import headgate as hg
    >>> hg.load("examples/first.yaml", set={"policy": "fifo"}).simulate().policy
    'fifo'
    """
    changes = [Override(f"set {key}", key, value) for key, value in set.items()] if isinstance(set, Mapping) else set
    return Application._of(read_draft(path, changes))


def _read_by(queries: Mapping[str, Any], name: str) -> tuple[set[str], set[str]]:
    """A query with those that it reads, and all names that they read: words of their texts, so perhaps too many."""
    known = {query.lower(): query for query in queries}
    found: set[str] = set()
    words: set[str] = set()
    left = [name]
    while left:
        query = left.pop()
        if query not in found:
            found.add(query)
            own = _names_in(queries[query])
            words |= own
            left += [known[word] for word in own if word in known]
    return found, words


def _names_in(section: Mapping[str, Any]) -> set[str]:
    """The names that a query reads, in lower case."""
    from headgate.language.compile import names_in_from

    words = {word.lower() for word in names_in_from(section.get("cql") or "")}
    for operator in section.get("operators") or ():
        read = [*(operator.get("inputs") or ()), operator.get("input"), operator.get("table")]
        words |= {str(word).lower() for word in read if word is not None}
    return words


def _limits(seconds: float | None, until_idle: bool) -> RunLimits:
    if seconds is not None and not 0 < seconds < float("inf"):
        raise ApplicationError("seconds", f"a run cannot last {seconds:g} seconds", "give a number above 0")
    return RunLimits(seconds, until_idle)
