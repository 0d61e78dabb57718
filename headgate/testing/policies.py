"""Checks that a policy does what every runtime relies on."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from headgate.api.application import Application
from headgate.api.register import register
from headgate.application.checked import CheckedApplication, PolicySettings, RunLimits, SimulatorSettings
from headgate.connect.sources import Feeder
from headgate.metrics.stats import DeclaredStats, OperatorStats
from headgate.plan.model import Plan
from headgate.runtime.simulated import SimulationResult, simulate
from headgate.scheduling.board import Board
from headgate.scheduling.policy import Policy

T = TypeVar("T")
_IDLE = RunLimits(until_idle=True)
_OVERHEADS = SimulatorSettings(noise=0.1, decision_s=0.001, switch_s=0.0005, preempt_s=0.0002)
_MOST_CALLS = 10_000


def check_policy(kind: type[Policy], **parameters: Any) -> None:
    """Check a policy with these parameters: on a board by itself, then in the simulator, over several applications.

    AssertionError when it raises, answers nothing while units are ready (unless it says `work_conserving = False`),
    chooses what is not ready, loses or invents tuples, changes the results of a query, or gives another schedule for
    the same seed.
    """
    register(kind)
    settings = PolicySettings(kind.name, parameters)
    for name, app in _applications():
        what = f"policy '{kind.name}', {name}"
        _check_unknown(kind, parameters, app.plan, what)
        _check_on_board(kind, parameters, app.plan, what)
        for slots in (1, 3):
            for overheads in (SimulatorSettings(), _OVERHEADS):
                _check_simulated(
                    replace(app, policy=settings, slots=slots, simulator=overheads), f"{what}, {slots} slots"
                )


def _applications() -> Iterator[tuple[str, CheckedApplication]]:
    """One query; several of unequal importance; a plan with shared operators, a split and a union."""
    one = Application(seed=1)
    one.stream("s", "k INT, v DOUBLE", source=Feeder(rate=50.0, rows=40))
    one.query("q", operators=[_select("a", "s", cost="5 ms", selectivity=0.5)])
    yield "one query", one.checked()
    classes = Application(seed=2)
    for stream in ("s", "t"):
        classes.stream(stream, "k INT, v DOUBLE", source=Feeder(rate=40.0, rows=60))
    for number, priority in enumerate((6, 3, 1)):
        classes.add_class(f"c{number}", priority)
        chain = [_select("a", "st"[number % 2], cost="4 ms", selectivity=0.7), _select("b", "a", cost="3 ms")]
        classes.query(f"q{number}", operators=chain, in_class=f"c{number}")
    yield "three classes", classes.checked()
    shared = Application(seed=3)
    shared.stream("s", "k INT, v DOUBLE", source=Feeder(rate=60.0, rows=60))
    split = {"id": "b", "kind": "split", "input": "a", "branches": {"low": "v < 0.3", "high": "v > 0.6"}}
    ends = [_select("c", "b.low", cost="2 ms"), _select("d", "b.high", cost="6 ms")]
    joined = {"id": "e", "kind": "union", "inputs": ["c", "d"], "cost": "1 ms"}
    split |= {"cost": "1 ms", "selectivities": {"low": 0.3, "high": 0.4}}
    shared.query("first", operators=[_select("a", "s", cost="3 ms"), split, *ends, joined])
    shared.query("second", operators=[_select("f", "first", cost="2 ms", selectivity=0.5)])
    yield "shared operators", shared.checked()


def _select(name: str, source: str, **declared: Any) -> dict[str, Any]:
    return {"id": name, "kind": "select", "input": source, "where": "v >= 0", "selectivity": 1.0, **declared}


class _Waiting:
    """A queue as the scheduler sees it: the arrival times of the tuples that wait."""

    def __init__(self) -> None:
        self.arrivals: deque[float] = deque()

    @property
    def count(self) -> int:
        return len(self.arrivals)

    @property
    def oldest(self) -> float | None:
        return self.arrivals[0] if self.arrivals else None

    @property
    def bytes(self) -> float:
        return 8.0 * len(self.arrivals)


class _UnknownStats:
    """Statistics in which nothing is known."""

    def of(self, operator: str) -> OperatorStats:
        return OperatorStats()

    def stream_bytes(self, stream: str) -> float | None:
        return None


def _check_unknown(kind: type[Policy], parameters: Mapping[str, Any], plan: Plan, what: str) -> None:
    """The policy answers, and never raises, when nothing waits or nothing is known."""
    empty = Board(plan, {edge: _Waiting() for edge in plan.edges}, kind(**parameters), _UnknownStats(), 1)
    claim = _no_exception(lambda: empty.claim(0), f"{what}: with nothing waiting and no statistics, the policy raised")
    assert claim is None, f"{what}: the policy ran a unit although nothing waits"
    queues = {edge: _Waiting() for edge in plan.edges}
    board = Board(plan, queues, kind(**parameters), _UnknownStats(), 1)
    _fill(board, queues)
    claim = _no_exception(lambda: board.claim(0), f"{what}: without statistics, the policy raised")
    if kind.work_conserving:
        assert claim is not None, f"{what}: without statistics, the policy ran nothing although tuples wait"


def _check_on_board(kind: type[Policy], parameters: Mapping[str, Any], plan: Plan, what: str) -> None:
    """Until nothing waits, each decision takes something that is ready; slots are not left idle."""
    queues = {edge: _Waiting() for edge in plan.edges}
    board = Board(plan, queues, kind(**parameters), DeclaredStats(plan), 2)
    _fill(board, queues)
    for call in range(_MOST_CALLS):
        board.now = call * 0.001
        claim = _no_exception(partial(board.claim, call % 2), f"{what}: the policy raised")
        waiting = sum(queue.count for queue in queues.values())
        if claim is None:
            idle_is_wrong = kind.work_conserving and waiting
            assert not idle_is_wrong, f"{what}: the policy ran nothing although {waiting} tuples wait"
            if not waiting or not kind.work_conserving:
                return
        assert claim is not None
        unit = claim.decision.unit
        full = [queue for queue in unit.queues if queue.count]
        assert full, f"{what}: the policy ran unit {unit.id}, for which nothing waits"
        taken = _take(full, claim.decision.tuples)
        _no_exception(partial(board.release, claim, taken, 0), f"{what}: the policy raised when a call had ended")
    raise AssertionError(f"{what}: after {_MOST_CALLS} calls tuples still wait; the policy takes none")


def _take(queues: list[Any], tuples: int | None) -> int:
    left = sum(queue.count for queue in queues) if tuples is None else tuples
    taken = 0
    while taken < left and any(queue.count for queue in queues):
        first = min((queue for queue in queues if queue.count), key=lambda queue: queue.oldest)
        first.arrivals.popleft()
        taken += 1
    return taken


def _fill(board: Board, queues: Mapping[Any, _Waiting]) -> None:
    for number, (edge, queue) in enumerate(queues.items()):
        queue.arrivals.extend([0.001 * number] * 3)
        board.fed(edge)


def _check_simulated(app: CheckedApplication, what: str) -> None:
    """Tuples are conserved, results are those of fifo, and the same seed gives the same run."""
    expected = _results(simulate(replace(app, policy=PolicySettings("fifo")), _IDLE, trace=True))
    first = _no_exception(lambda: simulate(app, _IDLE, trace=True), f"{what}: the simulation failed")
    for name, counts in first.operators.items():
        kept = counts["processed"] + counts["queued"] + counts["shed"]
        assert counts["in"] == kept, f"{what}: of {counts['in']} tuples at {name}, {kept} were accounted for"
        assert not counts["queued"], f"{what}: {counts['queued']} tuples were left at {name}"
    assert _results(first) == expected, f"{what}: the results of a query depend on the schedule"
    second = _no_exception(lambda: simulate(app, _IDLE, trace=True), f"{what}: the second simulation failed")
    same = first.report == second.report and first.trace == second.trace
    assert same, f"{what}: the same seed gave another schedule; take randomness from `view.seed` alone"


def _results(result: SimulationResult) -> Counter[Any]:
    assert result.trace is not None
    return Counter((event.query, event.key) for event in result.trace.results)


def _no_exception(ask: Callable[[], T], problem: str) -> T:
    try:
        return ask()
    except AssertionError as broken:  # the board's invariants: they name the policy
        raise AssertionError(f"{problem.partition(':')[0]}: {broken}") from broken
    except Exception as error:
        raise AssertionError(f"{problem}: {type(error).__name__}: {error}") from error
