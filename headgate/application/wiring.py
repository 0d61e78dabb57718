"""Turns the operators that an application file lists into plan operators: names become ports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.application.file import ApplicationFile, QuerySection
from headgate.application.operator_sections import (
    AggregateSection,
    ChangesSection,
    DistinctSection,
    ExceptSection,
    FunctionSection,
    IntersectSection,
    JoinSection,
    OperatorSection,
    ProjectSection,
    RStreamSection,
    SelectSection,
    SidedSection,
    SplitSection,
    UnionSection,
    WindowSection,
)
from headgate.errors import ApplicationError, known_names
from headgate.plan.model import Stream, Table
from headgate.plan.operators import (
    Aggregate,
    Changes,
    Distinct,
    Except,
    Function,
    Intersect,
    Project,
    RowWindow,
    RStream,
    Select,
    Split,
    StreamJoin,
    TableJoin,
    TimeWindow,
    Union,
)
from headgate.plan.operators.base import Declared, DeclaredSide, Operator, Port
from headgate.plan.windows import RangeWindow, RowsWindow, Window
from headgate.sql.schema import RESERVED, parse_schema

_NAMED = re.compile(r"(?P<text>.+?)\s+AS\s+`?(?P<name>\w+)`?", re.IGNORECASE | re.DOTALL)
_PLAIN = re.compile(r"`?(?P<name>\w+)`?")
_TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class Wiring:
    """Resolves the inputs of every query's operators, and builds the operators. One for each load."""

    def __init__(self, file: ApplicationFile, streams: Mapping[str, Stream], tables: Mapping[str, Table]) -> None:
        self._file = file
        self._streams = streams
        self._tables = tables
        self._ports = {name: _ports_of(query, name) for name, query in file.queries.items()}
        self.places: dict[str, str] = {}  # places of operators that the file does not list itself
        # The roots of CQL queries are added when these are compiled, before anything that reads them is built.
        self.roots = {name: self._root(name, query) for name, query in file.queries.items() if query.operators}

    def operators(self, query: str, section: OperatorSection) -> list[Operator]:
        """The plan operator of a section, preceded by an operator for each of its ROWS windows.

        Raises ApplicationError when an input, table or column list is wrong.
        """
        place = f"queries.{query}.operators.{section.id}"
        key = "input" if section.input is not None else "inputs"
        inputs = tuple(self._port(query, name, f"{place}.{key}") for name in section.reads)
        common: dict[str, Any] = {
            "id": f"{query}/{section.id}",
            "inputs": inputs,
            "declared": _declared(section),
        }
        self._added: list[Operator] = []
        operator = _BUILDERS[type(section)](self, section, place, common)
        for added in self._added:
            self.places[added.id] = place
            if added.id in self._own_ids(query):
                problem = f"its ROWS window is an operator of its own, '{added.id.split('/')[-1]}'"
                raise ApplicationError(place, problem, "rename the other operator with that id")
        return [*self._added, operator]

    def _own_ids(self, query: str) -> set[str]:
        return {port.node for port in self._ports[query].values()}

    def _window(self, common: dict[str, Any], index: int, window: Window | None, suffix: str) -> RangeWindow | None:
        """The window of an input as the operator takes it. A ROWS window becomes an operator in `common`'s inputs."""
        if not isinstance(window, RowsWindow):
            return window
        inputs = list(common["inputs"])
        rows = RowWindow(id=f"{common['id']}-{suffix}", inputs=(inputs[index],), window=window)
        self._added.append(rows)
        inputs[index] = Port(rows.id)
        common["inputs"] = tuple(inputs)
        return None

    def _two_windows(self, common: dict[str, Any], windows: tuple[Window | None, ...]) -> dict[str, Any]:
        left = self._window(common, 0, windows[0], "left")
        return {"left_window": left, "right_window": self._window(common, 1, windows[1], "right")}

    def _root(self, name: str, query: QuerySection) -> Port:
        """The output that no operator of the query reads: its result.

        If there are several, all but the last are dead ends; if there are none, the operators form a cycle. The plan's
        builder refuses both.
        """
        read = {self._ports[name].get(text) for section in query.operators for text in section.reads}
        ports = list(self._ports[name].values())
        unread = [port for port in ports if port not in read]
        return unread[-1] if unread else ports[-1]

    def _port(self, query: str, name: str, place: str) -> Port:
        """An operator of the same query, a branch of one, a stream, or another query's result, in this order."""
        own = self._ports[query]
        if name in own:
            return own[name]
        branches = [text for text in own if text.startswith(f"{name}.")]
        if branches:
            raise ApplicationError(
                place, f"'{name}' is a split, which has no output of its own", f"read {' or '.join(branches)}"
            )
        if name in self._streams:
            return Port(name)
        if name in self._file.queries:
            return self.roots[name]
        if name in self._file.streams:  # it exists but is wrong, which is reported at its own place
            return Port(name)
        if name in self._file.tables:
            raise ApplicationError(
                place, f"'{name}' is a table", "use an operator of kind join to look tuples up in it"
            )
        known = [*own, *self._file.streams, *(q for q in self._file.queries if q != query)]
        raise ApplicationError(place, f"there is no '{name}' to read", known_names("inputs", known, name))

    # One builder per operator kind ------------------------------------------------------------------------------

    def select(self, section: SelectSection, place: str, common: dict[str, Any]) -> Operator:
        return Select(where=section.where, **common)

    def project(self, section: ProjectSection, place: str, common: dict[str, Any]) -> Operator:
        return Project(columns=_named(section.columns, f"{place}.columns"), **common)

    def split(self, section: SplitSection, place: str, common: dict[str, Any]) -> Operator:
        return Split(conditions=dict(section.branches), match=section.match, **common)

    def union(self, section: UnionSection, place: str, common: dict[str, Any]) -> Operator:
        return Union(**common)

    def join(self, section: JoinSection, place: str, common: dict[str, Any]) -> Operator:
        if section.table is None:
            windows = self._two_windows(common, section.each_window)
            where = section.where or ""
            on = section.pairs
            return StreamJoin(left={}, right={}, on=on, condition=where, all_columns=True, **windows, **common)
        if section.table not in self._file.tables:
            known = known_names("tables", self._file.tables, section.table)
            raise ApplicationError(f"{place}.table", f"there is no table '{section.table}'", known)
        schema = self._tables[section.table].schema
        return TableJoin(table=section.table, table_schema=schema, on=section.pairs, how=section.how, **common)

    def function(self, section: FunctionSection, place: str, common: dict[str, Any]) -> Operator:
        if not _TARGET.fullmatch(section.function):
            raise ApplicationError(
                f"{place}.function", f"'{section.function}' names no function", "write it as module:function"
            )
        schema = parse_schema(section.schema_, f"{place}.schema")
        return Function(target=section.function, schema=schema, time_limit_s=section.time_limit, **common)

    def aggregate(self, section: AggregateSection, place: str, common: dict[str, Any]) -> Operator:
        group = _named(section.group, f"{place}.group")
        values = _named(section.values, f"{place}.values")
        window = self._window(common, 0, section.window, "window")
        return Aggregate(group=group, values=values, window=window, **common)

    def distinct(self, section: DistinctSection, place: str, common: dict[str, Any]) -> Operator:
        window = self._window(common, 0, section.window, "window")
        return Distinct(window=window, **common)

    def changes(self, section: ChangesSection, place: str, common: dict[str, Any]) -> Operator:
        window = self._window(common, 0, section.window, "window")
        return Changes(mode=section.kind, window=window, **common)

    def rstream(self, section: RStreamSection, place: str, common: dict[str, Any]) -> Operator:
        window = self._window(common, 0, section.window, "window")
        return RStream(window=window, **common)  # the plan's builder determines when it emits

    def window(self, section: WindowSection, place: str, common: dict[str, Any]) -> Operator:
        if isinstance(section.window, RowsWindow):
            return RowWindow(window=section.window, **common)
        return TimeWindow(window=section.window, **common)

    def except_(self, section: ExceptSection, place: str, common: dict[str, Any]) -> Operator:
        windows = self._two_windows(common, section.each_window)
        return Except(all=section.all, **windows, **common)

    def intersect(self, section: IntersectSection, place: str, common: dict[str, Any]) -> Operator:
        windows = self._two_windows(common, section.each_window)
        return Intersect(all=section.all, **windows, **common)


