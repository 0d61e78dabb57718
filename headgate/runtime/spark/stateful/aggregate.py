"""aggregate: which of the four ways computes it."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headgate.plan.flows import Flow, windowed
from headgate.plan.operators import Aggregate
from headgate.runtime.spark.stateful.base import Stateful
from headgate.runtime.spark.stateful.calls import take_apart, value_types
from headgate.runtime.spark.stateful.departing import DepartingAggregate
from headgate.runtime.spark.stateful.general import GeneralAggregate
from headgate.runtime.spark.stateful.panes import PaneAggregate
from headgate.runtime.spark.stateful.running import RunningAggregate


def make_aggregate(
    operator: Aggregate, schema: StructType, flow: Flow, session: SparkSession, single: bool
) -> Stateful:
    """Panes where a window slides, running totals where rows stay or sums are exact, else all rows at each instant."""
    types = value_types(session, schema, operator.group, operator.values)
    sessions = any("session_window" in text.lower() for text in operator.group.values())
    calls = None if sessions else take_apart(session, schema, operator.group, operator.values, types)
    relation = windowed(flow, operator.window, operator.id)
    if calls is not None:
        if not relation.departs and not relation.retracts:
            return RunningAggregate(operator, schema, flow, types, calls, single)
        window = operator.window
        if not flow.relation and window is not None and window.slide is not None:
            return PaneAggregate(operator, schema, flow, types, calls, single)
    signed = None
    if calls is not None:
        signed = take_apart(session, schema, operator.group, operator.values, types, signed=True)
    if signed is not None:
        return DepartingAggregate(operator, schema, flow, types, signed, single)
    return GeneralAggregate(operator, schema, flow, types, single)
