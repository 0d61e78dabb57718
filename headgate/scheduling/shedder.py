"""Shedders: what is dropped of a query's input to lower the load, decided on the batch before it is queued.

Which tuples are dropped follows from their sequence numbers alone: in every run of 64 + n consecutive numbers, the n
that a hash chooses. So a replay drops the same ones, the share is kept to the tuple, and each tuple that is kept counts
for 1 + n / 64 (the column EXTRA, in queries that can be weighed).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.plan.model import Edge, Plan, Query
from headgate.plan.weighing import PARTS, WEIGHED, lacks_weights, sheddable
from headgate.scheduling.reference import Rows
from headgate.seeds import derived_seed
from headgate.sql.schema import ARRIVAL, EXTRA, LATE, SEQUENCE

Bools = NDArray[np.bool_]
Drop = Literal["lowest", "center", "highest"]
MOST_EXTRA = 63 * PARTS  # at most 63 of 64 tuples are dropped
# Of the values to be dropped by a semantic shedder, one in eight is kept to stand for the others.
THINNED_EXTRA = 7 * PARTS
_SAMPLE, _FRESH, _PER_BATCH = 2048, 512, 256  # values of a sketch; new ones until it is looked at again; per batch


def share_of(extra: int) -> float:
    """The share of tuples that is dropped where each that is kept counts for `extra` 64ths more."""
    return extra / (PARTS + extra)


def extra_for(share: float) -> int:
    """The largest `extra` that drops at most a share of the tuples.

    >>> [share_of(extra_for(share)) <= share for share in (0.0, 0.1, 0.3, 0.5)]
    [True, True, True, True]
    """
    if share >= share_of(MOST_EXTRA):
        return MOST_EXTRA
    return int(PARTS * share / (1.0 - share) + 1e-9)


def chosen(sequence: NDArray[np.int64], extra: int, salt: int) -> Bools:
    """Which tuples are dropped: `extra` of every 64 + `extra` consecutive numbers, by a hash."""
    size = PARTS + extra
    blocks, row = np.unique(sequence // size, return_inverse=True)
    numbers = blocks[:, None] * size + np.arange(size)
    ranks = np.argsort(_mixed(numbers.astype(np.uint64) ^ np.uint64(salt)), axis=1)
    dropped = np.zeros(numbers.shape, dtype=np.bool_)
    np.put_along_axis(dropped, ranks[:, :extra], True, axis=1)
    found: Bools = dropped[row, sequence % size]
    return found


def _mixed(value: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of 64 bits (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        value = value + np.uint64(0x9E3779B97F4A7C15)
        value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return value ^ (value >> np.uint64(31))


@dataclass(frozen=True)
class Region:
    """The values that a semantic shedder drops: from `low` to `high`, both included."""

    low: float
    high: float

    def holds(self, values: NDArray[np.float64]) -> Bools:
        """Which values lie inside; a missing one does not."""
        found: Bools = (values >= self.low) & (values <= self.high)
        return found


class Sketch:
    """The distribution of an attribute lately: a sample of the values that came in the last batches."""

    def __init__(self) -> None:
        self._values = np.full(_SAMPLE, np.nan)
        self._count = 0

    @property
    def count(self) -> int:
        """How many values were added so far."""
        return self._count

    def add(self, values: NDArray[np.float64]) -> None:
        """Add a few values of a batch, evenly spread over it."""
        known = values[~np.isnan(values)]
        taken = known[np.linspace(0, len(known) - 1, min(len(known), _PER_BATCH)).astype(np.int64)]
        places = (self._count + np.arange(len(taken))) % _SAMPLE
        self._values[places] = taken
        self._count += len(taken)

    def region(self, share: float, drop: Drop) -> Region | None:
        """The region that holds a share of the values: the lowest, the highest, or those around the median."""
        known = self._values[: min(self._count, _SAMPLE)]
        if not len(known) or share <= 0.0:
            return None
        if drop == "lowest":
            return Region(-np.inf, float(np.quantile(known, share)))
        if drop == "highest":
            return Region(float(np.quantile(known, 1.0 - share)), np.inf)
        low, high = np.quantile(known, [0.5 - share / 2, 0.5 + share / 2])
        return Region(float(low), float(high))


class Shedder:
    """Drops tuples that come to one queue. Off until `set`."""

    def __init__(self, query: Query, edge: Edge, weighed: bool, seed: int) -> None:
        self.query = query.name
        self.extra = 0  # 64ths that a tuple which is kept counts more
        self._weighed = weighed
        self._salt = derived_seed(seed, "shed", edge.operator, str(edge.input)) & (2**63 - 1)
        semantic = query.shed if isinstance(query.shed, Mapping) else None
        self._attribute: str | None = None if semantic is None else semantic["attribute"]
        self._drop: Drop = "lowest" if semantic is None else semantic["drop"]
        self._sketch = Sketch()
        self._region: Region | None = None
        self._looked = 0  # how many values the sketch had when the region was chosen
        self._most, self._seen, self._dropped = 0.0, 0, 0  # of the input since the share was last changed

    def set(self, extra: int) -> None:
        """Drop so much from now on that a tuple that is kept counts for `extra` 64ths more; 0: nothing."""
        self.extra = extra
        self._region = None
        self._most, self._seen, self._dropped = share_of(extra), 0, 0

    def kept(self, table: pa.Table) -> pa.Table:
        """What is to be queued of a batch, as the operator reads it."""
        values = self._values(table)
        if values is not None:
            self._sketch.add(values)
        if not self.extra or not table.num_rows:
            return _with_extra(table, None) if self._weighed else table
        sequence = table.column(SEQUENCE).to_numpy() % LATE
        extra = np.full(table.num_rows, self.extra, dtype=np.int64)
        if self._attribute is None:
            dropped = chosen(sequence, self.extra, self._salt)
        elif values is None:
            dropped = np.zeros(table.num_rows, dtype=np.bool_)
            extra[:] = 0
        else:
            inside = self._inside(values)
            dropped = inside & chosen(sequence, THINNED_EXTRA, self._salt)
            self._seen += len(values)
            allowed = int(self._most * self._seen) - self._dropped
            places = np.flatnonzero(dropped)
            if len(places) > allowed:  # the distribution has changed faster than the sketch
                inside[places[allowed] :] = dropped[places[allowed] :] = False
            self._dropped += int(np.count_nonzero(dropped))
            extra = np.where(inside, THINNED_EXTRA, 0).astype(np.int64)
        if self._weighed:
            table = _with_extra(table, extra)
        return table.filter(pa.array(~dropped)) if dropped.any() else table

    def _inside(self, values: NDArray[np.float64]) -> Bools:
        if self._region is None or self._sketch.count - self._looked >= _FRESH:
            self._looked = self._sketch.count
            self._region = self._sketch.region(min(1.0, self._most / share_of(THINNED_EXTRA)), self._drop)
        if self._region is None:
            return np.zeros(len(values), dtype=np.bool_)
        return self._region.holds(values)

    def _values(self, table: pa.Table) -> NDArray[np.float64] | None:
        """The attribute's values; None if the stream does not have it, or it is not a number."""
        if self._attribute is None:
            return None
        names = [name.lower() for name in table.column_names]
        if self._attribute.lower() not in names:
            return None
        column = table.column(names.index(self._attribute.lower()))
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        if not any(is_kind(column.type) for is_kind in kinds):
            return None
        found: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
        return found


