"""Makes results of queries that may be shed honest: a tuple that was kept counts for those that were dropped.

A tolerant query reads a variant of its streams with one more column, EXTRA: by how much a tuple counts more than once,
in 64ths. Its counts, sums and averages are rewritten to count that in (Horvitz and Thompson's estimator), and, if the
query asks for error bounds, each gets a column with the width of its 95 % interval. While nothing is dropped, EXTRA is
0 and the values are the same as ever, to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from headgate.plan.graph import build_plan
from headgate.plan.model import Plan, Query
from headgate.plan.operators import Aggregate, OnTime, Project, Select, Split, StreamJoin, TableJoin, TimeWindow, Union
from headgate.plan.operators.base import Operator, Port
from headgate.sql.checks import expression_type
from headgate.sql.dialect import read_expression, sql_of
from headgate.sql.field_names import replacement_for
from headgate.sql.schema import EXTRA, Schema

WEIGHED = "weighed"  # the branch of a stream that carries EXTRA
PARTS = 64
_OTHER_EXTRA = f"{EXTRA}_right"
_Z95 = 1.96
_WHOLE = ("TINYINT", "SMALLINT", "INT")
_REAL = ("FLOAT", "DOUBLE")
_PASSING = (Select, Split, TimeWindow, OnTime)  # their output has the columns of their input


def weighed(plan: Plan) -> Plan:
    """The plan in which every tolerant query counts for what was dropped, as far as that is possible.

    It is where the query reads streams through selections, projections, splits, unions and joins, and aggregates them.
    Others are left as they are: then what is dropped is missing in their results.
    """
    changed: dict[str, list[Operator]] = {}
    for query in plan.queries.values():
        if query.tolerance and sheddable(plan, query):
            found = _Weigher(plan, query).operators()
            if found is not None:
                changed.update(found)
    if not changed:
        return plan
    operators = [one for name, operator in plan.operators.items() for one in changed.get(name, [operator])]
    return build_plan(plan.streams, plan.tables, plan.classes, operators, plan.queries.values(), grows=plan.grows)


def sheddable(plan: Plan, query: Query) -> bool:
    """May tuples of a query be dropped at all? Not if another query depends on its operators."""
    return bool(query.tolerance) and all(plan.owners[name] == (query.name,) for name in query.operators)


def lacks_weights(plan: Plan, query: Query) -> bool:
    """Would results of a query leave out what is dropped, though they could count for it?

    So it is if the query was built without a tolerance: its operators do not read EXTRA.
    """
    read = {port for name in query.operators for port in plan.operators[name].inputs if port.node in plan.streams}
    return all(port.branch != WEIGHED for port in read) and _Weigher(plan, query).operators() is not None


def gives_error_bounds(plan: Plan, query: Query) -> bool:
    """Would the results of a query that asks for them have error bounds?"""
    schema = plan.schemas[query.root]
    found = weighed(plan)
    return len(found.schemas[found.queries[query.name].root]) > len(schema)


class _NotWeighable(Exception):
    """The query has a shape through which EXTRA cannot be carried."""


class _Weigher:
    """Rewrites the operators of one query."""

    def __init__(self, plan: Plan, query: Query) -> None:
        self._plan = plan
        self._query = query
        self._carrying: dict[Port, Port] = {}  # a port -> the one that has its rows with EXTRA
        self._bounded: dict[Port, dict[str, str]] = {}  # a port -> value -> the column with its error

    def operators(self) -> dict[str, list[Operator]] | None:
        """By operator, what takes its place; None if the query cannot be weighed."""
        try:
            found = {name: self._changed(self._plan.operators[name]) for name in self._query.operators}
        except _NotWeighable:
            return None
        return None if self._query.root in self._carrying else found

    def _changed(self, operator: Operator) -> list[Operator]:
        inputs = [self._carried(port) for port in operator.inputs]
        if not any(inputs):
            return [self._with_errors(operator)]
        if not all(inputs):
            raise _NotWeighable
        ports = tuple(port for port in inputs if port is not None)
        operator = replace(operator, inputs=ports)
        match operator:
            case Aggregate():
                return [self._aggregate(operator)]
            case Project():
                return self._carry(replace(operator, columns={**operator.columns, EXTRA: EXTRA}))
            case TableJoin():
                return self._carry(operator)
            case StreamJoin():
                return self._join(operator)
            case Union() if all(self._places_alike(port) for port in ports):
                return self._carry(operator)
            case _ if isinstance(operator, _PASSING):
                return self._carry(operator)
        raise _NotWeighable

    def _carried(self, port: Port) -> Port | None:
        if port.node in self._plan.streams:
            return Port(port.node, WEIGHED)
        return self._carrying.get(port)

    def _places_alike(self, port: Port) -> bool:
        """Is EXTRA the last column there? A union goes by position."""
        source = self._plan.operators.get(port.node)
        return source is None or not isinstance(source, TableJoin)

    def _carry(self, operator: Operator) -> list[Operator]:
        self._carrying.update({port: port for port in operator.ports})
        return [operator]

    def _join(self, operator: StreamJoin) -> list[Operator]:
        """A pair counts as often as both of its tuples do together."""
        left, right = {**operator.left, EXTRA: EXTRA}, {**operator.right, _OTHER_EXTRA: EXTRA}
        joined = replace(operator, left=left, right=right)
        both = f"{EXTRA} + {_OTHER_EXTRA} + CAST(round({EXTRA} * {_OTHER_EXTRA} / {PARTS}) AS BIGINT)"
        names = [*operator.left, *operator.right]
        columns = {name: f"`{name}`" for name in names} | {EXTRA: both}
        product = Project(id=f"{operator.id}-extra", inputs=(Port(operator.id),), columns=columns)
        self._carrying[Port(operator.id)] = Port(product.id)
        return [joined, product]

    def _aggregate(self, operator: Aggregate) -> Aggregate:
        schema = self._schema(self._plan.operators[operator.id].inputs[0])
        values: dict[str, str] = {}
        errors: dict[str, str] = {}
        for name, text in operator.values.items():
            values[name] = scaled(text, schema)
            bound = error_bound(text, schema) if self._query.error_bounds else None
            if bound is not None:
                errors[f"{name}_error"] = bound
        self._bounded[Port(operator.id)] = {name.removesuffix("_error"): name for name in errors}
        return replace(operator, values={**values, **errors})

    def _schema(self, port: Port) -> Schema:
        return self._plan.schemas[port]

    def _with_errors(self, operator: Operator) -> Operator:
        """Behind an aggregate, the column with the error of a value goes where the value goes."""
        known = self._bounded.get(operator.inputs[0]) if len(operator.inputs) == 1 else None
        if not known:
            return operator
        if isinstance(operator, Project):
            plain = {text.strip("`"): name for name, text in operator.columns.items()}
            kept = {f"{plain[value]}_error": f"`{error}`" for value, error in known.items() if value in plain}
            self._bounded[Port(operator.id)] = {name.removesuffix("_error"): name for name in kept}
            return replace(operator, columns={**operator.columns, **kept})
        self._bounded.update(dict.fromkeys(operator.ports, known))
        return operator


# Aggregate expressions --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Call:
    """A call of an aggregate function that can be scaled: `test` says which rows it counts, empty: all."""

    kind: str  # count, sum or avg
    text: str
    argument: str
    test: str
    type: str  # of the argument; empty for counts


def scaled(text: str, schema: Schema) -> str:
    """An aggregate expression over rows of which some were dropped, as an estimate of its value over all of them.

    Counts, sums and averages are estimated; other functions, and calls with DISTINCT or FILTER, stay as they are.
    """
    tree = read_expression(text)

    def replaced(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Filter):
            return node.copy()  # not what is inside
        call = _call(node, schema)
        return node if call is None else replacement_for(node, read_expression(_estimate(call)))

    return sql_of(tree.transform(replaced))


def error_bound(text: str, schema: Schema) -> str | None:
    """Half the width of the 95 % interval of an estimate, relative to it, as an aggregate expression.

    None if `text` is more than one call, or a call that is not estimated.
    """
    call = _call(read_expression(text), schema)
    if call is None:
        return None
    spread = f"(({PARTS} + {EXTRA}) * {EXTRA})"  # w (w - 1), in 4096ths
    if call.kind == "count":
        variance = f"sum({_where(call.test, spread)})"
    elif call.kind == "sum":
        variance = f"sum(CAST({call.argument} AS DOUBLE) * ({call.argument}) * {spread})"
    else:  # of a ratio, linearized: the deviations from the mean count
        mean, value = _estimate(call), f"CAST({call.argument} AS DOUBLE)"
        parts = f"sum({value} * {value} * {spread}) - 2 * {mean} * sum({value} * {spread})"
        rows = f"sum({_where(call.test, f'{PARTS} + {EXTRA}')}) / {PARTS}"
        squared = f"{parts} + {mean} * {mean} * sum({_where(call.test, spread)})"
        variance = f"greatest({squared}, 0) / ({rows} * {rows})"
    half = f"{_Z95} * sqrt({variance}) / {PARTS}"
    return f"coalesce({half} / nullif(abs(CAST({_estimate(call)} AS DOUBLE)), 0), 0)"


def _call(node: exp.Expr, schema: Schema) -> _Call | None:
    if not isinstance(node, exp.Anonymous):
        return None
    kind = {"mean": "avg"}.get(node.name.lower(), node.name.lower())
    opening, *others = node.args["words"]
    if not opening.endswith("(") or any(word not in (",", ")") for word in others):
        return None
    arguments = [sql_of(part) for part in node.expressions]
    text = sql_of(node)
    if kind == "count":
        tests = [] if arguments == ["*"] else [f"({argument}) IS NOT NULL" for argument in arguments]
        return _Call("count", text, "", " AND ".join(tests), "")
    if kind == "count_if" and len(arguments) == 1:
        return _Call("count", text, "", f"({arguments[0]})", "")
    if kind not in ("sum", "avg") or len(arguments) != 1:
        return None
    known = expression_type(arguments[0], schema, "")
    if known is None or not (known in (*_WHOLE, *_REAL, "BIGINT") or (known.startswith("DECIMAL") and kind == "sum")):
        return None
    return _Call(kind, text, f"({arguments[0]})", f"({arguments[0]}) IS NOT NULL", known)


def _estimate(call: _Call) -> str:
    extra_rows = f"coalesce(sum({_where(call.test, EXTRA)}), 0L)"
    if call.kind == "count":
        return f"({call.text} + CAST(round({extra_rows} / {PARTS}) AS BIGINT))"
    extra = _extra_sum(call)
    if call.kind == "sum":
        if call.type in _REAL:
            return f"({call.text} + {extra} / {PARTS})"
        if call.type.startswith("DECIMAL"):
            precision, scale = (int(part) for part in call.type[len("DECIMAL(") : -1].split(","))
            return f"CAST({call.text} + {extra} / {PARTS} AS DECIMAL({min(38, precision + 10)}, {scale}))"
        return f"({call.text} + CAST(round({extra} / {PARTS}) AS BIGINT))"
    total = f"CAST(sum({call.argument}) AS DOUBLE) + coalesce({extra}, 0) / {PARTS}"
    return f"(({total}) / nullif(count({call.argument}) + {extra_rows} / {PARTS}, 0))"


def _extra_sum(call: _Call) -> str:
    """What the values that were dropped add up to, in 64ths: exactly, so that it can be added in any order."""
    value = call.argument
    if call.type in _WHOLE:
        value = f"CAST({value} AS BIGINT)"
    elif call.type == "BIGINT":  # a product of two could overflow
        return f"CAST(sum(CAST({value} AS DECIMAL(19, 0)) * CAST({EXTRA} AS DECIMAL(5, 0))) AS DOUBLE)"
    elif call.type.startswith("DECIMAL"):
        return f"sum({value} * CAST({EXTRA} AS DECIMAL(5, 0)))"
    return f"sum({value} * {EXTRA})"


def _where(test: str, value: str) -> str:
    return f"CASE WHEN {test} THEN {value} END" if test else value
