"""headgate bench policies: one bursty application under every policy on Spark, next to what the simulator predicts.

The application is in `policies_workload.py`. It has a single class, so the policies are those that choose by operator,
path or segment; `bench classes` has the others. A first run measures the costs of operators and of a call on this
machine. Then there are two inputs:

* bursts: two self-similar streams at the rate that keeps one slot busy for LOAD of the time, without the fixed cost of
  calls. ON and OFF scales are 1 s as in our replica of the paper's study (the paper gives none), with fewer flows,
  because a minute has no room for rare bursts. All policies run on it.
* one burst: BURST_S of work arrive within a second, as in the papers' argument for saving memory (Jiang and
  Chakravarthy, section 2.2). Calls are then fewer and larger. Only the policies of that paper run on it.

Every policy gets exactly the same tuples and runs until all of them are processed, so that no latency leaves out what
starved. The simulator runs the same application, arrivals and policies on the measured costs, and again with cheaper
calls, down to no fixed cost at all as in the papers: `fixed_cost` shows how much of the outcome is due to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyspark
from pyspark.sql import SparkSession

from headgate.application.checked import CheckedApplication, PolicySettings, RunLimits
from headgate.policies.registry import POLICIES
from headgate.runtime.simulated import simulate
from headgate.runtime.spark.engine import SparkRuntime
from headgate.runtime.spark.launch.session import start_spark
from headgate_lab.bench.parts import part
from headgate_lab.bench.policies_workload import Costs, Sources, application, draw_paths, feeder, full_rates, measure

LOAD = 0.7
ARRIVALS = {"kind": "self-similar", "flows": 4, "on_scale": 1.0, "off_scale": 1.0}
BURST_S = 10.0
CALLS_S = (0.0, 0.001, 0.005)  # fixed costs of a call to try in the simulator, besides the measured one
RUNTIMES = ("spark", "simulated")
SAVING = ("chain", "segment", "simplified-segment")
OF_THE_PAPER = ("fifo", "pcs", *SAVING)
BY_CLASS = {"wehr", "cqc", "abd", "mbd", "ambd", "mrr", "morr", "ml", "mol", "mprr", "pct", "pct-s"}
OF_OTHERS = {"adaptive", "master"}  # they use the other policies
COMPARED = tuple(name for name in POLICIES if name not in BY_CLASS | OF_OTHERS)
CLAIMS = (  # figure, policy, and the policy it is claimed to stay below (Jiang and Chakravarthy, section 5)
    *(("mean_latency", "pcs", other) for other in ("chain", "segment")),
    *(("mean_memory", policy, other) for policy in SAVING for other in ("pcs", "fifo")),
)

Figures = dict[str, float]
Found = Mapping[str, Mapping[str, Figures]]  # policy -> runtime -> figures


@dataclass(frozen=True)
class PoliciesBenchSize:
    """The size of the measurement."""

    seconds: float  # of input in bursts
    rounds: int  # of calls to measure costs
    burst_s: float = BURST_S
    compared: Sequence[str] = COMPARED


FULL = PoliciesBenchSize(seconds=60.0, rounds=40)
QUICK = PoliciesBenchSize(seconds=10.0, rounds=8)
SMALLEST = PoliciesBenchSize(seconds=0.5, rounds=1, burst_s=0.2, compared=OF_THE_PAPER)


def run(quick: bool = False, sizes: PoliciesBenchSize | None = None) -> dict[str, Any]:
    """Measure. The paper's claims and the simulator's agreement come first, the figures of each policy below."""
    spark = start_spark({"master": "local[2]", "spark.driver.memory": "4g"})
    chosen = sizes or (QUICK if quick else FULL)
    seconds = chosen.seconds
    costs = part("costs", lambda: measure(spark, chosen.rounds))
    inputs = {"bursts": bursts(costs, seconds), "one_burst": one_burst(costs, chosen.burst_s)}
    _on_spark(spark, application(PolicySettings("fifo"), inputs["one_burst"], costs))  # warms up
    found = _both(spark, "bursts", chosen.compared, inputs["bursts"], costs)
    burst = _both(spark, "one_burst", OF_THE_PAPER, inputs["one_burst"], costs)
    again = measure(spark, 4)
    return {
        "claims": {"bursts": claims(found), "one_burst": claims(burst)},
        "agreement": {
            "bursts": {key: agreement(found, key) for key in ("mean_latency", "mean_memory")},
            "one_burst": {key: agreement(burst, key) for key in ("mean_latency", "mean_memory")},
        },
        "policies": found,
        "one_burst": burst,
        "fixed_cost": {name: _by_call_cost(sources, costs) for name, sources in inputs.items()},
        "costs": {
            "call_ms": costs.call_s * 1e3,
            "drift": drift(costs, again),
            "tuple_bytes": costs.tuple_bytes,
            "microseconds": {name: cost * 1e6 for name, cost in costs.operators.items()},
            "selectivities": {step.id: step.share for path in draw_paths().values() for step in path},
        },
        "settings": {
            "inputs": inputs,
            "seconds_of_input": seconds,
            "load": LOAD,
            "spark": pyspark.__version__,
            "master": spark.sparkContext.master,
        },
    }


def bursts(costs: Costs, seconds: float) -> Sources:
    """Sources of self-similar streams that add up to the load."""
    rates = full_rates(costs)
    return {name: feeder(rate * LOAD, seconds, ARRIVALS, costs.tuple_bytes) for name, rate in rates.items()}


def one_burst(costs: Costs, seconds: float = BURST_S) -> Sources:
    """Sources of one burst: this many seconds of work, arriving within one second."""
    rates = full_rates(costs)
    return {name: feeder(rate * seconds, 1.0, "poisson", costs.tuple_bytes) for name, rate in rates.items()}


def claims(found: Found, runtime: str = "spark") -> dict[str, dict[str, Any]]:
    """The paper's claims about its policies, whether each holds, and both figures."""
    judged = {}
    for figure, policy, other in CLAIMS:
        ours, theirs = found[policy][runtime][figure], found[other][runtime][figure]
        name = f"{figure} of {policy} below {other}"
        judged[name] = {"holds": ours < theirs, policy: ours, other: theirs, "ratio": ours / theirs if theirs else None}
    return judged


