"""The feeder: a source that makes its tuples up, with seeded arrivals and seeded values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from headgate.connect.sources.base import stamp, without_stamps
from headgate.feeder.arrivals import ArrivalProcess
from headgate.feeder.values import ValueGenerator

_AHEAD = 4096  # arrivals drawn at a time
_MOST = 1 << 16  # tuples made at a time, so that a poll after a long pause does not double its memory


class FeederSource:
    """Tuples at the times of an arrival process with the values of a generator; row n has sequence number n.

    Values depend on seed and row alone, so how `poll` cuts the stream changes nothing. It stands for a source that
    pushes: it cannot be asked to wait, so it is not replayable.
    """

    replayable = False
    rejected = 0

    def __init__(self, arrivals: ArrivalProcess, values: ValueGenerator, schema: pa.Schema) -> None:
        self.schema = schema
        self._arrivals = arrivals
        self._values = values
        self._fields = list(without_stamps(schema))
        self._times = np.empty(0)
        self._given = 0
        self._ended = False

    @property
    def exhausted(self) -> bool:
        return self.next_arrival() is None

    def next_arrival(self) -> float | None:
        """See `Source`. An endless feeder always knows."""
        if not len(self._times) and not self._ended:
            self._times = self._arrivals.take(_AHEAD)
            self._ended = not len(self._times)
        return None if self._ended else float(self._times[0])

    def poll(self, now: float, limit: int | None = None) -> pa.Table | None:
        """See `Source`."""
        tables = []
        left = limit
        while (due := self.next_arrival()) is not None and due <= now and left != 0:
            tables.append(self._make(now, min(_MOST, left) if left is not None else _MOST))
            left = None if left is None else left - tables[-1].num_rows
        return pa.concat_tables(tables) if tables else None

    def close(self) -> None:
        """See `Source`."""
        self._ended = True
        self._times = np.empty(0)

    def _make(self, now: float, most: int) -> pa.Table:
        pieces = []
        while most and (due := self.next_arrival()) is not None and due <= now:
            end = min(int(np.searchsorted(self._times, now, side="right")), most)
            pieces.append(self._times[:end])
            self._times = self._times[end:]
            most -= end
        times = np.concatenate(pieces)
        block = self._values.block(self._given, times)
        columns = [_column(block[field.name], field.type) for field in self._fields]
        table = stamp(columns, self.schema, np.rint(times * 1e6).astype(np.int64), self._given)
        self._given += len(times)
        return table


def _column(values: Any, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return pa.array(values).cast(kind)  # microseconds already: no copy
    return pa.array(values, kind)
