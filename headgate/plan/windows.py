"""Windows: which tuples of a stream count at an instant; parsed from text such as `RANGE 20 SECONDS SLIDE 5 SECONDS`.

Time is measured in ticks: microseconds, or units of a logical clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from headgate.durations import parse_duration

WINDOW_REMEDY = (
    "write NOW, RANGE 20 SECONDS, RANGE 20 SECONDS SLIDE 5 SECONDS, RANGE UNBOUNDED, ROWS 10, ROWS 10 SLIDE 5, "
    "or PARTITION BY column ROWS 10"
)


class Clock(Enum):
    """What the time of a stream is measured by."""

    ARRIVAL = "arrival time"  # microseconds since the run began
    EVENT = "event time"  # microseconds since 1970
    LOGICAL = "logical time"  # whatever a BIGINT column counts

    def ticks(self, span: Span) -> int:
        """A length of time in ticks; ValueError if it does not fit this clock."""
        if self is Clock.LOGICAL:
            if span.unit is not None or span.amount != int(span.amount):
                raise ValueError(f"'{span}' is not a length of {self.value}: it must be a whole number without a unit")
            return int(span.amount)
        if span.unit is None:
            raise ValueError(f"'{span}' has no unit; this stream uses {self.value}")
        return round(parse_duration(f"{span.amount:f} {span.unit}") * 1_000_000)


@dataclass(frozen=True)
class Span:
    """A length of time as written; without a unit it counts ticks of a logical clock."""

    amount: float
    unit: str | None = None

    def __str__(self) -> str:
        return f"{self.amount:g} {self.unit.upper()}" if self.unit else f"{self.amount:g}"


@dataclass(frozen=True)
class RangeWindow:
    """The tuples of the last `length` (None: all), evaluated only at multiples of `slide` if that is given.

    `now` is [NOW]: one tick of any clock.
    """

    length: Span | None = None
    slide: Span | None = None
    now: bool = False

    def length_ticks(self, clock: Clock) -> int | None:
        """Ticks that a tuple stays in the window; None: forever."""
        if self.now:
            return 1
        return None if self.length is None else clock.ticks(self.length)

    def slide_ticks(self, clock: Clock) -> int | None:
        """Ticks between two evaluations; None: evaluated at every instant."""
        return None if self.slide is None else clock.ticks(self.slide)

    @property
    def unbounded(self) -> bool:
        """Does a tuple stay forever?"""
        return self.length is None and not self.now

    @property
    def bounds(self) -> str | None:
        """A sentence on which window a tuple at a boundary belongs to; None if there are no boundaries."""
        if self.slide is None:
            return None
        begin = f"end - {self.length}" if self.length else "the beginning"
        return f"[{self}] holds ({begin}, end]; a tuple at a boundary is in the window that ends there"

    def check(self, clock: Clock) -> None:
        """ValueError if the window makes no sense on this clock."""
        for span in (self.length, self.slide):
            if span is not None and clock.ticks(span) < 1:
                raise ValueError(f"'{span}' is shorter than one tick")

    def __str__(self) -> str:
        if self.now:
            return "NOW"
        slide = f" SLIDE {self.slide}" if self.slide else ""
        return f"RANGE {self.length or 'UNBOUNDED'}{slide}"


@dataclass(frozen=True)
class RowsWindow:
    """The last `count` tuples (of each value of `partition`, if given), evaluated at every `slide`-th tuple."""

    count: int
    slide: int = 1
    partition: tuple[str, ...] = ()

    def check(self, clock: Clock) -> None:
        """Any clock will do: only tuples are counted."""

    def __str__(self) -> str:
        by = f"PARTITION BY {', '.join(self.partition)} " if self.partition else ""
        slide = f" SLIDE {self.slide}" if self.slide != 1 else ""
        return f"{by}ROWS {self.count}{slide}"


Window = RangeWindow | RowsWindow
UNBOUNDED = RangeWindow()
NOW = RangeWindow(now=True)
SPARK_BOUNDS = "window(..) holds [start, end), as in Spark; a tuple at a boundary is in the window that begins there"
_SPARK_WINDOW = re.compile(r"(?<!\w)window\s*\(", re.IGNORECASE)

_SPAN = r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)"
_RANGE = re.compile(rf"RANGE\s+(?:UNBOUNDED|{_SPAN}?)(?:\s+SLIDE\s+{_SPAN})?", re.IGNORECASE)
_ROWS = re.compile(r"(?:PARTITION\s+BY\s+(.+?)\s+)?ROWS\s+(\d+)(?:\s+SLIDE\s+(\d+))?", re.IGNORECASE | re.DOTALL)


def is_spark_window(expression: str) -> bool:
    """Is a GROUP BY expression Spark's own `window(..)`?"""
    return _SPARK_WINDOW.match(expression.strip().replace("`", "")) is not None


def parse_window(text: str) -> Window:
    """Parse the text in the brackets of a CQL window; ValueError says what is wrong, WINDOW_REMEDY what is accepted."""
    written = " ".join(text.split())
    if written.upper() == "NOW":
        return NOW
    if found := _RANGE.fullmatch(written):
        return _range(found, written)
    if found := _ROWS.fullmatch(written):
        count, slide = int(found[2]), int(found[3] or 1)
        if count < 1 or slide < 1:
            raise ValueError(f"'{written}' needs numbers of 1 or more")
        columns = tuple(name.strip().strip("`") for name in found[1].split(",")) if found[1] else ()
        if any(not name for name in columns):
            raise ValueError(f"'{written}' has an empty column name")
        return RowsWindow(count, slide, columns)
    raise ValueError(f"'{written}' is not a window")


def _range(found: re.Match[str], written: str) -> RangeWindow:
    length = _span(found[1], found[2], written) if found[1] else None
    slide = _span(found[3], found[4], written) if found[3] else None
    if (length and slide) and (length.unit is None) != (slide.unit is None):
        raise ValueError(f"'{written}' has a unit on one length only")
    return RangeWindow(length, slide)


def _span(number: str, unit: str, written: str) -> Span:
    span = Span(float(number), unit.lower() or None)
    if span.amount <= 0:
        raise ValueError(f"'{written}' needs lengths above 0")
    if span.unit is not None:
        parse_duration(f"{number} {unit}")
    return span
