"""A small, obviously correct evaluator of the generated plans: rows in plain Python, one operator after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from headgate.plan.model import Plan
from headgate.plan.operators import Function, Operator, Port, Project, Select, Split, TableJoin, Union

Values = tuple[int | None, int | None]  # k, v
Row = tuple[int | None, int | None, int]  # k, v, sequence number
PLACES = [0, 1, 2, 2, 3]  # the table in which joins look up k; 2 occurs twice

# SQL's three-valued logic: a condition over null is not true.
CONDITIONS: Mapping[str, Callable[[Row], bool]] = {
    "v % 5 <> 0": lambda row: row[1] is not None and row[1] % 5 != 0,
    "v % 2 = 0": lambda row: row[1] is not None and row[1] % 2 == 0,
    "v % 3 = 0": lambda row: row[1] is not None and row[1] % 3 == 0,
}


def evaluate(plan: Plan, streams: Mapping[str, list[Row]]) -> dict[str, Counter[Values]]:
    """The multiset of results of every query."""
    found: dict[Port, list[Row]] = {Port(name): streams[name] for name in plan.streams}
    for operator in plan.operators.values():
        found.update(operator_outputs(operator, [found[port] for port in operator.inputs]))
    return {query.name: Counter(row[:2] for row in found[query.root]) for query in plan.queries.values()}


def operator_outputs(operator: Operator, inputs: list[list[Row]]) -> dict[Port, list[Row]]:
    rows = [row for given in inputs for row in given]
    match operator:
        case Select(where=where):
            result = [row for row in rows if CONDITIONS[where](row)]
        case Project():  # k, v + 1
            result = [(k, None if v is None else v + 1, at) for k, v, at in rows]
        case Union() | Function():
            result = rows
        case TableJoin():
            result = [row for row in rows for place in PLACES if row[0] is not None and row[0] == place]
        case Split():
            return _split(operator, rows)
        case _:
            raise TypeError(operator.kind)
    return {Port(operator.id): result}


def _split(operator: Split, rows: list[Row]) -> dict[Port, list[Row]]:
    branches: dict[Port, list[Row]] = {port: [] for port in operator.ports}
    for row in rows:
        for branch, condition in operator.conditions.items():
            if CONDITIONS[condition](row):
                branches[Port(operator.id, branch)].append(row)
                if operator.match == "first":
                    break
    return branches
