"""aggregate: chooses the method that computes it."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from headgate.plan.flows import Flow, windowed_flow
from headgate.plan.operators import Aggregate, Changes, RStream
from headgate.runtime.spark.stateful.base import Stateful
from headgate.runtime.spark.stateful.chained import Chained
from headgate.runtime.spark.stateful.final_windows import FinalWindowAggregate
from headgate.runtime.spark.stateful.frames import Frames
from headgate.runtime.spark.stateful.instant_tree import InstantTreeAggregate
from headgate.runtime.spark.stateful.panes import PaneAggregate
from headgate.runtime.spark.stateful.partial_values import columns_read, decompose, value_types
from headgate.runtime.spark.stateful.recompute import RecomputeAggregate
from headgate.runtime.spark.stateful.retracting import RetractingAggregate
from headgate.runtime.spark.stateful.rstream import StatefulRStream
from headgate.runtime.spark.stateful.running import RunningAggregate
from headgate.runtime.spark.stateful.sets import StatefulSetOperator
from headgate.runtime.spark.stateful.sliding_groups import explode_sliding_windows
from headgate.runtime.spark.stateful.ungrouped_panes import UngroupedPaneAggregate
from headgate.sql.schema import RELATION_STAMPS

MOST_BOUNDARIES = 64  # of a sliding window, so that each row can be sent to every one


def make_aggregate(
    operator: Aggregate, schema: StructType, flow: Flow, session: SparkSession, single: bool
) -> Stateful:
    """Panes if the window slides, running totals if rows never leave or sums are exact, a tree of instants if values
    can be merged, else all rows at each instant."""
    types = value_types(session, schema, operator.group, operator.values)
    names = {*columns_read(schema, operator.expressions), *flow.stamps}
    needed = StructType([f for f in schema if f.name in names])
    if operator.emits == "final":
        calls = decompose(session, needed, operator.group, operator.values, types)
        final = FinalWindowAggregate(operator, needed, types, calls, session, single)
        final.reads = {0: needed}
        return final
    relation = replace(operator, emits="relation")
    itself = _comparable(types) or operator.emits == "rstream"
    # Changes say once what differs at a boundary; as a relation, every row would be repeated at each boundary.
    asked = replace(operator, emits="changes") if operator.emits == "relation" and operator.sliding else operator
    found = _relation(asked if itself else relation, needed, flow, types, session, single)
    found.reads = {0: needed}
    if operator.emits == "relation" or (itself and isinstance(found, PaneAggregate)):
        return found
    # The stream is made from the relation, by the operator that would otherwise follow in the plan.
    schemas = [StructType([*types, *[StructField(name, LongType(), False) for name in RELATION_STAMPS]])]
    flows = [relation.flow((flow,), operator.id)]
    if operator.emits != "rstream":
        second: Stateful = StatefulSetOperator(
            Changes(id=operator.id, inputs=(), mode=operator.emits), schemas, flows, single
        )
    else:
        assert operator.window is not None
        assert operator.window.slide is not None
        stream = RStream(id=operator.id, inputs=(), slides=(operator.window.slide,))
        second = StatefulRStream(stream, schemas, flows, single)
    return Chained(found, second, Frames(single))


def _few_boundaries(operator: Aggregate, flow: Flow) -> bool:
    """Is each row in so few windows that it can be sent to each? For `rstream` the whole relation is output at each
    boundary anyway."""
    assert operator.window is not None
    length, slide = operator.window.length_ticks(flow.clock), operator.window.slide_ticks(flow.clock)
    assert length is not None
    assert slide is not None
    return length <= slide * MOST_BOUNDARIES or operator.emits == "rstream"


def _comparable(types: StructType) -> bool:
    """Can Spark compare all values for equality? It cannot compare maps."""
    return not any("map<" in f.dataType.simpleString() for f in types)


def _relation(
    operator: Aggregate, schema: StructType, flow: Flow, types: StructType, session: SparkSession, single: bool
) -> Stateful:
    group = operator.group
    sessions = any("session_window" in text.lower() for text in group.values())
    calls = None if sessions else decompose(session, schema, group, operator.values, types)
    relation = windowed_flow(flow, operator.window, operator.id)
    operator = replace(operator, group={n: explode_sliding_windows(session, schema, text) for n, text in group.items()})
    if calls is not None:
        if not relation.expires and not relation.retracts:
            return RunningAggregate(operator, schema, flow, types, calls, single)
        if not flow.relation and operator.sliding and (_few_boundaries(operator, flow) or calls.ordered):
            kind = PaneAggregate if group else UngroupedPaneAggregate
            return kind(operator, schema, flow, types, calls, single)
    signed = None
    if calls is not None:
        signed = decompose(session, schema, group, operator.values, types, signed=True)
    if signed is not None:
        return RetractingAggregate(operator, schema, flow, types, signed, single)
    if calls is not None and not calls.ordered:
        return InstantTreeAggregate(operator, schema, flow, types, calls, single)
    return RecomputeAggregate(operator, schema, flow, types, single)
