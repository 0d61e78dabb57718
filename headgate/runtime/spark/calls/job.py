"""A call of a unit as one Spark query: which operators take part, what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType

from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator, Port
from headgate.runtime.spark.calls.composer import Composer
from headgate.runtime.spark.stateful.base import JOINT, CallBounds
from headgate.runtime.spark.stateful.state import LogName, States

_OUTPUT = "_output"  # the number of the output that a row belongs to, in a job with several


@dataclass(frozen=True)
class JobShape:
    """What identifies the query of a call. Calls of the same shape differ only in their data."""

    operators: tuple[str, ...]  # inputs first
    edges: tuple[Edge, ...]  # the queues that are read
    outputs: tuple[Port, ...]  # outputs that leave the unit, to other units or sinks
    logs: tuple[LogName, ...] = ()  # of its operators with state: read and appended to
    copies: tuple[tuple[LogName, Edge], ...] = ()  # logs that append an edge's input: not computed by the job
    joint: tuple[str, ...] = ()  # operators whose output and log rows come in one frame
    apart: tuple[LogName, ...] = ()  # logs whose rows may be many and stay with the executors

    @property
    def pieces(self) -> list[tuple[Port | LogName, ...]]:
        """What comes out of the job, one tuple per frame; a joint frame holds an output and its operator's logs."""
        copied = dict(self.copies)
        made = [log for log in self.logs if log not in copied and log not in self.apart]
        mine = {name: tuple(log for log in made if log.operator == name) for name in self.joint}
        outputs: list[tuple[Port | LogName, ...]] = [(port, *mine.get(port.node, ())) for port in self.outputs]
        return outputs + [(log,) for log in made if log.operator not in mine]


@dataclass(frozen=True)
class StateInputs:
    """What an operator with state reads besides its inputs: its logs, and the instants to evaluate."""

    logs: Mapping[str, DataFrame]
    bounds: CallBounds


def shape_of(
    plan: Plan,
    operators: Iterable[str],
    waiting: Iterable[Edge],
    states: States | None = None,
    referred: Collection[Edge] = (),
) -> JobShape:
    """The shape of a call that runs `operators` on what waits at the given edges; at the `referred` ones the tuples are
    not in the driver.

    Every edge from outside the unit is read, even if nothing waits there: so one plan serves all calls, and a union
    always has all its inputs. Edges inside the unit are read only if something waits there, left by another unit.
    """
    named, left = set(operators), set(waiting)
    members = [name for name in plan.operators if name in named]
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
    if states is None:
        return JobShape(tuple(members), tuple(edges), tuple(outputs))
    logs = [LogName(name, log) for name in members for log in states.names.get(name, ())]
    last = [port.node for port in outputs if not any(edge.operator in members for edge in plan.consumers[port])]
    copies = [
        (LogName(name, log), edge)
        for name in members
        for log, edge in states.copies.get(name, {}).items()
        if edge in edges and plan.operators[name].inputs[edge.input].node not in members
    ]
    apart: list[LogName] = []
    if referred:  # then logs that take input as it is must not pass the driver either, wherever it comes from
        copies = [(log, edge) for log, edge in copies if edge not in referred]
        taken = {log for log, _ in copies}
        apart = [log for log in logs if log.log in states.copies.get(log.operator, {}) and log not in taken]
    copied = {*(log for log, _ in copies), *apart}
    joint = [
        name
        for name in last
        if name in states.joint and all(LogName(name, log) in copied for log in states.copies.get(name, ()))
    ]
    named_logs = (tuple(logs), tuple(copies), tuple(joint), tuple(apart))
    return JobShape(tuple(members), tuple(edges), tuple(outputs), *named_logs)


