"""Which way a call is run: directly, as a prepared job, over partitions, or over references, which are partitions that
the executors read themselves. All give the same answer."""

from __future__ import annotations

from dataclasses import dataclass

WAYS = ("direct", "prepared", "partitioned", "reference")

# From this many rows on, state included, a call always goes over partitions: one partition would have to hold them all.
PARTITIONED_ROWS = 2_000_000
PARTITIONED_BYTES = 64 * 2**20  # likewise; a leaf's data is sent with the task of a prepared job

MOST_REFERRED_ROWS = 4_000_000  # in one reference: calls over it must stay short enough for others to get their turn

MEASURED_ROWS = 200_000  # below this, planning alone takes longer than partitions can save
PLANNING_S = 0.05  # what planning a call costs, until calls have shown it
SPREAD_LOSS = 1.5  # rows over partitions pass Python on their way to Spark; until calls have shown what that costs
SMOOTHING = 0.2  # weight of the latest call


@dataclass(frozen=True)
class Ways:
    """Which ways the calls of a run may use."""

    direct: bool = True
    partitioned_rows: int = PARTITIONED_ROWS  # 0: every call goes over partitions
    referred_rows: int | None = None  # so many available rows pass by reference; None: none do
    driver_share: float | None = None  # of the driver's cores that direct calls may use; None: see `direct.places`

    def fits_one_partition(self, rows: int, size: int) -> bool:
        """May a call over so many rows and bytes run in one partition?"""
        return rows < self.partitioned_rows and size < PARTITIONED_BYTES


class RowCosts:
    """What a row costs in large calls of one plan, in one partition and over several, as measured."""

    def __init__(self) -> None:
        self._single_s: float | None = None
        self._spread_s: float | None = None

    def learn(self, rows: int, seconds: float, spread: bool) -> None:
        """Learn from a call; small ones show nothing."""
        if rows < MEASURED_ROWS:
            return
        if spread:
            self._spread_s = _smoothed(self._spread_s, seconds / rows)
        else:
            self._single_s = _smoothed(self._single_s, seconds / rows)

    def spread_pays(self, rows: int, partitions: int) -> bool:
        """Is a call of so many rows quicker over several partitions, although it is planned for this call alone?

        `partitions` is how many of them can run at the same time: cores that other calls use are no help.
        """
        if rows < MEASURED_ROWS or partitions <= 1 or self._single_s is None:
            return False
        spread_s = self._spread_s
        if spread_s is None:
            spread_s = self._single_s * SPREAD_LOSS / partitions + PLANNING_S / rows
        return spread_s < self._single_s


def _smoothed(before: float | None, now: float) -> float:
    return now if before is None else before + SMOOTHING * (now - before)
