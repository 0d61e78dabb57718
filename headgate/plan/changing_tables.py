"""Which operators may read a table that changes while a run goes on."""

from __future__ import annotations

from headgate.errors import ApplicationError
from headgate.plan.model import Plan
from headgate.plan.operators import TableJoin
from headgate.plan.operators.base import Port


def refuse_late_lookups(plan: Plan) -> None:
    """Refuse to look up in a table that changes what does not come straight from a stream.

    A tuple meets the version of its arrival. What a window or a group gives out later has an arrival of long ago, whose
    version is gone; and a row that leaves a relation would be looked up in another version than when it came.
    ApplicationError names the query.
    """
    for operator in plan.operators.values():
        if not isinstance(operator, TableJoin) or plan.tables[operator.table].reload_s is None:
            continue
        if not all(_is_straight(plan, port) for port in operator.inputs):
            place = f"queries.{operator.id.partition('/')[0]}"
            problem = f"table '{operator.table}' is read again, and is joined with what is not straight from a stream"
            remedy = "join it with the stream first, or leave out the table's `reload`"
            raise ApplicationError(place, problem, remedy)


def _is_straight(plan: Plan, port: Port) -> bool:
    """Does a tuple come here as soon as it is processed, as a tuple of a stream?"""
    if plan.flows[port].relation:
        return False
    if port.node in plan.streams:
        return True
    operator = plan.operators[port.node]
    return not operator.stateful and all(_is_straight(plan, one) for one in operator.inputs)
