"""Plans calls: what a unit does with its input, tuple by tuple."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from headgate.application.checked import SimulatorSettings
from headgate.runtime.simulated.call_input import CallInput, LazyCallInput, Waiting, arrival
from headgate.runtime.simulated.network import Network, NetworkNode
from headgate.runtime.simulated.queues import SimulatedQueue
from headgate.runtime.simulated.selectivity import Item, Outputs
from headgate.runtime.simulated.unit_program import ProgramStep, UnitProgram
from headgate.scheduling.board import Board, Claim
from headgate.scheduling.policy import TOLERANCE
from headgate.scheduling.units import Unit


class Stage:
    """The work of one operator in a call: which tuples it takes, when each is finished, and the outputs.

    The first `taken` items come from queues, the others from earlier stages. `times` covers the tuples that the call
    reaches; `start` is when the first of them is begun, and `spent` the time that stopped calls spent on it before.
    """

    __slots__ = ("items", "origins", "outputs", "resumes", "spent", "start", "step", "taken", "times")

    def __init__(self, step: ProgramStep) -> None:
        self.step = step
        self.items: list[Item] = []
        self.origins: list[SimulatedQueue] = []
        self.taken = 0
        self.times: list[float] = []
        self.outputs: Sequence[Outputs] = ()
        self.start = math.inf
        self.spent = 0.0
        self.resumes = False  # True if it only continues a tuple that a stopped call left

    def add(self, waiting: Iterable[Waiting]) -> None:
        for item, queue in waiting:
            self.items.append(item)
            self.origins.append(queue)

    def inputs(self, first: int, end: int) -> list[int]:
        """The operator inputs through which some tuples came."""
        return [queue.edge.input for queue in self.origins[first:end]]

    def begun(self, index: int) -> float:
        """When work on a tuple began."""
        return self.times[index - 1] if index else self.start


class RunningCall:
    """A call in flight: everything that it will do until `end`, unless it is stopped earlier.

    `reached` says how far the operators of the unit have advanced that feed an operator with synchronized inputs, and
    `limits` up to which time that operator could proceed.
    """

    __slots__ = ("claim", "end", "limits", "reached", "stages", "stopped")

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.stages: list[Stage] = []
        self.reached: dict[SimulatedQueue, float] = {}
        self.limits: dict[NetworkNode, float] = {}
        self.end = math.inf
        self.stopped = False  # True if its time budget ends it before its input is used up

    def spent(self, now: float) -> float:
        """The time spent so far on the tuple in progress, by this call and by stopped ones before it."""
        for stage in self.stages:
            at = bisect_right(stage.times, now)
            if at < len(stage.times):
                before = stage.spent if at == 0 else 0.0
                return before + max(0.0, now - stage.begun(at))
        return 0.0


class _TimeBudget:
    """The clock of a call, and how far it may go. The budget counts from the first tuple on, so that a call always
    makes progress, whatever the overheads."""

    __slots__ = ("clock", "cut", "limit", "over", "seconds", "slack")

    def __init__(self, clock: float, seconds: float | None) -> None:
        self.clock = clock
        self.seconds = math.inf if seconds is None else seconds
        self.slack = 0.0 if seconds is None else seconds * TOLERANCE
        self.limit: float | None = None
        self.over = False  # True if nothing more may be begun
        self.cut = False  # True if a tuple or a set-up was stopped in the middle, at `limit`

    def set_up(self, seconds: float) -> None:
        """Spend the time of calling an operator."""
        self.clock += seconds
        if self.limit is None:
            self.limit = self.clock + self.seconds
        elif self.clock > self.limit + self.slack:
            self.clock = self.limit
            self.over = self.cut = True

    def work(self, seconds: float) -> float:
        """Spend the time of one tuple; returns when it would be finished if there were no budget."""
        assert self.limit is not None
        finish = self.clock + seconds
        if finish > self.limit + self.slack:
            self.clock = self.limit
            self.over = self.cut = True
            return finish
        self.clock = finish
        self.over = finish >= self.limit - self.slack
        return finish


class CallPlanner:
    """Works out what a claimed call will do. Nothing that happens meanwhile changes the plan; a call can only be
    stopped."""

    def __init__(self, network: Network, board: Board, settings: SimulatorSettings) -> None:
        self._network = network
        self._board = board
        self._switch_s = settings.switch_s
        self._programs: dict[Unit, UnitProgram] = {}

    def program(self, unit: Unit) -> UnitProgram:
        found = self._programs.get(unit)
        if found is None:
            found = self._programs[unit] = UnitProgram(unit, self._network)
        return found

    def forget(self) -> None:
        """The units are others now."""
        self._programs.clear()

    def begin(self, claim: Claim, clock: float) -> RunningCall:
        """Take the input of a claimed unit and plan its call; `clock` is when the first operator is called."""
        decision = claim.decision
        steps = self.program(decision.unit).steps
        call = RunningCall(claim)
        lazy = decision.seconds is not None and decision.tuples is None
        call_input = LazyCallInput() if lazy else CallInput([step.node for step in steps], decision.tuples)
        budget = _TimeBudget(clock, decision.seconds)
        between: dict[SimulatedQueue, list[Item]] = {}  # inside the unit, between two of its operators
        if decision.unit.spent:
            self._resume(call, steps, call_input, budget, between)
        for step in steps:
            self._step(call, step, call_input, budget, between)
        call.end = budget.clock
        if budget.over:
            if not lazy:
                _leave(call, steps, call_input)
            call.stopped = (
                budget.cut
                or bool(between)
                or any(len(stage.times) < len(stage.items) for stage in call.stages)
                or any(call_input.has(step.node) for step in steps)
            )
        return call

    def _resume(
        self,
        call: RunningCall,
        steps: list[ProgramStep],
        call_input: CallInput,
        budget: _TimeBudget,
        between: dict[SimulatedQueue, list[Item]],
    ) -> None:
        """Continue a partly processed tuple inside the unit before anything else is begun."""
        first = next((step for step in steps if call_input.has(step.node)), None)
        for step in steps:
            node = step.node
            if node.partial is None or step is first or budget.over or not call_input.has(node):
                continue
            stage = Stage(step)
            stage.resumes = True
            budget.set_up(self._switch_s + node.fixed * next(node.noise))
            if not budget.over:
                stage.start = budget.clock
                waiting = call_input.next(node)
                assert waiting is not None
                self._begin_taken(stage, waiting, 0.0, budget)
                self._close(call, stage, between)

    def _step(
        self,
        call: RunningCall,
        step: ProgramStep,
        call_input: CallInput,
        budget: _TimeBudget,
        between: dict[SimulatedQueue, list[Item]],
    ) -> None:
        node = step.node
        if budget.over:
            return
        inside: list[Waiting] = []
        if between:
            inside = [(item, queue) for queue in node.queues for item in between.get(queue, ())]
        if step.inputs:
            inside = self._in_step(call, step, call_input, inside, between)
        if not inside and not call_input.has(node):
            return
        budget.set_up(self._switch_s + node.fixed * next(node.noise))
        if budget.over:
            return
        cost = node.cost * next(node.noise)
        stage = Stage(step)
        stage.start = budget.clock
        for queue in node.queues if inside else ():
            between.pop(queue, None)
        if budget.limit == math.inf:
            self._run_all(stage, call_input, inside, cost, budget)
        else:
            self._run_limited(stage, call_input, inside, cost, budget)
        self._close(call, stage, between)

    def _in_step(
        self,
        call: RunningCall,
        step: ProgramStep,
        call_input: CallInput,
        inside: list[Waiting],
        between: dict[SimulatedQueue, list[Item]],
    ) -> list[Waiting]:
        """The tuples just made inside the unit that an operator with synchronized inputs may process: those up to the
        time that all its inputs have reached, in order of time. The rest waits in its queue after the call. Tuples that
        were held back and no longer need to be are taken as well."""
        limit = min(max(queue.reached, call.reached.get(queue, -math.inf)) for queue in step.inputs)
        call.limits[step.node] = limit
        call_input.release(step.inputs, limit)
        for queue in step.inputs:
            between.pop(queue, None)
        return sorted((waiting for waiting in inside if waiting[0][0] <= limit), key=arrival)

    def _run_all(
        self, stage: Stage, call_input: CallInput, inside: list[Waiting], cost: float, budget: _TimeBudget
    ) -> None:
        node = stage.step.node
        taken = call_input.rest(node)
        stage.taken = len(taken)
        stage.add(taken)
        stage.add(inside)
        needs = [item[2] * cost for item in stage.items]
        if node.side_costs is not None:
            needs = [need * node.side_costs[q.edge.input] for need, q in zip(needs, stage.origins, strict=True)]
        if node.partial is not None and taken:
            needs[0] = self._continued(stage)
        stage.times = list(accumulate(needs, initial=stage.start))[1:]
        budget.clock = stage.times[-1]

    def _run_limited(
        self, stage: Stage, call_input: CallInput, inside: list[Waiting], cost: float, budget: _TimeBudget
    ) -> None:
        node = stage.step.node
        while not budget.over and (waiting := call_input.next(node)) is not None:
            self._begin_taken(stage, waiting, cost, budget)
        left = call_input.rest(node)
        stage.taken += len(left)
        stage.add([*left, *inside])
        for at in range(len(stage.times), len(stage.items)):
            if budget.over:
                return
            stage.times.append(budget.work(_need(node, stage.items[at], stage.origins[at], cost)))

    def _begin_taken(self, stage: Stage, waiting: Waiting, cost: float, budget: _TimeBudget) -> None:
        continued = stage.step.node.partial is not None
        needs = self._continued(stage) if continued else _need(stage.step.node, *waiting, cost)
        stage.add([waiting])
        stage.taken += 1
        stage.times.append(budget.work(needs))

    def _continued(self, stage: Stage) -> float:
        """Take up the partly processed tuple again; returns the seconds that it still needs."""
        node = stage.step.node
        assert node.partial is not None
        self._board.spend(node.partial.edge, 0.0)
        stage.spent, node.spent, node.partial = node.spent, 0.0, None
        return node.left

    def _close(self, call: RunningCall, stage: Stage, between: dict[SimulatedQueue, list[Item]]) -> None:
        """Draw the outputs of the tuples begun, and pass on those that stay inside the unit."""
        begun = len(stage.times)
        items = stage.items if begun == len(stage.items) else stage.items[:begun]
        node = stage.step.node
        if node.sided_draw is None:
            stage.outputs = node.draw(stage.times, items)
        else:
            stage.outputs = node.sided_draw(stage.times, items, stage.inputs(0, begun))
        call.stages.append(stage)
        for reader in node.synchronized_readers if begun else ():
            call.reached[reader] = items[begun - 1][0]
        for branch, (_, outputs) in zip(stage.step.branches, stage.outputs, strict=True):
            for queue in branch.inner if outputs else ():
                between.setdefault(queue, []).extend(outputs)


def _need(node: NetworkNode, item: Item, queue: SimulatedQueue, cost: float) -> float:
    need = item[2] * cost
    return need if node.side_costs is None else need * node.side_costs[queue.edge.input]


def _leave(call: RunningCall, steps: list[ProgramStep], call_input: CallInput) -> None:
    """Record the tuples that were taken and will not be begun, so that they are put back."""
    for step in steps:
        if left := call_input.rest(step.node):
            stage = Stage(step)
            stage.taken = len(left)
            stage.add(left)
            call.stages.append(stage)
