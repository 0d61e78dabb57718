"""Drops projections that do nothing: one whose output is exactly its input, and the upper one of two in a row when it
only renames, reorders or drops columns."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from headgate.language.logical_tree import LogicalNode, ProjectNode, with_children


def drop_projections(tree: LogicalNode) -> LogicalNode:
    """The tree without projections that do nothing."""
    node = with_children(tree, drop_projections)
    if not isinstance(node, ProjectNode):
        return node
    below = node.input
    if not all(isinstance(means, exp.Column) for _, means in node.outputs):
        return node
    if [(name, means.name) for name, means in node.outputs] == [(name, name) for name in below.columns]:
        return below
    if isinstance(below, ProjectNode):
        meanings = dict(below.outputs)
        return replace(node, outputs=tuple((n, meanings[m.name]) for n, m in node.outputs), input=below.input)
    return node
