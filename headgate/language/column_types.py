"""Infers the column types of a step's output, as far as possible without Spark."""

from __future__ import annotations

from headgate.errors import ApplicationError
from headgate.language.logical_tree import (
    AggregateNode,
    JoinNode,
    LogicalNode,
    NamedExpressions,
    ProjectNode,
    ScanNode,
    SetNode,
    TableJoinNode,
    children,
)
from headgate.sql.checks import aggregate_type, expression_type
from headgate.sql.dialect import sql_of
from headgate.sql.schema import Column, Schema


def schema_of(node: LogicalNode) -> Schema:
    """The output columns of a step; an unknown type is None."""
    match node:
        case ScanNode():
            return node.source.schema
        case ProjectNode():
            return Schema(tuple(_typed(node.outputs, schema_of(node.input))))
        case AggregateNode():
            below = schema_of(node.input)
            return Schema((*_typed(node.group, below), *_typed(node.values, below)))
        case JoinNode():
            return Schema(schema_of(node.left).columns + schema_of(node.right).columns)
        case TableJoinNode():
            added = [Column(name, getattr(node.table_schema.find(c), "type", None)) for name, c in node.outputs]
            return Schema((*schema_of(node.input).columns, *added))
        case SetNode():
            sides = zip(schema_of(node.left), schema_of(node.right), strict=True)
            return Schema(tuple(Column(a.name, a.type if a.type == b.type else None) for a, b in sides))
    return schema_of(next(children(node)))


def _typed(named: NamedExpressions, below: Schema) -> list[Column]:
    found = []
    for name, means in named:
        kind: str | None = None
        for infer in (expression_type, aggregate_type):
            try:
                kind = infer(sql_of(means), below, "")
                break
            except ApplicationError:
                continue
        found.append(Column(name, kind))
    return found
