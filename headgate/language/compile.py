"""CQL text in, checked operators out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headgate.errors import ApplicationError
from headgate.language.build import build
from headgate.language.catalog import Catalog
from headgate.language.logical import (
    AggregateNode,
    Filter,
    Node,
    ProjectNode,
    Readable,
    Scan,
    ToStream,
    children,
    instants,
)
from headgate.language.lower import lower
from headgate.language.parse import parse_text
from headgate.language.rules import RULES, Rule
from headgate.language.text import Text, read_text
from headgate.language.warn import growing
from headgate.plan.flows import Flow
from headgate.plan.operators.base import Operator, Port
from headgate.sql.errors import CqlError
from headgate.sql.schema import Schema

_TOO_DEEP = "the text is nested too deeply"


@dataclass(frozen=True)
class Compiled:
    """A query as operators of a plan. `tree` is what they were made from, `result` what other queries may read."""

    operators: tuple[Operator, ...]
    result: Readable
    grows: tuple[str, ...]  # what will grow for as long as it runs
    tree: Node

    @property
    def root(self) -> Port:
        return self.result.port


def compile_query(
    name: str, text: str, catalog: Catalog, rules: Sequence[Rule] = RULES, final: bool = False
) -> Compiled:
    """Compile the query `name` of an application; `rules=()` leaves it as it is written. `final`: its last GROUP BY
    will give each window once and forget it, which is no reason to warn.

    Raises ApplicationError at `queries.NAME.cql`, with line and character in the text, for anything that is wrong.
    """
    place = f"queries.{name}.cql"
    source: Text | None = None
    try:
        source = read_text(text)
        tree = original = build(parse_text(source).tree, catalog)
        for rule in rules:
            tree = rule(tree)
        operators, root = lower(name, tree)
        schema, flow = _checked(operators, root, tree, place)
    except CqlError as error:
        where = f"{source.where(error.at)}: " if source is not None and error.at is not None else ""
        if source is None and error.at is not None:
            where = f"{Text(text, text, (), (), ()).where(error.at)}: "
        raise ApplicationError(place, where + error.problem, error.remedy) from error
    except RecursionError as error:
        raise ApplicationError(place, _TOO_DEEP, "make views of its parts") from error
    ticks, slides = instants(original)
    result = Readable(name, root, schema, flow, ticks=ticks, slides=slides)
    return Compiled(tuple(operators), result, growing(_below_group(tree) if final else tree), tree)


def names_read(text: str) -> set[str]:
    """What a text names in FROM, for the order in which queries are compiled; empty when it cannot be read."""
    try:
        tree = parse_text(read_text(text)).tree
        return {table.name for table in tree.find_all(exp.Table)} - {view.alias for view in tree.find_all(exp.CTE)}
    except (CqlError, RecursionError):
        return set()


def _checked(operators: Iterable[Operator], root: Port, tree: Node, place: str) -> tuple[Schema, Flow]:
    """What the query gives out; types and clocks that do not fit are errors of the query."""
    schemas = {scan.source.port: scan.source.schema for scan in _scans(tree)}
    flows = {scan.source.port: scan.source.flow for scan in _scans(tree)}
    for operator in operators:
        known = [port for port in operator.inputs if port in schemas]
        # Ticks of other queries need no check: they are looked at for their time alone.
        try:
            schema = operator.output([schemas[port] for port in known], place)
            flow = operator.flow([flows[port] for port in known], place)
        except ApplicationError as error:
            raise ApplicationError(place, error.problem, error.remedy) from error
        schemas[Port(operator.id)], flows[Port(operator.id)] = schema, flow
    return schemas[root], flows[root]


def _below_group(node: Node) -> Node:
    while isinstance(node, (Filter, ProjectNode)):
        node = node.input
    return node.input if isinstance(node, AggregateNode) else node


def _scans(node: Node) -> Iterable[Scan]:
    if isinstance(node, Scan):
        yield node
    ticks = [tick for tick in node.ticks if isinstance(tick, Node)] if isinstance(node, ToStream) else []
    for child in (*children(node), *ticks):
        yield from _scans(child)
