"""What shedding does to the sum and the average of windows: as in the thesis, and as Headgate does it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headgate.plan.model import Edge, Query
from headgate.plan.operators.base import Port
from headgate.scheduling.shedder import PARTS, Drop, Shedder, extra_for

Floats = NDArray[np.float64]
TUPLES = 40_000  # in a window: 20 s at 2,000 tuples a second
WINDOWS = 10
ERROR = 0.3  # the most tolerable relative error
KINDS: tuple[str, ...] = ("random", "lowest", "center", "highest")
_BATCH = 2_000


def windows_of_errors(seed: int) -> dict[str, float]:
    """The mean relative error of sum and average over some windows, for each kind of shedder in both forms."""
    rng = np.random.default_rng([7, seed])
    windows = [speeds(rng, TUPLES) for _ in range(WINDOWS)]
    found: dict[str, float] = {}
    for kind in KINDS:
        literal = [_errors(window, *_as_in_the_thesis(window, kind, rng)) for window in windows]
        scaled = [
            _errors(window, *kept) for window, kept in zip(windows, _as_headgate(windows, kind, seed), strict=True)
        ]
        for form, errors in (("thesis", literal), ("scaled", scaled)):
            for at, what in enumerate(("sum", "avg", "dropped")):
                found[f"{form}_{kind}_{what}"] = float(np.mean([one[at] for one in errors]))
    return found


def speeds(rng: np.random.Generator, count: int) -> Floats:
    """Values around 55, with a few outliers that stretch the range on both sides."""
    values: Floats = rng.normal(55.0, 10.0, count)
    outliers = rng.random(count) < 0.001
    values[outliers] = rng.uniform(55.0 - 200.0, 55.0 + 200.0, int(outliers.sum()))
    return values


def _as_in_the_thesis(values: Floats, kind: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """What is kept, each counting once: by chance, or by the range between the smallest and the largest value."""
    low, high = values.min(), values.max()
    if kind == "random":
        kept = rng.random(len(values)) >= ERROR
    elif kind == "lowest":
        kept = values > low + ERROR * (high - low)
    elif kind == "highest":
        kept = values < high - ERROR * (high - low)
    else:
        kept = np.abs(values - values.mean()) > ERROR * (high - low) / 2
    return values[kept], np.ones(int(kept.sum()))


def _as_headgate(windows: list[Floats], kind: str, seed: int) -> list[tuple[Floats, Floats]]:
    """What is kept, and how much it counts; the shedder has seen a window of values before."""
    drop: Drop | None = None if kind == "random" else kind  # type: ignore[assignment]
    shed = "random" if drop is None else {"attribute": "v", "drop": drop}
    query = Query("q", "all", Port("q/a"), ("q/a",), tolerance=ERROR, shed=shed)
    shedder = Shedder(query, Edge("q/a", 0), True, seed)
    shedder.kept(_table(windows[0], -TUPLES))
    shedder.set(extra_for(ERROR))
    found = []
    for number, window in enumerate(windows):
        kept = [
            shedder.kept(_table(window[first : first + _BATCH], number * TUPLES + first))
            for first in range(0, TUPLES, _BATCH)
        ]
        table = pa.concat_tables(kept)
        found.append((table.column("v").to_numpy(), 1.0 + table.column("_extra").to_numpy() / PARTS))
    return found


def _table(values: Floats, first: int) -> pa.Table:
    sequence = np.arange(first, first + len(values)) + TUPLES
    return pa.table({"v": values, "_arrival": sequence, "_sequence": sequence, "_time": sequence})


def _errors(truth: Floats, kept: Floats, weights: Floats) -> tuple[float, float, float]:
    """Relative errors of sum and average, and the share that was dropped."""
    total = float(kept @ weights)
    mean = total / float(weights.sum()) if len(kept) else 0.0
    sum_error = abs(total - truth.sum()) / truth.sum()
    return float(sum_error), float(abs(mean - truth.mean()) / truth.mean()), 1.0 - len(kept) / len(truth)
