"""The feeder: a source of generated tuples, with seeded arrivals and seeded values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from pydantic import Field

from headgate.connect.readable import check_readable, read_text
from headgate.connect.sources.base import Source, stamp, without_stamps
from headgate.connect.sources.files import find_file
from headgate.connect.sources.kind import SourceContext, SourceKind
from headgate.errors import ApplicationError, known_names
from headgate.feeder.arrivals import ArrivalProcess, make_arrivals
from headgate.feeder.values import ValueGenerator
from headgate.plan.model import Stream
from headgate.seeds import stream_seed
from headgate.settings.sections import Count, Expression, Filled, Positive

Seed = Annotated[int, Field(ge=0, lt=2**64)]  # derived ones have all 64 bits

_AHEAD = 4096  # arrivals drawn at a time
# What numpy and Decimal raise for numbers that are absurd rather than wrong, besides ValueError.
_ABSURD = (ValueError, ArithmeticError, MemoryError)
_MOST = 1 << 16  # tuples made at a time, so that a poll after a long pause does not double its memory


class Feeder(SourceKind):
    """Generated tuples, for trying out an application."""

    kind = "feeder"
    rate: Positive | None = None  # tuples per second
    arrivals: Any = "poisson"  # checked, as `changes`, `pauses` and `values` are, by what makes them
    rows: Count | None = None
    seed: Seed | None = None
    values: dict[str, Expression] = {}
    changes: list[Any] = []
    pauses: list[Any] = []
    path: Filled | None = None  # recorded gaps
    bytes: Positive | None = None  # size of a tuple

    @property
    def files(self) -> list[str]:
        """See `SourceKind`."""
        return [self.path] if self.path is not None else []

    @property
    def endless(self) -> bool:
        """See `SourceKind`."""
        once = isinstance(self.arrivals, dict) and self.arrivals.get("repeat") is False
        fades = bool(self.changes) and self.changes[-1][1] == 0
        return self.rows is None and not once and not fades

    @property
    def in_time(self) -> bool:
        """See `SourceKind`."""
        return True

    def open(self, context: SourceContext) -> Source:
        """See `SourceKind`."""
        place, stream = context.place, context.stream
        seed = stream_seed(context.seed, stream.name) if self.seed is None else self.seed
        gaps = find_file({"path": self.path}, context.folder, place).read_text("utf-8") if self.path else None
        schema = context.schema
        columns = [(column.name, column.type or "") for column in stream.schema]
        try:
            arrivals = self._arrivals(seed, gaps, changes=self.changes, pauses=self.pauses)
            values = ValueGenerator(columns, self.values, seed, context.time_column, context.epoch_us)
        except ValueError as error:
            raise ApplicationError(place, str(error)) from None
        return FeederSource(arrivals, values, schema, context.resume)

    def check(self, stream: Stream, place: str, folder: Path) -> None:
        """See `SourceKind`."""
        if stream.relation:
            problem = "a feeder cannot generate the changes of a relation"
            remedy = "read them from a csv or json source, or take it out"
            raise ApplicationError(f"{place.removesuffix('.source')}.relation", problem, remedy)
        kind = self.arrivals.get("kind") if isinstance(self.arrivals, dict) else self.arrivals
        gaps = None
        if kind == "recorded":
            if self.path is None:
                remedy = "recorded arrivals need a file of gaps in seconds"
                raise ApplicationError(place, "the key 'path' is missing", remedy)
            check_readable(self.path, folder, f"{place}.path")
            gaps = read_text(folder / self.path, f"{place}.path", "a text file of gaps")
        elif self.path is not None:
            raise ApplicationError(f"{place}.path", "only recorded arrivals have a file", "take it out")
        elif self.rate is None:
            raise ApplicationError(place, "the key 'rate' is missing", "add it, in tuples a second")
        # One by one, so that an error is reported where its cause is.
        _wrap(f"{place}.arrivals", lambda: self._arrivals(0, gaps))
        _wrap(f"{place}.changes", lambda: self._arrivals(0, gaps, changes=self.changes))
        _wrap(f"{place}.pauses", lambda: self._arrivals(0, gaps, pauses=self.pauses))
        self._check_values(stream, place)

    def _arrivals(self, seed: int, gaps: str | None, **more: Any) -> ArrivalProcess:
        return make_arrivals(self.arrivals, rate=self.rate, rows=self.rows, seed=seed, gaps=gaps, **more)

    def _check_values(self, stream: Stream, place: str) -> None:
        columns = [(column.name, column.type or "") for column in stream.schema]
        seed = self.seed or 0
        for name, form in self.values.items():
            at = f"{place}.values.{name}"
            if name not in stream.schema.names:
                known = known_names("columns", stream.schema.names, name)
                raise ApplicationError(at, f"there is no column '{name}'", known)
            own = [column for column in columns if column[0] == name]
            _wrap(at, lambda own=own, name=name, form=form: ValueGenerator(own, {name: form}, seed))  # type: ignore[misc]
        schema = f"{place.removesuffix('.source')}.schema"
        _wrap(schema, lambda: ValueGenerator(columns, self.values, seed, stream.time))


def _wrap(place: str, make: Callable[[], object]) -> None:
    try:
        make()
    except _ABSURD as error:
        raise ApplicationError(place, str(error) or "this asks for too much memory") from error


class FeederSource:
    """Tuples at the times of an arrival process with the values of a generator; row n has sequence number n.

    Values depend on seed and row alone, so how `poll` cuts the stream changes nothing. It stands for a source that
    pushes: it cannot be asked to wait, so it is not replayable.
    """

    replayable = False
    rejected = 0

    def __init__(
        self,
        arrivals: ArrivalProcess,
        values: ValueGenerator,
        schema: pa.Schema,
        resume: Mapping[str, Any] | None = None,
    ) -> None:
        self.schema = schema
        self._arrivals = arrivals
        self._values = values
        self._fields = list(without_stamps(schema))
        self._times = np.empty(0)
        self._given = 0
        self._ended = False
        if resume is not None:
            self._skip(resume["given"])

    @property
    def position(self) -> dict[str, Any]:
        """See `position_of`."""
        return {"given": self._given}

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

    def _skip(self, rows: int) -> None:
        """Begin after so many tuples: their arrivals are drawn again, some 100 million a second."""
        while self._given < rows and self.next_arrival() is not None:
            some = min(rows - self._given, len(self._times))
            self._times = self._times[some:]
            self._given += some

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
