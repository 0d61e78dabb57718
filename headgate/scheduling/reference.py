"""References: tuples that wait where they can be read, instead of in the driver.

A reference says where its tuples are, how many there are, and which stamps they get. It is data alone: a runtime that
can read it gives the very tuples that the source would have delivered. Queues hold it and calls take it like a table,
whole or in part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Part:
    """A run of tuples in one place: a file, a partition of a topic. They follow each other from `start` on."""

    place: str
    start: int  # position of the first one in its place: a row of the file, an offset of the partition
    rows: int
    rows_before: int = 0  # of the reference, in parts before this one


@dataclass(frozen=True, slots=True)
class Span:
    """What a survey has found in a run of tuples that follow each other in the stream.

    `disorder` is the largest distance by which the time of a tuple lies before that of an earlier one of the span.
    """

    sequence: int  # of its first tuple
    rows: int
    nulls: int  # tuples without a time
    earliest: int | None  # None: no tuple has a time
    latest: int | None
    disorder: int


@dataclass(frozen=True, slots=True)
class Reference:
    """Tuples of one stream, in order.

    `kind` and `options` say how parts are read. Their arrival is the time at which the source found them; their
    sequence numbers count from `sequence` on. `spans` are in order, and empty where no survey was needed.
    """

    stream: str
    kind: str
    parts: tuple[Part, ...]
    arrival_us: int
    sequence: int
    num_rows: int
    nbytes: int  # about as many as they would take in the driver
    options: Mapping[str, Any] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()

    def slice(self, offset: int = 0, length: int | None = None) -> Reference:
        """A part of the tuples, as `pa.Table.slice` gives it. Spans stay behind: they have done their work."""
        offset = min(offset, self.num_rows)
        rows = self.num_rows - offset if length is None else min(length, self.num_rows - offset)
        if rows == self.num_rows:
            return self
        kept, before = [], 0
        for part in self.parts:
            skipped = max(0, offset - part.rows_before)
            here = min(part.rows, offset + rows - part.rows_before) - skipped
            if here > 0:
                kept.append(Part(part.place, part.start + skipped, here, before))
                before += here
        return replace(
            self,
            parts=tuple(kept),
            sequence=self.sequence + offset,
            num_rows=rows,
            nbytes=self.nbytes * rows // max(1, self.num_rows),
            spans=(),
        )


Rows = pa.Table | Reference  # tuples in the driver, or somewhere else


def refer(
    stream: str,
    kind: str,
    places: Mapping[str, tuple[int, int]],
    arrival_us: int,
    sequence: int,
    nbytes: int,
    options: Mapping[str, Any] | None = None,
) -> Reference:
    """A reference to tuples at some places, in this order; each has the position of the first one, and a number."""
    ends = [0]
    for _, rows in places.values():
        ends.append(ends[-1] + rows)
    parts = tuple(
        Part(place, start, rows, before)
        for (place, (start, rows)), (before, _) in zip(places.items(), pairwise(ends), strict=True)
    )
    return Reference(stream, kind, parts, arrival_us, sequence, ends[-1], nbytes, options or {})


def data_of(reference: Reference) -> dict[str, Any]:
    """A reference as values that JSON can hold, for a checkpoint."""
    return asdict(reference)


def reference_of(data: Mapping[str, Any]) -> Reference:
    """A reference from what `data_of` gave."""
    parts, spans = (Part(**part) for part in data["parts"]), (Span(**span) for span in data["spans"])
    return Reference(**{**data, "parts": tuple(parts), "spans": tuple(spans)})
