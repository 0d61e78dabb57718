"""Limits that a stream sets for its rows, which Arrow's types cannot express, and the rows beyond them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

import pyarrow as pa

from headgate.connect.sources.nulls import make_null_limit
from headgate.connect.sources.rejects import Reject
from headgate.connect.sources.text_lengths import make_length_limit
from headgate.connect.sources.time_jumps import JumpLimit, make_jump_limit
from headgate.plan.model import Stream, Table


class Limit(Protocol):
    """A limit; readers ask it about each block of rows, in the order of the stream."""

    def may_have(self, table: pa.Table) -> bool:
        """Might any row of the block be beyond the limit? False: the block counts as seen, all its rows are good."""
        ...

    def beyond(self, table: pa.Table, without: Collection[int] = ()) -> dict[int, Reject]:
        """The rows beyond the limit, and why; those in `without` are put aside already and do not count."""
        ...


def reached_of(limits: Iterable[Limit]) -> int | None:
    """The latest time that limits have seen, in ticks, to make them again with."""
    return next((limit.reached for limit in limits if isinstance(limit, JumpLimit)), None)


def make_limits(of: Stream | Table, reached: int | None = None) -> tuple[Limit, ...]:
    """The limits in the order in which they are asked: a row that is put aside for something else says nothing of time.

    `reached` is the latest time of the rows before those that will be read, in ticks.
    """
    jumps = make_jump_limit(of, reached) if isinstance(of, Stream) else None
    found = (make_null_limit(of.schema), make_length_limit(of.schema), jumps)
    return tuple(limit for limit in found if limit is not None)
