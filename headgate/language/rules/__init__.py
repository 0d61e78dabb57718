"""Rules that rewrite a query without changing its answer: one file per rule; `RULES` gives their order.

`share` is not among them: it works on the operators of all queries, if the application asks for it.
"""

from __future__ import annotations

from collections.abc import Callable

from headgate.language.logical_tree import LogicalNode
from headgate.language.rules.drop_projections import drop_projections
from headgate.language.rules.fold_constants import fold_constants
from headgate.language.rules.lift_windows import lift_windows
from headgate.language.rules.push_projections import push_projections
from headgate.language.rules.push_selections import push_selections
from headgate.language.rules.stateless_streams import stateless_streams

Rule = Callable[[LogicalNode], LogicalNode]

RULES: tuple[Rule, ...] = (
    fold_constants,
    stateless_streams,
    push_selections,
    push_projections,
    lift_windows,
    drop_projections,
)
