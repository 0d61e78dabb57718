"""Results that are taken back: what a stream system on windows also gives to its users.

In the public code of AQSIOS a tuple that leaves a window makes the queries behind it take back what it gave, and the
output counts that as a result as well. It leaves when the next tuple comes in, since windows are far shorter than the
time between two tuples. Whether the dissertation's simulator does the same is not known.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.metrics.recording_monitor import Floats, RecordingMonitor
from headgate.plan.model import Plan

WINDOW_S = 10e-6  # of every aggregate and join
WINDOWED = ("-aggregate", "-join")


class TakingBackMonitor(RecordingMonitor):
    """With every result of an aggregate or a join but the first, the one before it is taken back: a second result, as
    late as the time since that one's tuple left the window. The costs of both are those of one result otherwise."""

    def __init__(self, plan: Plan, warm_s: float) -> None:
        super().__init__(plan, warm_s)
        self._valid: dict[str, float] = {}  # query -> the arrival of its latest result, which is still valid

    def results(
        self,
        query: str,
        now: float | Sequence[float] | Floats,
        latencies: Sequence[float] | Floats,
        weights: Sequence[float] | Floats | None = None,
    ) -> None:
        values = np.asarray(latencies, dtype=np.float64)
        times = np.broadcast_to(np.asarray(now, dtype=np.float64), values.shape)
        if len(values) and any(kind in query for kind in WINDOWED):
            arrivals = times - values
            before = [self._valid[query]] if query in self._valid else []
            ended = np.concatenate([before, arrivals[:-1]])
            back = times[len(times) - len(ended) :]
            self._valid[query] = float(arrivals[-1])
            values = np.concatenate([values, back - ended - WINDOW_S])
            times = np.concatenate([times, back])
        super().results(query, times, values, weights)
