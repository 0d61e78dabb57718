"""Operator kinds, one file each."""

from headgate.plan.operators.base import Declared, Operator, Port
from headgate.plan.operators.function import Function
from headgate.plan.operators.join import TableJoin
from headgate.plan.operators.project import Project
from headgate.plan.operators.select import Select
from headgate.plan.operators.split import Split
from headgate.plan.operators.union import Union

KINDS: dict[str, type[Operator]] = {k.kind: k for k in (Select, Project, Split, Union, TableJoin, Function)}

__all__ = [
    "KINDS",
    "Declared",
    "Function",
    "Operator",
    "Port",
    "Project",
    "Select",
    "Split",
    "TableJoin",
    "Union",
]
