"""Two operators with state in one: the second reads the output of the first in the same call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from headgate.runtime.spark.stateful.base import CallBounds, LogSpec, Stateful, StepResult
from headgate.runtime.spark.stateful.frames import Frames


class Chained(Stateful):
    """The logs of the second are renamed, so that they cannot clash with those of the first."""

    def __init__(self, first: Stateful, second: Stateful, frames: Frames) -> None:
        self._first, self._second, self._frames = first, second, frames
        self._names = {f"second {name}": name for name in second.logs}
        self.reads = first.reads
        self.slide = first.slide if second.slide is None else second.slide
        self.logs: Mapping[str, LogSpec] = {
            **first.logs,
            **{mine: second.logs[name] for mine, name in self._names.items()},
        }

    def step(self, inputs: Sequence[DataFrame], logs: Mapping[str, DataFrame], bounds: CallBounds) -> StepResult:
        made = self._first.step(inputs, {name: logs[name] for name in self._first.logs}, bounds)
        # After a join, the planner no longer knows that there is one partition.
        given = made.output.coalesce(1) if self._frames.single else made.output
        last = self._second.step([given], {name: logs[mine] for mine, name in self._names.items()}, bounds)
        return StepResult(last.output, made.grown | {mine: last.grown[name] for mine, name in self._names.items()})

    def compacted(self, name: str, log: DataFrame, bounds: CallBounds) -> DataFrame:
        if name in self._names:
            return self._second.compacted(self._names[name], log, bounds)
        return self._first.compacted(name, log, bounds)
