"""Determines every schema of a plan with Spark's analyzer; the last check before a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headgate.errors import ApplicationError
from headgate.plan.arrow_types import port_schema
from headgate.plan.model import Plan
from headgate.plan.operators import Declared, Select, Split
from headgate.plan.operators.base import Operator, Port
from headgate.runtime.spark.analysis.errors import ANALYSIS_ERRORS, arrow_schema_of, error_at_query, place_of
from headgate.runtime.spark.calls.composer import Composer, Tables
from headgate.runtime.spark.internals.empty_frame import empty_frame
from headgate.runtime.spark.internals.row_counts import Markers, nodes
from headgate.runtime.spark.stateful.base import Stateful, make_stateful
from headgate.runtime.spark.stateful.state import BOUNDS
from headgate.sql.schema import RELATION_STAMPS, TIME

_FILLED = set(RELATION_STAMPS) - {TIME}  # stamps that are never null


@dataclass(frozen=True)
class PlanSchemas:
    """The Arrow schema of every stream and operator output, stamps included, and how operators with state are computed:
    in one partition (`single`) and in several (`spread`)."""

    schemas: Mapping[Port, pa.Schema]
    single: Mapping[str, Stateful]
    spread: Mapping[str, Stateful]


def typed(session: SparkSession, plan: Plan, tables: Tables, markers: Markers) -> PlanSchemas:
    """Let Spark analyze every operator. ApplicationError: an error that only Spark can find; it names the operator.

    Operators that differ only in their names and in those of their inputs are analyzed once: an application may have
    hundreds of queries of a few shapes.
    """
    schemas: dict[Port, pa.Schema] = {}
    known: dict[str, Operator] = {}  # the first operator of each shape
    single: dict[str, Stateful] = {}
    spread = _MadeOnFirstUse()
    for name, stream in plan.streams.items():
        for port in plan.ports_of(name):
            schemas[port] = port_schema(plan.schemas[port], stream.flow)
    composer = Composer(markers.mark, tables, plan.flows, single, single=True)
    for operator in plan.operators.values():
        first = known.setdefault(_shape(operator, plan, schemas), operator)
        if first is not operator:
            schemas.update(zip(operator.ports, [schemas[port] for port in first.ports], strict=True))
            if operator.stateful:
                single[operator.id] = single[first.id]
                spread.later(operator.id, partial(spread.__getitem__, first.id))
            continue
        # Consumers are given what a queue will hold, not what the optimizer could infer about this output.
        inputs = [_empty(session, schemas[port]) for port in operator.inputs]
        try:
            if operator.stateful:
                given = [frame.schema for frame in inputs], [plan.flows[port] for port in operator.inputs]
                single[operator.id] = make_stateful(operator, *given, session, single=True)
                spread.later(operator.id, partial(make_stateful, operator, *given, session, single=False))
            outputs = _outputs(session, operator, inputs, composer, single, place_of(plan, operator))
            found_schemas = {port: _nullable(arrow_schema_of(f)) for port, f in outputs.items()}
        except ANALYSIS_ERRORS as error:
            raise error_at_query(plan, operator, inputs, error) from error
        schemas.update(found_schemas)
    return PlanSchemas(schemas, single, spread)


def _shape(operator: Operator, plan: Plan, schemas: Mapping[Port, pa.Schema]) -> str:
    """Everything about an operator but names. Operators are data, so their texts tell them apart."""
    nameless = replace(operator, id="", inputs=tuple(Port("") for _ in operator.inputs), declared=Declared())
    read = [(schemas[port].to_string(), plan.flows[port]) for port in operator.inputs]
    return repr((type(operator), nameless, read, [plan.flows[port] for port in operator.ports]))


class _MadeOnFirstUse(Mapping[str, Stateful]):
    """How operators are computed in several partitions, worked out at first use: few calls are large enough."""

    def __init__(self) -> None:
        self._made: dict[str, Stateful] = {}
        self._makers: dict[str, Callable[[], Stateful]] = {}

    def later(self, operator: str, make: Callable[[], Stateful]) -> None:
        self._makers[operator] = make

    def __getitem__(self, operator: str) -> Stateful:
        if operator not in self._made:  # two slots may make it at once; both make the same
            self._made[operator] = self._makers[operator]()
        return self._made[operator]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def _outputs(
    session: SparkSession,
    operator: Operator,
    inputs: Sequence[DataFrame],
    composer: Composer,
    stateful: Mapping[str, Stateful],
    place: str,
) -> dict[Port, DataFrame]:
    if not operator.stateful:
        if isinstance(operator, (Select, Split)):
            for condition in operator.expressions:
                inputs[0].where(condition)  # alone: the composer adds to it what no error should show
        outputs = composer.outputs(operator, inputs)
        for frame in outputs.values():
            _refuse_batch_dependence(frame, place)
        return outputs
    logs = {name: empty_frame(session, spec.schema) for name, spec in stateful[operator.id].logs.items()}
    output = composer.step(operator, inputs, logs, _empty(session, BOUNDS)).output
    _refuse_nondeterminism(output, place)
    return {Port(operator.id): output}


def _refuse_batch_dependence(frame: DataFrame, place: str) -> None:
    """The schedule decides how an operator's input is cut into batches; its answer must not depend on that."""
    _refuse_nondeterminism(frame, place)
    for node in nodes(frame._jdf.queryExecution().analyzed()):
        kind = node.getClass().getSimpleName()
        if kind == "Window":
            raise ApplicationError(place, "a window function looks at other tuples of its batch", "leave it out")
        if kind == "Generate":
            raise ApplicationError(
                place, "it makes several tuples out of one", "use a function that returns (batch, rows) instead"
            )


def _refuse_nondeterminism(frame: DataFrame, place: str) -> None:
    if not frame._jdf.queryExecution().analyzed().deterministic():
        raise ApplicationError(
            place,
            "it is not deterministic, so its answer would depend on the schedule",
            "leave out rand() and the like",
        )


def _empty(session: SparkSession, schema: pa.Schema) -> DataFrame:
    return empty_frame(session, from_arrow_schema(schema))


def _nullable(schema: pa.Schema) -> pa.Schema:
    """The schema with all user columns nullable: if a leaf declared otherwise, Spark would skip its null checks."""
    return pa.schema([pa.field(f.name, f.type, nullable=f.name not in _FILLED) for f in schema])
