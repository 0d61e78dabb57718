"""aggregate: which of the ways computes it."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from headgate.plan.flows import Flow, windowed
from headgate.plan.operators import Aggregate, Changes, RStream
from headgate.plan.schema import RELATION_STAMPS
from headgate.runtime.spark.stateful.base import Stateful
from headgate.runtime.spark.stateful.behind import Behind
from headgate.runtime.spark.stateful.calls import columns_read, take_apart, value_types
from headgate.runtime.spark.stateful.departing import DepartingAggregate
from headgate.runtime.spark.stateful.general import GeneralAggregate
from headgate.runtime.spark.stateful.one_row import OneRowAggregate
from headgate.runtime.spark.stateful.panes import PaneAggregate
from headgate.runtime.spark.stateful.rows import Frames
from headgate.runtime.spark.stateful.rstream import RStreamStep
from headgate.runtime.spark.stateful.running import RunningAggregate
from headgate.runtime.spark.stateful.sets import SetStep


def make_aggregate(
    operator: Aggregate, schema: StructType, flow: Flow, session: SparkSession, single: bool
) -> Stateful:
    """Panes where a window slides, running totals where rows stay or sums are exact, else all rows at each instant."""
    types = value_types(session, schema, operator.group, operator.values)
    names = {*columns_read(schema, operator.expressions), *flow.stamps}
    needed = StructType([f for f in schema if f.name in names])
    relation = replace(operator, gives="relation")
    itself = _comparable(types) or operator.gives == "rstream"
    found = _relation(operator if itself else relation, needed, flow, types, session, single)
    found.reads = {0: needed}
    if operator.gives == "relation" or (itself and isinstance(found, PaneAggregate)):
        return found
    # What it gives is made of the relation, by the operator that would else stand behind it.
    schemas = [StructType([*types, *[StructField(name, LongType(), False) for name in RELATION_STAMPS]])]
    flows = [relation.flow((flow,), operator.id)]
    if operator.gives != "rstream":
        behind: Stateful = SetStep(Changes(id=operator.id, inputs=(), mode=operator.gives), schemas, flows, single)
    else:
        assert operator.window is not None
        assert operator.window.slide is not None
        stream = RStream(id=operator.id, inputs=(), slides=(operator.window.slide,))
        behind = RStreamStep(stream, schemas, flows, single)
    return Behind(found, behind, Frames(single))


def _comparable(types: StructType) -> bool:
    """Can Spark say whether two values are the same? Not of maps."""
    return not any("map<" in f.dataType.simpleString() for f in types)


def _relation(
    operator: Aggregate, schema: StructType, flow: Flow, types: StructType, session: SparkSession, single: bool
) -> Stateful:
    sessions = any("session_window" in text.lower() for text in operator.group.values())
    calls = None if sessions else take_apart(session, schema, operator.group, operator.values, types)
    relation = windowed(flow, operator.window, operator.id)
    if calls is not None:
        if not relation.departs and not relation.retracts:
            return RunningAggregate(operator, schema, flow, types, calls, single)
        window = operator.window
        if not flow.relation and window is not None and window.slide is not None:
            kind = PaneAggregate if operator.group else OneRowAggregate
            return kind(operator, schema, flow, types, calls, single)
    signed = None
    if calls is not None:
        signed = take_apart(session, schema, operator.group, operator.values, types, signed=True)
    if signed is not None:
        return DepartingAggregate(operator, schema, flow, types, signed, single)
    return GeneralAggregate(operator, schema, flow, types, single)
