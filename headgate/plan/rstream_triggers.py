"""Finds what triggers an RSTREAM: every instant with input, or every boundary of the sliding windows below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headgate.plan.flows import Flow
from headgate.plan.operators.base import Operator, Port
from headgate.plan.operators.relation_to_stream import RStream
from headgate.plan.operators.window import RowWindow
from headgate.plan.windows import RangeWindow, Span, Window


def with_triggers(
    operator: RStream, operators: Mapping[str, Operator], flows: Mapping[Port, Flow]
) -> tuple[RStream, list[RowWindow]]:
    """Give an `rstream` that reads only its relation its triggers as well: inputs, slides, and operators to add first.

    A window without SLIDE contributes the streams below it, RANGE .. SLIDE contributes a slide, and ROWS .. SLIDE the
    tuples at which that window is evaluated. `operators` and `flows` must contain at least everything upstream.
    """
    found = _TriggerFinder(operator.id, operators, flows)
    found.visit(operator.inputs[0], operator.window)
    ports = (operator.inputs[0], *found.ports)
    return replace(operator, inputs=ports, slides=tuple(found.slides)), found.added


class _TriggerFinder:
    def __init__(self, name: str, operators: Mapping[str, Operator], flows: Mapping[Port, Flow]) -> None:
        self._name = name
        self._operators = operators
        self._flows = flows
        self.ports: dict[Port, None] = {}  # an ordered set
        self.slides: dict[Span, None] = {}
        self.added: list[RowWindow] = []

    def visit(self, port: Port, window: Window | None) -> None:
        """Collect the triggers of a relation, or of a stream under a window."""
        operator = self._operators.get(port.node)
        if not self._flows[port].relation or operator is None:
            if isinstance(window, RangeWindow) and window.slide is not None:
                self.slides[window.slide] = None
            else:
                self._streams(port)
        elif isinstance(operator, RowWindow) and operator.window.slide > 1:
            marks = replace(operator, id=f"{self._name}-ticks{len(self.added) + 1}", boundaries=True)
            self.added.append(marks)
            self.ports[Port(marks.id)] = None
        else:
            for source, own in zip(operator.inputs, operator.windows, strict=True):
                self.visit(source, own)

    def _streams(self, port: Port) -> None:
        """Collect the streams that a stream derives from tuple by tuple, up to operators with state."""
        operator = self._operators.get(port.node)
        if operator is None or operator.stateful:
            self.ports[port] = None
            return
        for source in operator.inputs:
            self._streams(source)
