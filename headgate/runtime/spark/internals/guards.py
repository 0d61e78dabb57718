"""Decides whether a plan may be prepared: planned once and run again on other data.

A prepared plan must read its leaves again on every run and must not freeze any value when it is planned. Everything not
known to be safe is refused; such a call is planned each time, which is slower but just as correct.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from headgate.runtime.spark.internals.row_counts import nodes

# Physical nodes that compute everything from their children on each run. Exchanges, caches, broadcasts and adaptive
# nodes are not among them: they keep the data of the first run.
_SAFE_NODES = frozenset(
    {
        "WholeStageCodegenExec",
        "InputAdapter",
        "RDDScanExec",
        "CoalesceExec",
        "ProjectExec",
        "FilterExec",
        "UnionExec",
        "ShuffledHashJoinExec",
        "SortMergeJoinExec",
        "CartesianProductExec",
        "SortExec",
        "HashAggregateExec",
        "ObjectHashAggregateExec",
        "SortAggregateExec",
        "ExpandExec",
        "GenerateExec",
        "MergingSessionsExec",
        "WindowExec",
        "LocalLimitExec",
        "GlobalLimitExec",
        "MapInArrowExec",
        "ArrowEvalPythonExec",
    }
)

# Nodes that evaluate expressions for each row outside of the code that is generated for the plan.
_NEVER_COMPILED = frozenset(
    {
        "SortExec",  # compares rows
        "CartesianProductExec",
        "ObjectHashAggregateExec",
        "SortAggregateExec",
        "MergingSessionsExec",
        "WindowExec",
    }
)
_WITHOUT_EXPRESSIONS = frozenset({"WholeStageCodegenExec", "InputAdapter", "UnionExec", "CoalesceExec"})

_PYTHON_NODES = frozenset({"MapInArrowExec", "ArrowEvalPythonExec"})

# Words that Spark turns into a date while it parses the query, before any plan exists.
_FROZEN_WORDS = re.compile(r"""['"]\s*(now|today|tomorrow|yesterday)\b""", re.IGNORECASE)
_WORD = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)


class PlanFacts(NamedTuple):
    """What was found out about a plan. It holds for every plan of the same query over leaves of the same schemas."""

    why_not: str | None = None  # why it must be planned for each call; None: it may be prepared
    python: bool = False  # does it hand rows to Python workers? They belong to tasks of jobs
    compiled: bool = False  # is all that it does for each row in the code that was generated for it?


def plan_facts(frame: DataFrame, expressions: Iterable[str], leaves: int) -> PlanFacts:
    """Examine a plan; for the arguments see `why_not_prepared`."""
    if why_not := why_not_prepared(frame, expressions, leaves):
        return PlanFacts(why_not)
    plan = frame._jdf.queryExecution().executedPlan()
    python = any(node.getClass().getSimpleName() in _PYTHON_NODES for node in nodes(plan))
    return PlanFacts(None, python, _compiled(plan, False))


def why_not_prepared(frame: DataFrame, expressions: Iterable[str], leaves: int) -> str | None:
    """Why a query must be planned for each call; None if it may be prepared.

    `leaves` is the number of leaves that the query was built from; the final plan must scan each of them.
    """
    for text in expressions:
        if _FROZEN_WORDS.search(text):
            return f"{text!r} has a date word, which is frozen when the query is parsed"
    execution = frame._jdf.queryExecution()
    if reason := _frozen(execution.analyzed(), frame):
        return reason
    plan = execution.executedPlan()
    scans = 0
    for node in nodes(plan):
        kind = node.getClass().getSimpleName()
        if kind not in _SAFE_NODES:
            return f"its plan has a {kind}"
        if not node.subqueries().isEmpty():
            return "its plan has a subquery"
        scans += kind == "RDDScanExec"
    if scans < leaves:
        return f"its plan reads {scans} of {leaves} inputs"
    return None


def _frozen(analyzed: Any, frame: DataFrame) -> str | None:
    patterns = getattr(frame.sparkSession._jvm, "org.apache.spark.sql.catalyst.trees.TreePattern")
    if analyzed.containsPattern(patterns.CURRENT_LIKE()):
        return "it asks for the current time, which is frozen when the query is planned"
    if not analyzed.deterministic():
        return "it is not deterministic"
    if any(_is_date_word(expression) for node in nodes(analyzed) for expression in _expressions(node)):
        return "it casts a text that may be a date word, which is frozen when the query is planned"
    return None


def _expressions(node: Any) -> Iterator[Any]:
    """All expressions of a logical node, parents first."""
    found = node.expressions()
    todo = [found.apply(i) for i in range(found.size())]
    while todo:
        expression = todo.pop()
        yield expression
        children = expression.children()
        todo += [children.apply(i) for i in range(children.size())]


def _is_date_word(expression: Any) -> bool:
    """Does the expression cast a constant text that Spark may read as a moving date, such as 'today'?"""
    if expression.getClass().getSimpleName() != "Cast":
        return False
    text = expression.child()
    if text.dataType().typeName() != "string" or not text.foldable():
        return False
    if not expression.dataType().typeName().startswith(("date", "timestamp")):
        return False
    return text.getClass().getSimpleName() != "Literal" or bool(_WORD.match(str(text.value())))


def _compiled(node: Any, inside: bool) -> bool:
    """`inside`: is the node's parent part of generated code?"""
    kind = node.getClass().getSimpleName()
    inside = kind == "WholeStageCodegenExec" or (inside and kind != "InputAdapter")
    if kind in _NEVER_COMPILED or not (inside or kind in _WITHOUT_EXPRESSIONS):
        return False
    children = node.children()
    return all(_compiled(children.apply(i), inside) for i in range(children.size()))
