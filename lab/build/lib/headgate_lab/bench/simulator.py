"""headgate bench simulator: the speed of the simulator, next to the same model written for SimPy."""

from __future__ import annotations

import platform
import random
import statistics
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from types import ModuleType
from typing import Any

from headgate.application.checked import CheckedApplication, RunLimits
from headgate.runtime.simulated import simulate
from headgate_lab.bench.parts import part
from headgate_lab.sections import checked, feeder_stream

STREAMS = 50
UTILIZATION = 0.9
POLICIES: dict[str, dict[str, Any]] = {"rr": {"quantum": 1.0}, "rb": {}, "prb": {}, "chain": {}}  # beside fifo
ANALYTIC_RESPONSE = 354.0  # M/G/1, first come first served: E[S] + lambda E[S^2] / (2 (1 - rho))


@dataclass(frozen=True)
class SimulatorBenchSize:
    """The size of the measurement."""

    tuples: int  # per stream
    rounds: int


FULL = SimulatorBenchSize(tuples=4000, rounds=5)
QUICK = SimulatorBenchSize(tuples=400, rounds=2)
SMALLEST = SimulatorBenchSize(tuples=10, rounds=1)


def run(quick: bool = False, sizes: SimulatorBenchSize | None = None) -> dict[str, Any]:
    """Median tuples per second of Headgate's simulator and of SimPy on one model, alternating in one process.

    The model: 50 Poisson streams, costs 2, 4, ..., 100, one server, first in first out, load 0.9. SimPy's version
    is the leanest we know: one source process per stream, one Store, one server process. Headgate runs with the monitor
    and the invariants on. It serves such a model without decisions (`runtime/simulated/fast_paths/arrival_order.py`);
    its event loop, in which the board and the policy are asked about every tuple, is measured as well. So are `rr` with
    a quantum of 1 (`fast_paths/round_robin.py`) and `rb`, `prb` and `chain` (`fast_paths/ranked.py`), all of them but
    `rr` in the event loop, too; `rr` would take minutes there. Needs `headgate-lab`.
    """
    simpy = _simpy()
    chosen = sizes or (QUICK if quick else FULL)
    tuples, rounds = chosen.tuples, chosen.rounds
    ours: list[tuple[float, float]] = []
    loop: list[tuple[float, float]] = []
    theirs: list[tuple[float, float]] = []
    others: dict[str, list[tuple[float, float]]] = {name: [] for name in POLICIES}
    loops: dict[str, list[tuple[float, float]]] = {name: [] for name in POLICIES if name != "rr"}
    for seed in range(rounds):
        label = f"{{}}, round {seed + 1} of {rounds}".format
        ours.append(part(label("headgate"), partial(run_headgate, tuples, seed)))
        loop.append(part(label("headgate_event_loop"), partial(run_headgate, tuples, seed, fast_paths=False)))
        theirs.append(part(label("simpy"), partial(run_simpy, simpy, tuples, seed)))
        for name, runs in others.items():
            runs.append(part(label(name), partial(run_headgate, tuples, seed, name)))
        for name, runs in loops.items():
            runs.append(part(label(f"{name}_event_loop"), partial(run_headgate, tuples, seed, name, fast_paths=False)))
    fast, stepwise, slow = _median(ours), _median(loop), _median(theirs)
    return {
        "bench": "simulator",
        "speedup_over_simpy": fast["tuples_per_second"] / slow["tuples_per_second"],
        "event_loop_over_simpy": stepwise["tuples_per_second"] / slow["tuples_per_second"],
        "headgate": fast,
        "headgate_event_loop": stepwise,
        "simpy": slow,
        "policies": {name: _median(runs) for name, runs in others.items()},
        "policies_event_loop": {name: _median(runs) for name, runs in loops.items()},
        "analytic_mean_response": ANALYTIC_RESPONSE,
        "streams": STREAMS,
        "tuples_per_stream": tuples,
        "rounds": rounds,
        "utilisation": UTILIZATION,
        "versions": {
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "simpy": version("simpy"),
        },
    }


def workload(tuples: int, seed: int, policy: str = "fifo") -> CheckedApplication:
    """The model as an application: on each stream, a query with one operator."""
    costs = [2.0 + 2.0 * at for at in range(STREAMS)]
    rate = UTILIZATION / sum(costs)
    stream = feeder_stream("v INT", arrivals="poisson", rate=rate, rows=tuples)
    work = {"id": "work", "kind": "project", "columns": {"v": "v"}, "fixed_cost": 0.0, "selectivity": 1.0}
    queries = {f"q{at}": {"operators": [{**work, "input": f"s{at}", "cost": cost}]} for at, cost in enumerate(costs)}
    streams = {f"s{at}": stream for at in range(STREAMS)}
    sections = {"streams": streams, "classes": {"normal": {"priority": 1}}, "queries": queries}
    return checked({**sections, "policy": {"name": policy, **POLICIES.get(policy, {})}, "slots": 1, "seed": seed})


def run_headgate(tuples: int, seed: int, policy: str = "fifo", fast_paths: bool = True) -> tuple[float, float]:
    """Tuples per second, and the mean response."""
    app = workload(tuples, seed, policy)
    start = time.perf_counter()
    result = simulate(app, RunLimits(until_idle=True), fast_paths=fast_paths)
    seconds = time.perf_counter() - start
    normal = result.report["classes"]["normal"]
    return normal["outputs"] / seconds, normal["latency"]["mean"]


def run_simpy(simpy: ModuleType, tuples: int, seed: int) -> tuple[float, float]:
    """Tuples per second, and the mean response."""
    env = simpy.Environment()
    store = simpy.Store(env)
    draw = random.Random(seed)
    latencies: list[float] = []
    costs = [2.0 + 2.0 * at for at in range(STREAMS)]
    rate = UTILIZATION / sum(costs)

    def source(at: int) -> Any:
        for _ in range(tuples):
            yield env.timeout(draw.expovariate(rate))
            store.put((env.now, at))

    def server() -> Any:
        for _ in range(tuples * STREAMS):
            arrival, at = yield store.get()
            yield env.timeout(costs[at])
            latencies.append(env.now - arrival)

    for at in range(STREAMS):
        env.process(source(at))
    env.process(server())
    start = time.perf_counter()
    env.run()
    seconds = time.perf_counter() - start
    return len(latencies) / seconds, statistics.fmean(latencies)


def _median(runs: list[tuple[float, float]]) -> dict[str, float]:
    return {
        "tuples_per_second": statistics.median(speed for speed, _ in runs),
        "mean_response": statistics.fmean(response for _, response in runs),
    }


def _simpy() -> ModuleType:
    try:
        import simpy
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "this benchmark compares with SimPy, which is not installed: pip install 'headgate-lab'"
        ) from error
    found: ModuleType = simpy
    return found
