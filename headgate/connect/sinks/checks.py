"""What several kinds of sinks refuse."""

from __future__ import annotations

from headgate.connect.sinks.base import Shape
from headgate.errors import ApplicationError


def refuse_whole_relation(shape: Shape, place: str, kind: str, remedy: str = "") -> None:
    """ApplicationError: the results can lose rows, which this kind cannot take back."""
    if shape.whole:
        problem = f"a sink of kind {kind} cannot take rows back, and the results of this query can lose rows"
        raise ApplicationError(place, problem, f"{remedy}write format: changes, or use ISTREAM(...)")


def refuse_repeated_names(shape: Shape, place: str, kind: str) -> None:
    """ApplicationError: two columns have the same name."""
    seen: set[str] = set()
    for name in shape.names:
        if name in seen:
            problem = f"two columns of the results are called '{name}', which a sink of kind {kind} cannot take"
            raise ApplicationError(place, problem, "rename one with AS")
        seen.add(name)
