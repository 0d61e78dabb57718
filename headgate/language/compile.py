"""Compiles the CQL text of a query into checked operators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlglot import exp

from headgate.errors import ApplicationError
from headgate.language.build_tree import build_tree
from headgate.language.catalog import Catalog
from headgate.language.fragments import location_in
from headgate.language.growth_warnings import growth_warnings
from headgate.language.logical_tree import (
    AggregateNode,
    FilterNode,
    LogicalNode,
    ProjectNode,
    Readable,
    ScanNode,
    ToStreamNode,
    children,
    triggers_of,
)
from headgate.language.lower import lower
from headgate.language.parse import parse
from headgate.language.query_text import location
from headgate.language.rules import RULES, Rule
from headgate.plan.flows import Flow
from headgate.plan.operators.base import Operator, Port
from headgate.sql.errors import CqlError
from headgate.sql.request_checks import refuse_unlisted
from headgate.sql.schema import Schema

_TOO_DEEP = "the text is nested too deeply"


@dataclass(frozen=True)
class CompiledQuery:
    """A query as operators. `tree` is what they were made from; `result` is what other queries may read."""

    operators: tuple[Operator, ...]
    result: Readable
    grows: tuple[str, ...]  # warnings about state that keeps growing
    tree: LogicalNode

    @property
    def root(self) -> Port:
        """The port of its result."""
        return self.result.port


def compile_query(
    name: str, text: str, catalog: Catalog, rules: Sequence[Rule] = RULES, final: bool = False
) -> CompiledQuery:
    """Compile the query `name` of an application; `rules=()` leaves it as written.

    `final`: its last GROUP BY will output each window once and then forget it, so it needs no warning.
    Raises ApplicationError at `queries.NAME.cql`, with line and character in the text, for any mistake.
    """
    place = f"queries.{name}.cql"
    with errors_at(place, text):
        tree = original = build_tree(parse(text).tree, catalog)
        for rule in rules:
            tree = rule(tree)
        operators, root = lower(name, tree)
        schema, flow = _checked(operators, root, tree, place, text)
    triggers, slides = triggers_of(original)
    result = Readable(name, root, schema, flow, triggers=triggers, slides=slides)
    return CompiledQuery(tuple(operators), result, growth_warnings(_below_group(tree) if final else tree), tree)


@contextmanager
def errors_at(place: str, text: str) -> Iterator[None]:
    """Around what reads a text: its errors become ApplicationErrors at `place`, with line and character."""
    try:
        yield
    except CqlError as error:
        where = "" if error.at is None else f"{location(text, error.at)}: "
        raise ApplicationError(place, where + error.problem, error.remedy) from error
    except RecursionError as error:
        raise ApplicationError(place, _TOO_DEEP, "move parts of it into views") from error


def check_request_text(text: str, place: str, largest: int) -> None:
    """Refuse functions in a query's text that a request may not use, see `sql.request_checks`.

    Raises ApplicationError, also if the text cannot be read. The names in FROM are resolved when it is compiled.
    """
    with errors_at(place, text):
        refuse_unlisted(parse(text).tree, largest)


def names_in_from(text: str) -> set[str]:
    """The names in FROM, which decide the order of compilation; empty if the text cannot be read."""
    try:
        tree = parse(text).tree
        return {table.name for table in tree.find_all(exp.Table)} - {view.alias for view in tree.find_all(exp.CTE)}
    except (CqlError, RecursionError):
        return set()


def _checked(
    operators: Iterable[Operator], root: Port, tree: LogicalNode, place: str, text: str
) -> tuple[Schema, Flow]:
    """The schema and flow of the result; mismatched types and clocks are reported as errors of the query."""
    schemas = {scan.source.port: scan.source.schema for scan in _scans(tree)}
    flows = {scan.source.port: scan.source.flow for scan in _scans(tree)}
    for operator in operators:
        known = [port for port in operator.inputs if port in schemas]
        # The triggers of an RSTREAM need no check: only their time is used.
        try:
            schema = operator.output([schemas[port] for port in known], place)
            flow = operator.flow([flows[port] for port in known], place)
        except ApplicationError as error:
            where = location_in(text, re.findall(r"'(.+)'", error.problem))  # what the problem quotes
            raise ApplicationError(place, where + error.problem, error.remedy) from error
        schemas[Port(operator.id)], flows[Port(operator.id)] = schema, flow
    return schemas[root], flows[root]


def _below_group(node: LogicalNode) -> LogicalNode:
    while isinstance(node, (FilterNode, ProjectNode)):
        node = node.input
    return node.input if isinstance(node, AggregateNode) else node


def _scans(node: LogicalNode) -> Iterable[ScanNode]:
    if isinstance(node, ScanNode):
        yield node
    triggers = node.triggers if isinstance(node, ToStreamNode) else ()
    for child in (*children(node), *(trigger for trigger in triggers if isinstance(trigger, LogicalNode))):
        yield from _scans(child)
