"""Turns an application's sections into a checked application: one plan, and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from headgate.application.checked import CheckedApplication, PolicySettings, SimulatorSettings
from headgate.application.extension_files import load_extensions
from headgate.application.file import MAY_BE_EMPTY, ApplicationFile, Goals, QuerySection
from headgate.application.queries import QueryBuilder
from headgate.application.query_stats import QueryStats
from headgate.application.sources import read_stream, read_table, refuse_shared_input
from headgate.application.wiring import Wiring
from headgate.connect.sinks.output_files import is_part
from headgate.errors import ApplicationError, known_names
from headgate.language.risky_expressions import redirect_inputs, split_risky_expressions
from headgate.language.rules.share import share
from headgate.plan.changing_tables import refuse_late_lookups
from headgate.plan.graph import build_plan
from headgate.plan.model import Plan, Query, QueryClass, Stream, Table
from headgate.plan.operators.base import Operator, Port
from headgate.plan.weighing import gives_error_bounds
from headgate.policies.adaptive import Adaptive
from headgate.policies.making import read_policy
from headgate.policies.master import Master
from headgate.policies.registry import make_policy
from headgate.scheduling.policy import PolicyError
from headgate.settings.errors import first_error
from headgate.sql.schema import EXTRA

DEFAULT_CLASS = "default"
_NO_PATH = (OSError, ValueError, RuntimeError)  # what `Path.resolve` raises for an impossible file name


def check(
    data: dict[str, Any],
    folder: Path,
    name: str,
    path: Path | None,
    line_of: Callable[[str], int],
    may_be_empty: bool = False,
) -> CheckedApplication:
    """The checked application of these sections, which are plain data or hold live connectors.

    `path` is the file that `data` was read from; rows that are put aside go beside it unless `data` says where. None:
    they are only counted. It `may_be_empty` if queries join it while it runs.
    Raises ApplicationError for one problem. Problems of shape come before problems of meaning; within each, `line_of`
    decides which is first.
    """
    load_extensions(data, folder)
    try:
        if may_be_empty:
            file = ApplicationFile.model_validate({"streams": {}, "queries": {}, **data}, context=MAY_BE_EMPTY)
        else:
            file = ApplicationFile.model_validate(data)
    except ValidationError as error:
        raise first_error(error, data, line_of) from error
    except RecursionError as error:
        raise ApplicationError("the file", "it is nested too deeply", "take some levels out") from error
    letters = file.dead_letters or (f"{path.stem}.dead-letters.jsonl" if path is not None else None)
    plan = _Planner(file, folder, path, letters, line_of).plan()
    simulator = file.simulator
    return CheckedApplication(
        plan=plan,
        policy=_default_policy(file) if file.policy is None else _policy(file.policy, file.goals),
        slots=file.slots,
        seed=file.seed,
        folder=folder,
        name=name,
        dead_letters=folder / letters if letters else None,
        checkpoint=None if file.checkpoint is None else file.checkpoint.settings(),
        queues=file.queues.settings(folder),
        rehearse=file.rehearse,
        driver_share=file.driver_share,
        optimizer=file.optimizer.settings(),
        simulator=SimulatorSettings(
            noise=simulator.noise,
            decision_s=simulator.decision,
            call_s=simulator.call,
            switch_s=simulator.switch,
            preempt_s=simulator.preempt,
            inspect_s=simulator.inspect,
            look_ahead_s=simulator.look_ahead,
            class_switch_s=simulator.class_switch,
            source_slots=simulator.source_slots,
            source_cost_s=simulator.source_cost,
            fluid=simulator.fluid,
            in_step=simulator.in_step,
        ),
        spark={_spark_key(key): value for key, value in file.spark.items()},
    )


def _spark_key(key: str) -> str:
    """`sql.shuffle.partitions` is short for `spark.sql.shuffle.partitions`; `master` is our own word."""
    return key if key == "master" or key.startswith("spark.") else f"spark.{key}"


class _Planner:
    """Checks what the parts of a file mean together. Goes on after an error, so as to report the first in the file."""

    def __init__(
        self,
        file: ApplicationFile,
        folder: Path,
        path: Path | None,
        dead_letters: str | None,
        line_of: Callable[[str], int],
    ) -> None:
        self._file = file
        self._folder = folder
        self._path = path
        self._dead_letters = dead_letters
        self._line_of = line_of
        self._errors: list[ApplicationError] = []

    def plan(self) -> Plan:
        file = self._file
        streams: dict[str, Stream] = {}
        tables: dict[str, Table] = {}
        for name, stream in file.streams.items():
            with self._collected():
                streams[name] = read_stream(name, stream, self._folder)
        with self._collected():
            refuse_shared_input(streams.values())
        for name, table in file.tables.items():
            with self._collected():
                tables[name] = read_table(name, table, self._folder)
        for name in file.optimizer.candidates or ():
            with self._collected():
                _check_own_policy({"name": name}, "optimizer.candidates")
        classes = {name: QueryClass(name, c.priority, c.linger) for name, c in file.classes.items()}
        classes = classes or {DEFAULT_CLASS: QueryClass(DEFAULT_CLASS, 1)}
        if file.policy is not None:
            with self._collected():
                check_policy(file.policy, "policy")
        with self._collected():
            self._refuse_shared_names()
        with self._collected():
            self._refuse_dead_letters()
        wiring = Wiring(file, streams, tables)

        def listed(name: str) -> list[Operator]:
            return self._listed(name, wiring, tables)

        built = QueryBuilder(file, streams, tables, wiring, listed, self._collected).build()
        stats = QueryStats(file.queries)
        operators: list[Operator] = []
        instead: dict[Port, Port] = {}
        for name, own in built.operators.items():
            with self._collected():
                declared = stats.applied(name, own)
                if file.queries[name].on_error == "skip":
                    declared, moved = split_risky_expressions(declared)
                    instead |= moved
                operators += declared
        operators = redirect_inputs(operators, instead)
        wiring.roots = {name: instead.get(root, root) for name, root in wiring.roots.items()}
        if file.share:
            operators, shared = share(operators)
            wiring.roots = {name: shared.get(root, root) for name, root in wiring.roots.items()}
        queries = self._queries(wiring, classes)
        self._raise_first()
        places = {operator.id: self._place_of(operator) for operator in operators} | wiring.places
        plan = stats.completed(build_plan(streams, tables, classes, operators, queries, places, built.grows))
        refuse_late_lookups(plan)
        self._check_shedding(plan)
        return plan

    def _listed(self, name: str, wiring: Wiring, tables: dict[str, Table]) -> list[Operator]:
        """The operators of a query that lists them."""
        built: list[Operator] = []
        query = self._file.queries[name]
        with self._collected():
            _refuse_repeated_ids(name, query)
        for section in query.operators:
            table = getattr(section, "table", None)
            if table in self._file.tables and table not in tables:
                continue  # the table has its own error
            with self._collected():
                built += wiring.operators(name, section)
        return built

    def _place_of(self, operator: Operator) -> str:
        query, _, name = operator.id.partition("/")
        if self._file.queries[query].cql is not None:
            return f"queries.{query}.cql"
        return f"queries.{query}.operators.{name}"

    def _queries(self, wiring: Wiring, classes: dict[str, QueryClass]) -> list[Query]:
        queries: list[Query] = []
        files = self._files()
        written: dict[Path, str] = {}  # sink path -> the query that writes there
        for name, section in self._file.queries.items():
            with self._collected():
                class_name = _class_of(name, section, classes)
                for path in section.sink.files:
                    _refuse_shared_path(f"queries.{name}.sink.path", path, self._folder, files, written, name)
                if section.policy is not None:
                    _check_own_policy(section.policy, f"queries.{name}.policy")
                queries.append(
                    Query(
                        name=name,
                        class_name=class_name,
                        root=wiring.roots.get(name, Port(name)),  # missing: its error has been collected
                        operators=(),
                        sink=section.sink.settings(),
                        connector=section.sink,
                        qos=section.measures,
                        tolerance=section.tolerance,
                        error_bounds=section.error_bounds,
                        shed=section.what_to_shed,
                        policy=None if section.policy is None else _policy(section.policy, section.goals),
                        cql=section.cql or "",
                        on_error=section.on_error,
                        linger_s=section.linger,
                    )
                )
        return queries

    def _refuse_dead_letters(self) -> None:
        """Dead letters replace the file at their path, which must be neither read nor written by a query."""
        taken: dict[Path, str] = {}
        for name, query in self._file.queries.items():
            with suppress(ApplicationError):  # the query has its own error
                for path in query.sink.files:
                    _refuse_shared_path(f"queries.{name}.sink.path", path, self._folder, {}, taken, name)
        _refuse_shared_path(
            "dead_letters", self._dead_letters, self._folder, self._files(), taken, "dead_letters", "dead letters"
        )

    def _files(self) -> dict[Path, str]:
        """The files that the application reads, and what each is."""
        named: list[tuple[str, str | Path]] = []
        if self._path is not None:
            named.append(("the application file", self._path.absolute()))
        named += [("an extension", name) for name in self._file.extensions if name.endswith(".py")]
        named += [
            (f"the file of stream '{name}'", path)
            for name, one in self._file.streams.items()
            for path in one.source.files
        ]
        named += [
            (f"the file of table '{name}'", path) for name, table in self._file.tables.items() for path in table.files
        ]
        files: dict[Path, str] = {}
        for what, path in named:
            with suppress(*_NO_PATH):  # the stream or table has its own error
                files.setdefault((self._folder / path).resolve(), what)
        return files

    def _refuse_shared_names(self) -> None:
        """Streams, tables and queries share one namespace: an input or a FROM may mean any of them."""
        seen = dict.fromkeys(self._file.streams, "stream")
        for section, what in (("tables", "table"), ("queries", "query")):
            for name in getattr(self._file, section):
                if name in seen:
                    problem = f"there is also a {seen[name]} named '{name}'"
                    raise ApplicationError(f"{section}.{name}", problem, "rename one of them")
                seen[name] = what

    def _check_shedding(self, plan: Plan) -> None:
        for query in plan.queries.values():
            if query.error_bounds and not gives_error_bounds(plan, query):
                place, problem = f"queries.{query.name}.error_bounds", "its results cannot have error bounds"
                remedy = "give it a tolerance, and let it count, sum or average over windows of its streams"
                raise ApplicationError(place, problem, remedy)
            check_shed(plan, query)

    @contextmanager
    def _collected(self) -> Iterator[None]:
        try:
            yield
        except ApplicationError as error:
            self._errors.append(error)

    def _raise_first(self) -> None:
        if self._errors:
            raise min(self._errors, key=lambda error: self._line_of(error.place))


def check_shed(plan: Plan, query: Query) -> None:
    """Raise ApplicationError if what is to be dropped of a query goes by a column that nothing in it has."""
    if not isinstance(query.shed, dict):
        return
    inputs = {port for name in query.operators for port in plan.operators[name].inputs}
    columns = {column for port in inputs for column in plan.schemas[port].names if column != EXTRA}
    wanted = query.shed["attribute"]
    if wanted.lower() not in {column.lower() for column in columns}:
        place = f"queries.{query.name}.shed.attribute"
        raise ApplicationError(place, f"there is no column '{wanted}'", known_names("columns", columns, wanted))


def check_policy(settings: dict[str, Any], place: str) -> None:
    """Create the policy to see whether its settings are valid. ApplicationError: names the parameter that is wrong."""
    policy = _policy(settings)
    try:
        make_policy(policy.name, policy.parameters)
    except PolicyError as error:
        problem, _, remedy = str(error).partition("; ")
        at = next((f".{key}" for key in policy.parameters if key in problem.replace("'", " ").split()), "")
        raise ApplicationError(f"{place}{at}", problem, remedy) from error


def _check_own_policy(settings: dict[str, Any], place: str) -> None:
    check_policy(settings, place)
    if settings["name"] == Master.name:
        raise ApplicationError(place, "a query cannot have the policy 'master' as its own", "name another policy")


def _policy(settings: dict[str, Any], goals: Goals | None = None) -> PolicySettings:
    """The policy of these settings. `adaptive` goes by these goals unless it has its own; others have none."""
    found = read_policy(settings)
    if found.name != Adaptive.name or goals is None:
        return found
    given = [goal.model_dump(exclude_none=True) for goal in goals]
    return PolicySettings(found.name, {"goals": given, **found.parameters})


def _default_policy(file: ApplicationFile) -> PolicySettings:
    """With classes a policy that treats them by priority, otherwise round robin."""
    return PolicySettings("mbd") if file.classes else PolicySettings()


def _class_of(name: str, section: QuerySection, classes: dict[str, QueryClass]) -> str:
    if section.class_ is None:
        if len(classes) == 1:
            return next(iter(classes))
        raise ApplicationError(
            f"queries.{name}", "the key 'class' is missing", f"add it, {known_names('classes', classes)}"
        )
    if section.class_ not in classes:
        raise ApplicationError(
            f"queries.{name}.class",
            f"there is no class '{section.class_}'",
            known_names("classes", classes, section.class_),
        )
    return section.class_


def _refuse_repeated_ids(name: str, query: QuerySection) -> None:
    seen: set[str] = set()
    for index, section in enumerate(query.operators):
        if section.id in seen:
            raise ApplicationError(
                f"queries.{name}.operators.{index}.id",
                f"the query has another operator '{section.id}'",
                "give each operator its own id",
            )
        seen.add(section.id)


def _refuse_shared_path(
    place: str,
    path: str | None,
    folder: Path,
    files: dict[Path, str],
    written: dict[Path, str],
    name: str,
    what: str = "results",
) -> None:
    """Refuse an output whose path is read, or written by another query: it would replace what is there.

    In a folder it would replace the parts.
    """
    if path is None:
        return
    try:
        target = (folder / path).resolve()
    except _NO_PATH as error:
        raise ApplicationError(place, f"'{path}' is not a file name: {error}", "check the name") from error
    for file, which in files.items():
        if file == target or (file.parent == target and is_part(file)):
            raise ApplicationError(
                place, f"'{file.name}' is {which}, which the {what} would replace", "write them elsewhere"
            )
        if file in target.parents:  # it is a folder
            problem = f"'{path}' lies in '{file.name}', whose files a stream reads"
            raise ApplicationError(place, problem, f"write the {what} elsewhere, or they would be read as rows")
    for other, query in written.items():
        if target == other:
            raise ApplicationError(place, f"query '{query}' also writes to '{path}'", "give each query its own path")
        if target in other.parents or other in target.parents:
            problem = f"query '{query}' writes to '{other}', and one of the two lies inside the other"
            raise ApplicationError(place, problem, "give each query its own path")
    written[target] = name
