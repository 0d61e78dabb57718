"""Which operators yield results only at the boundaries of sliding windows, so that calls in between yield nothing."""

from __future__ import annotations

from collections.abc import Collection
from math import gcd

from headgate.plan.model import Plan
from headgate.plan.operators.aggregate import Aggregate
from headgate.plan.operators.relation_to_stream import RStream
from headgate.plan.windows import Clock


def slide_of(plan: Plan, name: str) -> int | None:
    """Ticks between the boundaries at which an operator yields results; None if it may do so at any time."""
    operator = plan.operators[name]
    if not isinstance(operator, Aggregate) or operator.window is None:
        return None
    return operator.window.slide_ticks(clock_of(plan, name))


def boundary_steps(plan: Plan) -> dict[str, int]:
    """The operators that may yield results at each boundary of a sliding window, with the ticks between boundaries."""
    found = {name: boundary_step(plan, name) for name in plan.operators}
    return {name: step for name, step in found.items() if step is not None}


def boundary_step(plan: Plan, name: str) -> int | None:
    """The ticks between the boundaries at which an operator may yield results; None if it has no sliding window."""
    operator = plan.operators[name]
    if isinstance(operator, RStream) and operator.slides:
        clock = clock_of(plan, name)
        return gcd(*(clock.ticks(span) for span in operator.slides))
    return slide_of(plan, name)


def clock_of(plan: Plan, name: str) -> Clock:
    """The clock that an operator's time is measured by."""
    return plan.flows[plan.operators[name].inputs[0]].clock


def slides_before_results(plan: Plan, operators: Collection[str]) -> dict[str, int] | None:
    """The windows, with their slides, that all input of these operators passes before results leave them.

    None: results may leave at any time. `operators` is in topological order, inputs first.
    """
    windows: dict[str, int] = {}
    reached = {name for name in operators if any(port.node not in operators for port in plan.operators[name].inputs)}
    for name in operators:
        if name not in reached:
            continue
        slide = slide_of(plan, name)
        if slide is None and _has_outside_readers(plan, name, operators):
            return None
        if slide is None:
            reached.update(_readers_of(plan, name))
        else:
            windows[name] = slide
    return windows


def _has_outside_readers(plan: Plan, name: str, operators: Collection[str]) -> bool:
    """Do results of an operator go to a sink, or to an operator that is not among these?"""
    is_root = any(plan.queries[query].root.node == name for query in plan.owners[name])
    return is_root or not _readers_of(plan, name) <= set(operators)


def _readers_of(plan: Plan, name: str) -> set[str]:
    return {edge.operator for port in plan.operators[name].ports for edge in plan.consumers[port]}