def drift(before: Costs, after: Costs) -> dict[str, float | None]:
    """Costs after the runs over costs before them. Far from 1, they show that the machine was shared: the policies did
    not have the same processor, and the simulator's costs were not those of the runs."""
    tuples = sum(after.operators.values()) / sum(before.operators.values())
    return {"call": after.call_s / before.call_s if before.call_s else None, "tuples": tuples}


def agreement(found: Found, key: str) -> dict[str, Any]:
    """The order of policies by a figure, lowest first, in both runtimes, and whether both ends agree. In the simulator,
    policies may be exactly equal, as pcs and threshold are while memory suffices: then each of them counts as best.
    """
    ours, theirs = (sorted(found, key=lambda name: found[name][runtime][key]) for runtime in RUNTIMES)
    predicted = {name: found[name]["simulated"][key] for name in found}
    return {
        "best": predicted[ours[0]] == predicted[theirs[0]],
        "worst": predicted[ours[-1]] == predicted[theirs[-1]],
        "spark": ours,
        "simulated": theirs,
    }


def _both(
    spark: SparkSession, kind: str, names: Iterable[str], sources: Sources, costs: Costs
) -> dict[str, dict[str, Figures]]:
    return {name: part(f"{kind}, {name}", partial(_of_policy, spark, name, sources, costs)) for name in names}


def _of_policy(spark: SparkSession, name: str, sources: Sources, costs: Costs) -> dict[str, Figures]:
    app = application(PolicySettings(name), sources, costs)
    return {"spark": _on_spark(spark, app), "simulated": _simulated(app)}


def _on_spark(spark: SparkSession, app: CheckedApplication) -> Figures:
    runtime = SparkRuntime(app, spark)
    runtime.start()
    rehearsed = sum(runtime.report()["calls"].values())
    runtime.wait(RunLimits(until_idle=True))
    report = runtime.stop()
    if report["errors"]:
        raise RuntimeError(str(report["errors"]))
    return figures(report) | {"calls": sum(report["calls"].values()) - rehearsed}


def _simulated(app: CheckedApplication) -> Figures:
    return figures(simulate(app, RunLimits(until_idle=True)).report)


def figures(report: Mapping[str, Any]) -> Figures:
    """The figures of a report that are compared: seconds, bytes, and input tuples per second."""
    latency = report["classes"]["only"]["latency"]
    return {
        "mean_latency": latency["mean"],
        "p95_latency": latency["p95"],
        "mean_memory": report["memory"]["mean"],
        "peak_memory": report["memory"]["max"],
        "throughput": report["throughput"]["inputs"],
        "seconds": report["seconds"],
    }


def _by_call_cost(sources: Sources, costs: Costs) -> dict[str, dict[str, Figures]]:
    """Simulated results: milliseconds per call -> policy -> figures."""
    return {
        f"{call_s * 1e3:.3g} ms": {
            name: _simulated(application(PolicySettings(name), sources, costs, call_s)) for name in OF_THE_PAPER
        }
        for call_s in (*CALLS_S, costs.call_s)
    }
