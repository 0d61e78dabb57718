"""Arrivals with recorded gaps between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.feeder.arrivals.base import BLOCK, BlockProcess
from headgate.feeder.arrivals.checks import positive_rate
from headgate.feeder.arrivals.time_warp import Floats, Pairs


class Recorded(BlockProcess):
    """Arrivals with the given gaps in seconds. The first one comes after the first gap.

    `gaps` is an array or the text of a file (see `parse_gaps`). After the last gap the recording starts over if
    `repeat`, else the process ends. `rate` stretches the recording to that mean rate (None: as recorded).
    """

    def __init__(
        self,
        gaps: str | Sequence[float] | Floats,
        repeat: bool = True,
        rate: float | None = None,
        rows: int | None = None,
        changes: Pairs = (),
        pauses: Pairs = (),
    ) -> None:
        super().__init__(rows, changes, pauses)
        if not isinstance(repeat, bool):
            raise ValueError(f"repeat must be true or false, not {repeat!r}")
        self._due = np.cumsum(parse_gaps(gaps) if isinstance(gaps, str) else _checked(np.array(gaps)))
        total = float(self._due[-1])
        if total == 0 and (repeat or rate is not None):
            raise ValueError("recorded gaps that are all 0 have no rate: at least one must be positive")
        if rate is not None:
            self._due *= len(self._due) / positive_rate(rate) / total
        self._draws_forever = repeat
        self._rounds = 0

    def _draw(self) -> Floats:
        if not self._draws_forever:
            due, self._due = self._due, np.empty(0)
            return due
        rounds = self._rounds + np.arange(1 + BLOCK // len(self._due), dtype=np.float64)[:, None]
        self._rounds += len(rounds)
        total = self._due[-1]
        # Take the minimum: rounding must not put the end of one round after the start of the next.
        times: Floats = np.minimum(rounds * total + self._due, (rounds + 1) * total).ravel()
        return times


def parse_gaps(text: str) -> Floats:
    """The gaps in the text of a file: seconds, separated by blanks, commas or line ends. # starts a comment."""
    gaps = []
    for line_number, line in enumerate(text.splitlines(), start=1):
        for word in line.split("#")[0].replace(",", " ").split():
            try:
                gaps.append(float(word))
            except ValueError:
                raise ValueError(
                    f"line {line_number} of the recorded gaps: {word!r} is not a number of seconds"
                ) from None
    return _checked(np.array(gaps))


def _checked(gaps: Floats) -> Floats:
    if gaps.ndim != 1 or not len(gaps) or gaps.dtype.kind not in "fiu":
        raise ValueError("recorded gaps must be a list of at least one number of seconds")
    gaps = gaps.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(gaps) & (gaps >= 0)))
    if len(bad):
        where, what = bad[0] + 1, gaps[bad[0]]
        raise ValueError(f"recorded gaps must be numbers of seconds, 0 or more: number {where} is {what}")
    return gaps
