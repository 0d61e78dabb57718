"""The end of a call: results go to the sinks, outputs to the queues, and unfinished tuples back to where they were."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from headgate.metrics.monitor import Monitor
from headgate.runtime.simulated.calls import RunningCall, Stage
from headgate.runtime.simulated.network import NetworkNode
from headgate.runtime.simulated.queue_memory import QueueMemory
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.selectivity import Item
from headgate.runtime.simulated.unit_program import Branch
from headgate.scheduling.board import Board


class ResultEvent(NamedTuple):
    """A result in a trace."""

    time: float
    query: str
    arrival: float
    key: int
    weight: float


class CallCounts(NamedTuple):
    """What a call did: the tuples from queues that it finished, and the results that it produced."""

    tuples: int
    results: int


class CallCompletion:
    """Applies what a call did up to its end, or up to the moment when it was stopped."""

    def __init__(
        self, board: Board, monitor: Monitor, memory: QueueMemory, fluid: bool, trace: list[ResultEvent] | None
    ) -> None:
        self._board = board
        self._fluid = fluid
        self._monitor = monitor
        self._memory = memory
        self._trace = trace

    def finish(self, call: RunningCall) -> CallCounts:
        """Complete a call that used up its input."""
        tuples = results = 0
        for stage in call.stages:
            results += self._apply(stage, len(stage.times), None, call.limits)
            tuples += stage.taken
        return CallCounts(tuples, results)

    def stop(self, call: RunningCall, now: float) -> CallCounts:
        """Complete a call that ends at `now`, before its input is used up.

        Finished outputs are delivered. The tuple in progress goes back to the head of its queue and keeps the time
        spent on it. Tuples that were taken but not begun go back to the heads of their queues, in order. Outputs of the
        unit's own operators that the next operator has not begun wait in their queues.
        """
        tuples = results = 0
        counts = [bisect_right(stage.times, now) for stage in call.stages]
        reached = next((at for at, stage in enumerate(call.stages) if counts[at] < len(stage.items)), len(call.stages))
        served = {stage.step.node for stage in call.stages[: reached + 1] if not stage.resumes and stage.times}
        for stage, done in zip(call.stages, counts, strict=True):
            results += self._apply(stage, done, served, call.limits)
            tuples += min(done, stage.taken)
            begun = len(stage.times)
            if stage.step.node.join is not None and done < begun:
                stage.step.node.join.forget(stage.items[done:begun], stage.inputs(done, begun))
        for at in range(len(call.stages) - 1, reached - 1, -1):
            self._give_back(call.stages[at], counts[at], now, at == reached)
        return CallCounts(tuples, results)

    def _apply(
        self, stage: Stage, done: int, served: set[NetworkNode] | None, limits: Mapping[NetworkNode, float]
    ) -> int:
        """Apply the first `done` tuples of a stage. `served` are the operators that took their input from inside the
        unit (None: all of them), some of them only up to a time (`limits`)."""
        if not done:
            return 0
        node, times, memory = stage.step.node, stage.times, self._memory
        cut = done < len(times)
        if cut:
            times = times[:done]
        node.processed += done
        for queue in node.synchronized_readers:
            queue.reach(stage.items[done - 1][0])
        memory.times += times
        memory.changes += [-i[2] * q.item_bytes for i, q in zip(stage.items, stage.origins[:done], strict=False)]
        results = 0
        for branch, (out_times, outputs) in zip(stage.step.branches, stage.outputs, strict=True):
            if cut:
                count = bisect_right(out_times, times[-1])
                out_times, outputs = out_times[:count], outputs[:count]
            if outputs:
                node.out += sum([item[2] for item in outputs]) if self._fluid else len(outputs)
                self._hand_out(branch, out_times, outputs, served, limits)
                results += len(outputs) * len(branch.taps)
        return results

    def _hand_out(
        self,
        branch: Branch,
        times: list[float],
        outputs: list[Item],
        served: set[NetworkNode] | None,
        limits: Mapping[NetworkNode, float],
    ) -> None:
        if branch.queued_bytes:
            self._memory.times += times
            self._memory.changes += [item[2] * branch.queued_bytes for item in outputs]
        for queue in branch.inner:
            queue.node.entered += len(outputs)
            if served is not None and queue.node not in served:
                queue.extend(outputs)
            elif queue.node in limits:
                queue.extend([item for item in outputs if item[0] > limits[queue.node]])
        for queue in branch.outer:
            queue.node.entered += len(outputs)
            queue.extend(outputs)
            if queue:  # empty if it holds everything back for now
                self._board.wake(queue.fed_units)
        for tap in branch.taps:
            latencies = [time - item[0] for time, item in zip(times, outputs, strict=True)]
            if self._fluid:
                self._monitor.results(tap.query, times, latencies, [item[2] for item in outputs])
            else:
                tap.times += times
                tap.latencies += latencies
            if self._trace is not None:
                self._trace += [ResultEvent(time, tap.query, *item) for time, item in zip(times, outputs, strict=True)]

    def _give_back(self, stage: Stage, done: int, now: float, reached: bool) -> None:
        """Put the unfinished tuples of a stage back. Called for the last stage first; `reached` marks the first stage
        that is not finished. In later stages, tuples from inside the unit do not exist or wait in their queue already.
        """
        items, origins, taken = stage.items, stage.origins, stage.taken
        begun = 0
        if done < len(stage.times):
            turn = stage.begun(done)
            spent = max(0.0, now - turn) + (stage.spent if done == 0 else 0.0)
            if spent > 0.0:
                begun = 1
                self._leave_partial(origins[done], stage.times[done] - max(now, turn), spent)
        if reached:
            for at in range(max(done + begun, taken), len(items)):
                origins[at].append(items[at])
        for at in range(max(taken, done + begun) - 1, done - 1, -1):
            origins[at].appendleft(items[at])

    def _leave_partial(self, queue: SimulatedQueue, left: float, spent: float) -> None:
        queue.node.partial, queue.node.left, queue.node.spent = queue, left, spent
        self._board.spend(queue.edge, spent)
