"""The nine claims of the MavStream thesis, chapter 6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from headgate_lab.studies.claims import (
    BySeed,
    Criterion,
    Finding,
    PaperClaim,
    SweepResults,
    difference,
    estimate,
    judge,
)
from headgate_lab.studies.mavstream.errors import ERROR, KINDS
from headgate_lab.studies.mavstream.runs import TOLERANCES
from headgate_lab.studies.mavstream.workload import CHECK_S

PAPER = "Kendai: Runtime Optimization and Load Shedding in MavStream: Design and Implementation, UT Arlington 2006"
NEAR, VISIBLY, NEGLIGIBLE = 0.1, 0.8, 0.02


def _c1(results: SweepResults) -> Finding:
    mine, pcs = (_of(results, "6.1", "latency_settled_s", policy) for policy in ("optimized", "pcs"))
    first = _ratio(_of(results, "6.1", "latency_first_s"), _of(results, "6.1", "latency_first_s", "segment"))
    close = _ratio(mine, pcs)
    switches = list(_of(results, "6.1", "switches").values())
    criteria = [
        Criterion("one switch", switches, 0.5, 1.5),
        Criterion("then a latency near that of pcs", close, 1 - NEAR, 1 + NEAR),
        Criterion("not better than pcs", close, low=1 - NEAR),
    ]
    text = (
        f"switches {_mean(switches)}, latency over pcs's {_mean(close)} once settled; at first over segment's "
        f"{_mean(first)}; mean latencies: {_by_policy(results, '6.1', 'latency_s')}"
    )
    return judge(criteria, close, text)


def _c2(results: SweepResults) -> Finding:
    close = _ratio(*(_of(results, "6.2.1", "latency_settled_s", policy) for policy in ("optimized", "pcs")))
    memory = _ratio(*(_of(results, "6.2.1", "memory_half_2_bytes", policy) for policy in ("optimized", "pcs")))
    others = [
        Criterion(
            f"more memory than {policy}",
            _ratio(*(_of(results, "6.2.1", "memory_half_2_bytes", one) for one in ("optimized", policy))),
            low=1.0,
        )
        for policy in ("segment", "simplified-segment")
    ]
    criteria = [
        Criterion("latency near that of pcs", close, 1 - NEAR, 1 + NEAR),
        Criterion("memory near that of pcs", memory, 1 - NEAR, 1 + NEAR),
        *others,
    ]
    text = f"latency over pcs's {_mean(close)}, memory over pcs's {_mean(memory)} after the promise has become strict"
    return judge(criteria, close, f"{text}; memory: {_by_policy(results, '6.2.1', 'memory_half_2_bytes')} bytes")


def _c3(results: SweepResults) -> Finding:
    rows = [row for row in results.rows if row["name"] == "6.2.2" and row["policy"] == "optimized"]
    chosen = [float(row["policy_after_half"] in ("segment", "simplified-segment")) for row in rows]
    when = [math.nan if row["switch_after_half_s"] is None else row["switch_after_half_s"] for row in rows]
    falls = _ratio(_of(results, "6.2.2", "memory_half_2_bytes"), _of(results, "6.2.2", "memory_half_2_bytes", "pcs"))
    kept = _ratio(_of(results, "6.2.2", "latency_half_2_s"), _of(results, "6.2.2", "promised_latency_s"))
    criteria = [
        Criterion("segment or the simplified segment in most runs", chosen, low=0.5),
        Criterion("memory visibly below that of pcs", falls, high=VISIBLY),
        Criterion("the latency stays within what is promised", kept, high=1.0),
    ]
    text = (
        f"once memory is short, segment or simplified segment in {100 * fmean(chosen):.0f} % of the runs, "
        f"{_mean([one for one in when if not math.isnan(one)] or [math.nan])} s after the change (the thesis: 39 s of "
        f"1000); memory over pcs's {_mean(falls)}, latency over the promise {_mean(kept)}"
    )
    return judge(criteria, falls, text)


def _c4(results: SweepResults) -> Finding:
    return _more_tolerance(results, "6.3a")


def _more_tolerance(results: SweepResults, name: str, more: Sequence[Criterion] = (), also: str = "") -> Finding:
    criteria = []
    for measure in ("latency_s", "memory_bytes"):
        values = [_of(results, name, measure, tolerance=tolerance) for tolerance in TOLERANCES]
        for at in range(1, len(TOLERANCES)):
            what = f"{measure.partition('_')[0]} lower with {TOLERANCES[at]:g} than with {TOLERANCES[at - 1]:g}"
            criteria.append(Criterion(what, _ratio(values[at], values[at - 1]), high=1.0))
    early = [float(row["shed_before_pcs"]) for row in results.rows if row["name"] == name and row["tolerance"]]
    criteria += [Criterion("shed only after pcs was tried", early, high=0.5), *more]
    gain = gains(results, name)
    listed = ", ".join(
        f"{tolerance:g}: {1e3 * fmean(_of(results, name, 'latency_s', tolerance=tolerance).values()):.0f} ms"
        for tolerance in TOLERANCES
    )
    text = f"latency by tolerance {listed}; with {TOLERANCES[-1]:g} over without {_mean(gain)}{also}"
    return judge(criteria, gain, text)


def gains(results: SweepResults, name: str) -> list[float]:
    """The latency with the largest tolerance over that with none, seed by seed."""
    return _ratio(
        _of(results, name, "latency_s", tolerance=TOLERANCES[-1]), _of(results, name, "latency_s", tolerance=0.0)
    )


def _c5(results: SweepResults) -> Finding:
    rows = [row for row in results.rows if row["name"] == "6.3b" and row["policy"] == "optimized"]
    early = [row["first_switch_s"] for row in rows if row["first_switch_s"] is not None]
    lax = 0.1 * results.rows[0]["tuples"] / 100
    quiet = [float(at >= lax - 2 * CHECK_S) for at in early] or [1.0]
    smaller = [b - a for a, b in zip(gains(results, "6.3a"), gains(results, "6.3b"), strict=True)]
    more = [
        Criterion("no change while the promise is lax", quiet, low=0.5),
        Criterion("a smaller gain than with the larger window", smaller, low=0.0),
    ]
    return _more_tolerance(results, "6.3b", more, f"; with the larger window {_mean(gains(results, '6.3a'))}")


def _c6(results: SweepResults) -> Finding:
    error = _error(results, "thesis_random_sum")
    criteria = [Criterion("about the tolerance", error, ERROR - 0.03, ERROR + 0.03)]
    text = (
        f"as in the thesis {_percent(error)} of the sum at a tolerance of {ERROR:.0%}; scaled "
        f"{_percent(_error(results, 'scaled_random_sum'))}"
    )
    return judge(criteria, error, text)


def _c7(results: SweepResults) -> Finding:
    error = _error(results, "thesis_random_avg")
    criteria = [Criterion("less than a tenth of the tolerance", error, high=ERROR / 10)]
    text = f"{_percent(error)} of the average; scaled {_percent(_error(results, 'scaled_random_avg'))}"
    return judge(criteria, error, text)


def _c8(results: SweepResults) -> Finding:
    found = {kind: results.by_seed(f"thesis_{kind}_sum", policy="errors") for kind in KINDS}
    criteria = [
        Criterion(f"{kind} below random", difference(found[kind], found["random"]), high=0.0) for kind in KINDS[1:]
    ]
    criteria += [
        Criterion(f"center above {kind}", difference(found["center"], found[kind]), low=0.0)
        for kind in ("lowest", "highest")
    ]
    listed = ", ".join(
        f"{kind} {_percent(list(values.values()))} (dropped {_percent(_error(results, f'thesis_{kind}_dropped'))}, "
        f"scaled {_percent(_error(results, f'scaled_{kind}_sum'))})"
        for kind, values in found.items()
    )
    return judge(criteria, list(found["center"].values()), f"errors of the sum: {listed}")


def _c9(results: SweepResults) -> Finding:
    cost = []
    for seed, optimized in _of(results, "6.1", "cpu_s").items():
        fixed = results.by_seed("cpu_s", name="6.1", policy="pcs")[seed]
        cost.append(max(0.0, optimized - fixed) / results.by_seed("run_s", name="6.1", policy="pcs")[seed])
    criteria = [Criterion("below 2 % of the time of the run", cost, high=NEGLIGIBLE)]
    return judge(criteria, cost, f"CPU time beyond that of pcs: {_percent(cost)} of the simulated time")


def _of(
    results: SweepResults, name: str, measure: str, policy: str = "optimized", tolerance: float = 0.0
) -> dict[int, float]:
    return results.by_seed(measure, name=name, policy=policy, tolerance=tolerance)


def _error(results: SweepResults, measure: str) -> list[float]:
    return list(results.by_seed(measure, policy="errors").values())


def _ratio(first: BySeed, second: BySeed) -> list[float]:
    return [first[seed] / second[seed] if second[seed] else math.nan for seed in sorted(set(first) & set(second))]


def _by_policy(results: SweepResults, name: str, measure: str) -> str:
    policies = ("pcs", "segment", "simplified-segment", "optimized")
    return ", ".join(f"{one} {fmean(_of(results, name, measure, one).values()):.3g}" for one in policies)


def _mean(samples: Sequence[float]) -> str:
    return f"{estimate(samples).mean:.3g}"


def _percent(samples: Sequence[float]) -> str:
    return f"{100 * estimate(samples).mean:.2g} %"


_CLAIMS = (
    ("section 6.1", "Figures 6.1, 6.2", "one switch from segment to pcs, then pcs's latency, no further switch", _c1),
    (
        "section 6.2.1",
        "Figures 6.3 to 6.5",
        "pcs for a must-latency; a memory that nobody cares about has no effect",
        _c2,
    ),
    (
        "section 6.2.2",
        "Figures 6.6, 6.7",
        "both must: segment once memory is violated, memory falls, latency kept",
        _c3,
    ),
    ("section 6.3", "Figures 6.8, 6.9", "a higher tolerance gives lower latency and memory; shed only after pcs", _c4),
    ("section 6.3", "Figures 6.10, 6.11", "lax at first: no change; then switch, then shed; a smaller gain", _c5),
    ("section 6.4", "Figure 6.12", "random shedding: the error of a sum is about the tolerance", _c6),
    ("section 6.4", "Figure 6.13", "random shedding: the error of an average is far below the tolerance", _c7),
    ("section 6.4", "Figures 6.14, 6.15", "semantic shedding: smaller errors than random; center the largest", _c8),
    ("section 6.5", "no figure", "optimizer and shedders cost next to nothing", _c9),
)
CLAIMS = tuple(
    PaperClaim(f"MAVSTREAM-C{number}", f"{PAPER}, {section}", figure, text, check)
    for number, (section, figure, text, check) in enumerate(_CLAIMS, start=1)
)
