"""Builds all queries of an application, in CQL or as listed operators, each after the queries that it reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from headgate.application.file import ApplicationFile
from headgate.application.wiring import Wiring
from headgate.errors import ApplicationError
from headgate.language.catalog import Catalog, readable_result
from headgate.language.compile import compile_query, names_in_from
from headgate.language.emit_final import emit_final
from headgate.language.logical_tree import Readable
from headgate.plan.flows import Flow
from headgate.plan.model import Stream, Table
from headgate.plan.operators.base import Operator, Port
from headgate.sql.schema import Schema


@dataclass
class BuiltQueries:
    """The operators of the queries that were built without an error."""

    operators: dict[str, list[Operator]] = field(default_factory=dict)  # query -> its own
    grows: dict[str, tuple[str, ...]] = field(default_factory=dict)  # query -> what grows for as long as it runs


class QueryBuilder:
    """Builds every query after those that it reads. The loader makes one for each load.

    `listed` builds the operators of a query that lists them; `collected` keeps an error for later, so that the first
    in the file is reported. A query that reads a broken one is left out silently: the broken one has its own error.
    """

    def __init__(
        self,
        file: ApplicationFile,
        streams: Mapping[str, Stream],
        tables: Mapping[str, Table],
        wiring: Wiring,
        listed: Callable[[str], list[Operator]],
        collected: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._file = file
        self._streams = streams
        self._tables = tables
        self._wiring = wiring
        self._listed = listed
        self._collected = collected
        self._results: dict[str, Readable] = {}
        self._reads = {name: self._needs(name) for name in file.queries}
        self._schemas: dict[Port, Schema] = {Port(name): stream.schema for name, stream in streams.items()}
        self._flows: dict[Port, Flow] = {Port(name): stream.flow for name, stream in streams.items()}
        self._done: set[str] = set()
        self.built = BuiltQueries()

    def build(self) -> BuiltQueries:
        """Operators by query, in the order of the file; sets the root of every CQL query in the wiring."""
        for name in self._file.queries:
            self._visit(name, [])
        order = {name: self.built.operators.get(name, []) for name in self._file.queries}
        return BuiltQueries(order, self.built.grows)

    def _needs(self, name: str) -> list[str]:
        """The queries that a query reads, perhaps itself among them, in the order of the file."""
        section = self._file.queries[name]
        if section.cql is not None:
            words = {word.lower() for word in names_in_from(section.cql)}
            return [other for other in self._file.queries if other.lower() in words]
        own = {one.id for one in section.operators}
        words = {word for one in section.operators for word in one.reads} - own
        return [other for other in self._file.queries if other in words]

    def _visit(self, name: str, above: list[str]) -> None:
        if name in above:
            self._refuse_cycle(above[above.index(name) :])
            return
        if name in self._done:
            return
        for other in self._reads[name]:
            self._visit(other, [*above, name])
        if name in self._done:  # it was part of a cycle
            return
        self._done.add(name)
        if self._file.queries[name].cql is None:
            self._list(name)
        elif self._readable(name):
            with self._collected():
                self._compile(name)

    def _refuse_cycle(self, cycle: list[str]) -> None:
        """A cycle of listed operators alone is left to the plan's builder, which names the operators."""
        in_cql = [name for name in cycle if self._file.queries[name].cql is not None]
        if not in_cql:
            return
        self._done.update(cycle)
        with self._collected():
            chain = " -> ".join([*cycle, cycle[0]])
            problem = f"the query reads itself: {chain}" if len(cycle) == 1 else f"queries read each other: {chain}"
            raise ApplicationError(f"queries.{in_cql[0]}.cql", problem, "break the cycle")

    def _readable(self, name: str) -> bool:
        """Was everything that it reads built? What was not has an error of its own."""
        words = names_in_from(self._file.queries[name].cql or "")
        broken = [*_missing(self._file.streams, self._streams), *_missing(self._file.tables, self._tables)]
        if any(word in broken for word in words):
            return False
        return all(other in self._results for other in self._reads[name])

    def _compile(self, name: str) -> None:
        catalog = Catalog(self._streams, self._tables, self._results)
        final = self._file.queries[name].emit == "final"
        found = compile_query(name, self._file.queries[name].cql or "", catalog, final=final)
        if found.grows:
            self.built.grows[name] = found.grows
        self._wiring.roots[name] = found.root
        self._results[name] = found.result
        self._schemas[found.root], self._flows[found.root] = found.result.schema, found.result.flow
        self.built.operators[name] = list(found.operators)
        if final:
            self._emit_final(name)

    def _emit_final(self, name: str) -> None:
        own = self.built.operators[name]
        others = [one for other, built in self.built.operators.items() if other != name for one in built]
        changed, root = emit_final([*others, *own], self._wiring.roots[name], self._streams, name)
        self.built.operators[name] = changed[len(others) :]
        self._wiring.roots[name] = root
        before = self._results.get(name)
        if before is not None:
            flow = Flow(before.flow.clock)
            self._results[name] = replace(before, port=root, flow=flow)
            self._schemas[root], self._flows[root] = before.schema, flow

    def _list(self, name: str) -> None:
        in_cql = {other for other in self._file.queries if self._file.queries[other].cql is not None}
        if any(other in in_cql and other not in self._results for other in self._reads[name]):
            return
        self.built.operators[name] = self._listed(name)
        if self._file.queries[name].emit == "final" and name in self._wiring.roots:
            with self._collected():
                self._emit_final(name)
        if in_cql:  # otherwise the plan's builder is the first to need their schemas
            self._describe(name, self.built.operators[name])

    def _describe(self, name: str, operators: list[Operator]) -> None:
        """Record the schemas and flows of a query of listed operators. If one is wrong, the query has no result."""
        waiting = list(operators)
        known: dict[str, Operator] = {}
        while ready := [one for one in waiting if all(port in self._schemas for port in one.inputs)]:
            waiting = [one for one in waiting if not any(one is other for other in ready)]
            for operator in ready:
                place = f"queries.{name}.operators.{operator.id.partition('/')[2]}"
                with self._collected():
                    schemas = [self._schemas[port] for port in operator.inputs]
                    bound = known[operator.id] = operator.bound(schemas)
                    schema = bound.output(schemas, place)
                    flow = bound.flow([self._flows[port] for port in operator.inputs], place)
                    self._schemas.update(dict.fromkeys(operator.ports, schema))
                    self._flows.update(dict.fromkeys(operator.ports, flow))
        root = self._wiring.roots[name]
        if root in self._schemas:
            everything = {one.id: one for built in self.built.operators.values() for one in built} | known
            self._results[name] = readable_result(name, root, everything, self._schemas, self._flows)


def _missing(named: Iterable[str], found: Collection[str]) -> list[str]:
    return [name for name in named if name not in found]
