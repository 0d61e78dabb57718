"""ontime: drops the tuples of a stream that come too late for a window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from headgate.plan.operators.base import Operator
from headgate.sql.schema import Schema


@dataclass(frozen=True, kw_only=True)
class OnTime(Operator):
    """Lets through what a window of one instant would, without the state that other windows need."""

    kind: ClassVar[str] = "ontime"

    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        return inputs[0]
