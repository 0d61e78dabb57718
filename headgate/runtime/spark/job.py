"""A unit call as one Spark query: which operators take part, what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator, Port
from headgate.runtime.spark.compose import Composer

_OUTPUT = "_output"  # which output a row belongs to, in a job with several


@dataclass(frozen=True)
class JobShape:
    """What makes two calls the same query: only their data differs."""

    operators: tuple[str, ...]  # inputs first
    edges: tuple[Edge, ...]  # queues that are read
    outputs: tuple[Port, ...]  # outputs that leave the unit: to other units or to a sink


@dataclass(frozen=True)
class JobResult:
    """What a call gave: a table for each output of its shape, and the rows each operator took and gave."""

    outputs: Mapping[Port, pa.Table]
    taken: Mapping[str, int]  # rows into each operator
    given: Mapping[Port, int]  # rows out of each port, where known
    seconds: float
    prepared: bool  # run the prepared way
    steady: bool = True  # its time is typical: not a first call, which plans and compares


def shape_of(plan: Plan, operators: Iterable[str], waiting: Iterable[Edge]) -> JobShape:
    """The shape of a call that runs `operators` on what waits at the edges named.

    Every edge from outside is read, whether or not something waits there now: one plan then serves all calls, and a
    union always has all its inputs. Edges inside are read only when another unit left something at them.
    """
    members = [name for name in plan.operators if name in set(operators)]
    left = set(waiting)
    edges = [
        edge
        for edge in plan.edges
        if edge.operator in members
        and (edge in left or plan.operators[edge.operator].inputs[edge.input].node not in members)
    ]
    outputs = [
        port
        for name in members
        for port in plan.operators[name].ports
        if port in plan.sinks or any(edge.operator not in members for edge in plan.consumers[port])
    ]
    return JobShape(tuple(members), tuple(edges), tuple(outputs))


def compose(plan: Plan, shape: JobShape, inputs: Mapping[Edge, DataFrame], composer: Composer) -> DataFrame:
    """The DataFrame of a call; with several outputs, their rows tagged and side by side (see `separate`)."""
    frames: dict[Port, DataFrame] = {}
    for name in shape.operators:
        operator = plan.operators[name]
        frames.update(composer.outputs(operator, list(_inputs(operator, inputs, frames, composer))))
    results = [frames[port] for port in shape.outputs]
    return results[0] if len(results) == 1 else _side_by_side(results, composer)


def _inputs(
    operator: Operator, inputs: Mapping[Edge, DataFrame], frames: Mapping[Port, DataFrame], composer: Composer
) -> Iterable[DataFrame]:
    """The operator's inputs, each from its queue, from inside the unit, or from both."""
    for index, port in enumerate(operator.inputs):
        parts = [f for f in (inputs.get(Edge(operator.id, index)), frames.get(port)) if f is not None]
        yield composer.one_partition(reduce(DataFrame.union, parts)) if len(parts) > 1 else parts[0]


def _side_by_side(results: list[DataFrame], composer: Composer) -> DataFrame:
    """Rows of several outputs in one: a tag, and a nullable struct for each output."""
    tagged = []
    for index, result in enumerate(results):
        columns = [
            F.struct(*[F.col(f"`{c}`") for c in result.columns]) if i == index else F.lit(None).cast(other.schema)
            for i, other in enumerate(results)
        ]
        names = [column.alias(f"_{i}") for i, column in enumerate(columns)]
        tagged.append(result.select(F.lit(index).cast(IntegerType()).alias(_OUTPUT), *names))
    return composer.one_partition(reduce(DataFrame.union, tagged))


def separate(table: pa.Table, shape: JobShape) -> dict[Port, pa.Table]:
    """The outputs of a job, apart again."""
    if len(shape.outputs) == 1:
        return {shape.outputs[0]: table}
    found = {}
    for index, port in enumerate(shape.outputs):
        rows = table.filter(pc.equal(table[_OUTPUT], index)).column(f"_{index}")
        kind = rows.type
        parts = [c.flatten() for c in rows.chunks]
        fields = [pa.field(f.name, f.type, f.nullable) for f in kind]
        batches = [pa.RecordBatch.from_arrays(p, schema=pa.schema(fields)) for p in parts]
        found[port] = pa.Table.from_batches(batches, schema=pa.schema(fields))
    return found