_BUILDERS: dict[type[OperatorSection], Callable[[Wiring, Any, str, dict[str, Any]], Operator]] = {
    SelectSection: Wiring.select,
    ProjectSection: Wiring.project,
    SplitSection: Wiring.split,
    UnionSection: Wiring.union,
    JoinSection: Wiring.join,
    FunctionSection: Wiring.function,
    AggregateSection: Wiring.aggregate,
    DistinctSection: Wiring.distinct,
    ChangesSection: Wiring.changes,
    RStreamSection: Wiring.rstream,
    WindowSection: Wiring.window,
    ExceptSection: Wiring.except_,
    IntersectSection: Wiring.intersect,
}


def _ports_of(query: QuerySection, name: str) -> dict[str, Port]:
    """The outputs of the query's own operators, by the names that inputs use for them."""
    ports: dict[str, Port] = {}
    for section in query.operators:
        operator = f"{name}/{section.id}"
        if isinstance(section, SplitSection):
            ports.update({f"{section.id}.{branch}": Port(operator, branch) for branch in section.branches})
        else:
            ports[section.id] = Port(operator)
    return ports


def _declared(section: OperatorSection) -> Declared:
    branches = dict(section.selectivities) if isinstance(section, SplitSection) else {}
    sides: tuple[DeclaredSide, ...] = ()
    if isinstance(section, SidedSection) and (section.costs or section.selectivities):
        nothing: list[float | None] = [None] * len(section.reads)
        sides = tuple(map(DeclaredSide, section.costs or nothing, section.selectivities or nothing))
    match = section.match if isinstance(section, JoinSection) else None
    return Declared(section.fixed_cost, section.cost, section.selectivity, section.bytes, branches, sides, match)


def _named(columns: Mapping[str, str] | Sequence[str], place: str) -> dict[str, str]:
    """Output columns, name -> expression, from either notation."""
    if isinstance(columns, Mapping):
        pairs = list(columns.items())
    else:
        pairs = [_column(text, f"{place}.{i}") for i, text in enumerate(columns)]
    result: dict[str, str] = {}
    seen: set[str] = set()
    for name, text in pairs:
        if name.lower() in seen:
            raise ApplicationError(place, f"column '{name}' appears twice", "give each column its own name")
        if name.lower() in RESERVED:
            raise ApplicationError(place, f"column name '{name}' is reserved for Headgate's stamps", "rename it")
        seen.add(name.lower())
        result[name] = text
    return result


def _column(text: str, place: str) -> tuple[str, str]:
    if found := _NAMED.fullmatch(text.strip()):
        return found["name"], found["text"]
    if found := _PLAIN.fullmatch(text.strip()):
        return found["name"], text.strip()
    raise ApplicationError(place, f"'{text}' has no column name", f'write it as "{text} AS name"')
