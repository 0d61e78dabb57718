"""The operator kinds, one file each."""

from headgate.plan.operators.aggregate import Aggregate
from headgate.plan.operators.base import Declared, Operator, Port
from headgate.plan.operators.function import Function
from headgate.plan.operators.on_time import OnTime
from headgate.plan.operators.project import Project
from headgate.plan.operators.relation_to_stream import Changes, RStream
from headgate.plan.operators.select import Select
from headgate.plan.operators.sets import Distinct, Except, Intersect
from headgate.plan.operators.split import Split
from headgate.plan.operators.stream_join import StreamJoin
from headgate.plan.operators.table_join import TableJoin
from headgate.plan.operators.union import Union
from headgate.plan.operators.window import RowWindow, TimeWindow

__all__ = [
    "Aggregate",
    "Changes",
    "Declared",
    "Distinct",
    "Except",
    "Function",
    "Intersect",
    "OnTime",
    "Operator",
    "Port",
    "Project",
    "RStream",
    "RowWindow",
    "Select",
    "Split",
    "StreamJoin",
    "TableJoin",
    "TimeWindow",
    "Union",
]