def shedders_of(plan: Plan, seed: int) -> dict[Edge, Shedder]:
    """A shedder for every queue at which tuples of tolerant queries enter, and at which nobody else's do.

    None for queries that lack weights: they were built while another query depended on their operators.
    """
    found: dict[Edge, Shedder] = {}
    for query in plan.queries.values():
        if not sheddable(plan, query) or lacks_weights(plan, query):
            continue
        for name in query.operators:
            for index, port in enumerate(plan.operators[name].inputs):
                if port.node in plan.streams:
                    edge = Edge(name, index)
                    found[edge] = Shedder(query, edge, port.branch == WEIGHED, seed)
    return found


def as_read(plan: Plan, edge: Edge, table: Rows) -> Rows:
    """Tuples of a stream as the operator at a queue reads them, when nothing is shed."""
    return _with_extra(table, None) if is_weighed(plan, edge) else table


def is_weighed(plan: Plan, edge: Edge) -> bool:
    """Does the operator at a queue read weights of the tuples?"""
    return plan.operators[edge.operator].inputs[edge.input].branch == WEIGHED


def _with_extra(table: pa.Table, extra: NDArray[np.int64] | None) -> pa.Table:
    """With the column EXTRA, after the columns of the user."""
    values = pa.array(np.zeros(table.num_rows, dtype=np.int64) if extra is None else extra)
    return table.add_column(table.column_names.index(ARRIVAL), pa.field(EXTRA, pa.int64()), values)