def compose(
    plan: Plan,
    shape: JobShape,
    inputs: Mapping[Edge, DataFrame],
    state_inputs: Mapping[str, StateInputs],
    composer: Composer,
) -> tuple[DataFrame, dict[LogName, DataFrame]]:
    """The DataFrame of a call: its outputs and the rows for its logs. Several of them come in one frame, tagged and
    side by side, and `separate` takes them apart. The rows of logs that stay apart come in frames of their own."""
    frames: dict[Port, DataFrame] = {}
    grown: dict[LogName, DataFrame] = {}
    joint: dict[str, DataFrame] = {}
    for name in shape.operators:
        operator = plan.operators[name]
        given = list(_inputs(operator, inputs, frames, composer))
        if operator.stateful:
            step = composer.step(operator, given, state_inputs[name].logs, state_inputs[name].bounds)
            frames[Port(name)] = step.output
            grown.update({LogName(name, log): frame for log, frame in step.grown.items()})
            if step.joint is not None:
                joint[name] = step.joint
        else:
            frames.update(composer.outputs(operator, given))
    made: dict[Port | LogName, DataFrame] = dict(chain(grown.items(), frames.items()))
    made.update((Port(name), joint[name]) for name in shape.joint)
    results = [made[first] for first, *_ in shape.pieces]
    whole = results[0] if len(results) == 1 else _side_by_side(results, composer)
    return whole, {log: grown[log] for log in shape.apart}


def _inputs(
    operator: Operator, inputs: Mapping[Edge, DataFrame], frames: Mapping[Port, DataFrame], composer: Composer
) -> Iterable[DataFrame]:
    """The operator's inputs, each from its queue, from inside the unit, or from both."""
    for index, port in enumerate(operator.inputs):
        queued, made = inputs.get(Edge(operator.id, index)), frames.get(port)
        if made is not None and operator.stateful:
            made = composer.one_partition(made)  # after a join, the planner no longer knows that it is one
        if made is not None and queued is not None:
            made = made.select(*[F.col(f"`{name}`") for name in queued.columns])
        parts = [frame for frame in (queued, made) if frame is not None]
        yield composer.one_partition(reduce(DataFrame.union, parts)) if len(parts) > 1 else parts[0]


def _side_by_side(results: list[DataFrame], composer: Composer) -> DataFrame:
    """The rows of several outputs in one frame: a tag, and a nullable struct per output."""
    tagged = []
    for index, result in enumerate(results):
        columns = [
            F.struct(*[F.col(f"`{c}`") for c in result.columns]) if i == index else F.lit(None).cast(other.schema)
            for i, other in enumerate(results)
        ]
        names = [column.alias(f"_{i}") for i, column in enumerate(columns)]
        tagged.append(result.select(F.lit(index).cast(IntegerType()).alias(_OUTPUT), *names))
    return composer.one_partition(reduce(DataFrame.union, tagged))


Names = Callable[[Port | LogName], list[str]]


def separate(table: pa.Table, shape: JobShape, names: Names) -> tuple[dict[Port, pa.Table], dict[LogName, pa.Table]]:
    """A job's outputs and the rows for its logs, taken apart; `names` gives the columns of each."""
    pieces = shape.pieces
    parts = [table] if len(pieces) == 1 else _parts(table, len(pieces))
    found: dict[Port | LogName, pa.Table] = {}
    for targets, part in zip(pieces, parts, strict=True):
        if len(targets) == 1:
            found[targets[0]] = part
            continue
        for target, rows in zip(targets, _by_number(part, JOINT, len(targets)), strict=True):
            found[target] = rows.select(names(target))
    outputs = {target: rows for target, rows in found.items() if isinstance(target, Port)}
    return outputs, {target: rows for target, rows in found.items() if isinstance(target, LogName)}


def _parts(table: pa.Table, count: int) -> list[pa.Table]:
    """The outputs of a frame made by `_side_by_side`: the rows of each, with its own columns."""
    return [_unpacked(rows.column(f"_{index}")) for index, rows in enumerate(_by_number(table, _OUTPUT, count))]


def _by_number(table: pa.Table, column: str, count: int) -> list[pa.Table]:
    """The rows with each number from 0 to below `count`, in order.

    Parts of a union come one after the other, so they are cut out; only where rows are mixed must they be gathered.
    """
    numbers = table.column(column).to_numpy()
    if (numbers[1:] >= numbers[:-1]).all():
        ends = numbers.searchsorted(np.arange(count + 1))
        return [table.slice(first, end - first) for first, end in pairwise(ends.tolist())]
    return [table.filter(numbers == number) for number in range(count)]


def _unpacked(structs: pa.ChunkedArray) -> pa.Table:
    """The fields of a column of structs as columns."""
    schema = pa.schema(list(structs.type))
    batches = [pa.RecordBatch.from_arrays(chunk.flatten(), schema=schema) for chunk in structs.chunks]
    return pa.Table.from_batches(batches, schema=schema)
