"""A sweep: one run per point, all in one Spark job.

Each point is a task of its own. Spark starts tasks in order, so the longest go first and the processors finish at about
the same time. Rows reach the driver as their tasks end.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.accumulators import AccumulatorParam

if TYPE_CHECKING:
    from pyspark import SparkContext

Point = Mapping[str, Any]  # parameters of a run; plain values, `seed` among them
Run = Callable[[Point], Mapping[str, Any]]  # a module-level function, so that Spark can send it: what was measured
OnProgress = Callable[[int], None]  # called with the number of points done
_Outcome = dict[str, Any] | str  # what was measured, or a traceback
_Arrivals = dict[int, _Outcome]  # by point number


class SweepError(RuntimeError):
    """A run failed. The message names its point; `rows` has the rows of the runs that succeeded."""

    def __init__(self, message: str, rows: list[dict[str, Any]]) -> None:
        super().__init__(message)
        self.rows = rows


def sweep(
    run: Run,
    points: Sequence[Point],
    spark: SparkContext | None = None,
    *,
    weight: Callable[[Point], float] = lambda point: 1.0,
    on_progress: OnProgress = lambda done: None,
) -> list[dict[str, Any]]:
    """Run every point and return one row each, `{**point, **measured}`, in the order of the points.

    `weight` estimates how long a point takes, in any unit. Without `spark` the points run in this process, one after
    another, with the same rows, since a run depends only on its point. On a cluster, headgate must be installed on the
    workers. Raises SweepError for the first point that failed, after the others have ended.
    """
    longest_first = sorted(range(len(points)), key=lambda at: (-weight(points[at]), at))
    if spark is None:
        outcomes = _in_turn(run, points, longest_first, on_progress)
    else:
        outcomes = _on_spark(run, points, longest_first, spark, on_progress)
    failed = {at: outcome for at, outcome in outcomes.items() if isinstance(outcome, str)}
    rows = [{**point, **outcome} for at, point in enumerate(points) if isinstance(outcome := outcomes.get(at), dict)]
    if failed:
        at = min(failed)
        raise SweepError(f"the run of {dict(points[at])} failed:\n{failed[at]}", rows)
    return rows


def _in_turn(run: Run, points: Sequence[Point], order: list[int], on_progress: OnProgress) -> _Arrivals:
    outcomes: _Arrivals = {}
    for at in order:
        outcomes[at] = _outcome(run, points[at])
        on_progress(len(outcomes))
    return outcomes


def _on_spark(
    run: Run, points: Sequence[Point], order: list[int], spark: SparkContext, on_progress: OnProgress
) -> _Arrivals:
    if not order:
        return {}
    arrived = spark.accumulator({}, _Gather(on_progress))

    def task(numbered: tuple[int, Point]) -> None:
        at, point = numbered
        arrived.add({at: _outcome(run, point)})

    spark.setJobDescription(f"sweep of {len(points)} points")
    try:
        spark.parallelize([(at, points[at]) for at in order], len(order)).foreach(task)
    finally:
        spark.setJobDescription(None)  # type: ignore[arg-type]  # the session may be the caller's own
    return dict(arrived.value)


class _Gather(AccumulatorParam[_Arrivals]):
    """Brings rows to the driver as tasks end, which `collect` would not. Spark applies each update exactly once."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._on_progress = on_progress

    def __reduce__(self) -> tuple[type[_Gather], tuple[None]]:
        return _Gather, (None,)  # workers report no progress, and a progress bar cannot be pickled

    def zero(self, value: _Arrivals) -> _Arrivals:
        return {}

    def addInPlace(self, value1: _Arrivals, value2: _Arrivals) -> _Arrivals:
        value1.update(value2)
        if self._on_progress is not None:
            self._on_progress(len(value1))
        return value1


def _outcome(run: Run, point: Point) -> _Outcome:
    """What was measured, or the traceback of a failure: an exception raised in a worker would be buried in Java's."""
    try:
        return dict(run(point))
    except Exception:
        return traceback.format_exc()
