"""Worlds for the AQSIOS study: made-up results, as the dissertation says or against a claim."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headgate_lab.studies.aqsios import TABLE, points
from headgate_lab.studies.aqsios.over_time import stages
from headgate_lab.studies.aqsios.quantities import priorities
from headgate_lab.studies.aqsios.runs import LEVELS
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.study import Profile

Row = dict[str, Any]
World = Callable[[Row], Row]
Other = Callable[[World, Row], Row]
FULL = Profile("made up", tuples=10_000, seeds=4)
VARIANTS = (" cumulative", " real", " largest", " literal", " unlimited", " polling", " whole queues", " single")


def plain(scheduler: str) -> str:
    """A scheduler without the reading of it."""
    for suffix in VARIANTS:
        scheduler = scheduler.removesuffix(suffix)
    return scheduler


def kind(claim: str) -> str:
    """`PI` of `PI-3`."""
    return claim.rsplit("-", 1)[0]


def as_the_dissertation_says(claim: str) -> World:
    """What the runs of a claim would have measured there. Claims share runs, and the tables below are of experiments,
    so each kind of claim has a world of its own."""
    return {"CMP": compared, "CQC": on_cores, "ABD": on_cores, "SC": on_cores}.get(kind(claim), changing)


def judged(
    ids: Iterable[str], world: Callable[[World, Row], Row] = lambda usual, one: usual(one), profile: Profile = FULL
) -> dict[str, Row]:
    """Claims judged on made-up rows with a little noise by seed. `world` gets what the dissertation says of a run, as a
    function, and the run."""
    found = {}
    for asked in (asked for asked in TABLE if asked.id in ids):
        usual = as_the_dissertation_says(asked.id)
        rows = [
            one | {name: scaled(value, 1 + 0.001 * one["seed"]) for name, value in world(usual, one).items()}
            for one in points(profile, [asked])
        ]
        found[asked.id] = asked.claim().judged(SweepResults(rows))
    return found


def scaled(value: Any, factor: float) -> Any:
    if isinstance(value, list):
        return [scaled(one, factor) for one in value]
    return None if value is None else factor * value


# Section 6.3.1

# Class means in milliseconds, and inversion, in the dissertation's world.
WORLD: dict[str, dict[str, tuple[tuple[float, ...], float]]] = {
    "5G_4": {
        "MBD": ((1.2, 1.8, 3.2, 3.8, 4.7), 0.0),
        "MRR": ((1.9, 2.0, 2.1, 2.0, 1.95), 0.1),
        "MORR": ((7.0, 7.5, 8.0, 7.5, 7.2), 0.1),
        "ML": ((1.5, 2.2, 4.0, 5.0, 6.0), 0.05),
        "MOL": ((8.0, 8.0, 9.0, 8.0, 8.0), 0.2),
        "MPRR": ((9.0, 12.0, 17.0, 26.0, 50.0), 0.0),
        "PCT": ((1.3, 1.7, 6.8, 2.7, 1.4), 4.5),
        "PCT_S": ((1.3, 1.7, 6.8, 2.7, 1.4), 4.5),
    },
    "3D_6": {
        "MBD": ((1.3, 2.2, 6.3), 0.0),
        "MRR": ((1.9, 1.9, 1.95), 0.01),
        "MORR": ((5.0, 5.0, 5.0), 0.01),
        "ML": ((4.0, 5.0, 12.0), 0.0),
        "MOL": ((20.0, 20.0, 20.0), 0.015),
        "MPRR": ((3.0, 9.0, 30.0), 0.0),
        "PCT": ((600.0, 600.0, 600.0), 0.01),
        "PCT_S": ((2.1, 2.1, 2.5), 0.021),
    },
    "3E_6": {
        "MBD": ((1.3, 2.0, 4.7), 0.0),
        "MRR": ((2.0, 2.0, 2.0), 0.005),
        "MORR": ((5.0, 5.0, 5.0), 0.009),
        "ML": ((2.0, 3.0, 8.0), 0.004),
        "MOL": ((12.0, 12.0, 12.0), 0.002),
        "MPRR": ((4.9, 8.0, 17.0), 0.0),
        "PCT": ((200.0, 600.0, 900.0), 0.0),
        "PCT_S": ((4.0, 10.0, 492.0), 0.0),
    },
    "3F_6": {
        "MBD": ((1.9, 2.1, 2.6), 0.0),
        "MRR": ((2.0, 2.0, 2.0), 0.01),
        "MORR": ((5.0, 5.0, 5.0), 0.01),
        "ML": ((3.0, 4.0, 10.0), 0.01),
        "MOL": ((12.0, 12.0, 12.0), 0.01),
        "MPRR": ((7.0, 12.0, 30.0), 0.0),
        "PCT": ((900.0, 600.0, 200.0), 0.3),
        "PCT_S": ((480.0, 10.0, 4.0), 63.5),
    },
    "5I": {
        "MBD": ((1.0, 1.5, 2.4, 2.8, 6.2), 0.0),
        "MRR": ((2.0,) * 5, 0.01),
        "MORR": ((6.0,) * 5, 0.01),
        "ML": ((3.0, 4.0, 6.0, 8.0, 20.0), 0.01),
        "MOL": ((12.0,) * 5, 0.01),
        "MPRR": ((8.0, 15.0, 25.0, 40.0, 90.0), 0.0),
        "PCT": ((40.0, 5.0, 230.0, 5.0, 6.0), 60.9),
        "PCT_S": ((0.125, 5.0, 230.0, 5.0, 6.0), 50.0),
    },
}
PERCENTILES = {"p10": 0.5, "p25": 0.7, "p50": 0.9, "p75": 1.2, "p90": 2.0, "p95": 2.4}  # of the mean


def compared(point: Row) -> Row:
    """What a run would have measured in the dissertation's world."""
    named = plain(point["scheduler"])
    means, inversion = WORLD[point["workload"]][named]
    weights = priorities(point["workload"])
    found: Row = {f"inversion_{level}": inversion for level in LEVELS}
    found["weighted_mean"] = sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights) * 1e-3
    found["starvation"] = means[-1] / means[0]
    for k, mean in enumerate(means, start=1):
        found[f"mean_{k}"] = mean * 1e-3
        found |= {f"{p}_{k}": mean * share * 1e-3 for p, share in PERCENTILES.items()}
        found[f"series_{k}"] = [mean * 1e-3] * 90
    if point["workload"] == "5G_4" and named == "MPRR":
        found["series_5"] = [0.001 * (1 + at) for at in range(90)]  # starves
    if point["workload"] == "3D_6" and named == "ML":
        found |= {"p50_3": 6.2e-3, "p95_3": 40e-3}
    return found


# Chapters 4 and 5, and growing numbers of cores

SINGLE = {  # class means in ms
    ("A", "HR"): (94, 50, 50),
    ("A", "CQC"): (10, 60, 90),
    ("B", "HR"): (198, 100, 100),
    ("B", "CQC"): (10, 50, 150),
    ("C", "HR"): (193, 100, 100),
    ("C", "CQC"): (10, 50, 200),
}
DUAL = {  # class means, weighted mean and inversion
    ("D", "CQC"): ((5.0, 5.2, 5.5), 5.1, 0.0),
    ("D", "ABD"): ((3.17, 5.0, 8.0), 4.48, 0.0),
    ("D", "WeHR"): ((2.85, 10, 2500), 116.0, 0.0),
    ("E", "CQC"): ((4.0, 2.0, 9.0), 4.0, 2.0),
    ("E", "ABD"): ((1.91, 2.2, 3.0), 2.28, 0.0),
    ("F", "CQC"): ((5.0, 6.0, 7.0), 6.0, 0.0),
    ("F", "ABD"): ((3.07, 4.0, 9.0), 4.58, 0.0),
    ("5G", "CQC"): ((3.0, 2.6, 2.4, 2.6, 2.8), 2.7, 0.4),
    ("5G", "ABD"): ((1.75, 2.0, 2.2, 3.0, 5.0), 2.18, 0.0),
}
GROWN = (1.4, 1.8, 2.6, 3.06, 4.0)


def on_cores(one: Row) -> Row:
    """What a run would have measured there: the tables above are in milliseconds, the result is in seconds."""
    means, weighted, inversion = _means(one)
    found: Row = {"weighted_mean": weighted / 1e3, "weighted_p90": 3.5e-3, "inversion_mean": inversion}
    for k, mean in enumerate(means, 1):
        found |= {f"mean_{k}": mean / 1e3, f"p10_{k}": mean / 4e3, f"p25_{k}": mean / 3e3, f"p50_{k}": mean / 2e3}
        found |= {f"p75_{k}": mean / 900, f"p90_{k}": mean / 600}
        found[f"series_{k}"] = [_rising(one, k, mean, at / 10) / 1e3 for at in range(100)]
    return found


def _means(one: Row) -> tuple[tuple[float, ...], float, float]:
    workload, scheduler = one["workload"], plain(one["scheduler"])
    family, _, cores = workload.partition("_")
    if cores == "H":
        return (5.0,), 5.0, 0.0
    if scheduler == "RR":
        return (80.0, 80.0, 80.0), 80.0, 0.0
    if (workload, scheduler) in SINGLE:
        return SINGLE[workload, scheduler], 1.0, 0.0
    if one["profile"] == "adaptive":
        return (2.2, 2.46, 2.6, 3.8, 6.9), 3.0, 0.0
    if scheduler.startswith("ABD_"):
        return DUAL["E", "ABD"][0], 1.77, 0.0
    if (workload, scheduler) in DUAL:
        return DUAL[workload, scheduler]
    slower = 4 / int(cores) if family == "5G" else 1.0
    return tuple(slower * level for level in GROWN), slower * 2.15, 0.0


def _rising(one: Row, k: int, mean: float, time: float) -> float:
    if one["profile"] == "adaptive" and k == 1 and 5.5 <= time < 6.0:
        return 10.0
    risen = 100 * (time - 3.5) if one["workload"].startswith("5O") else 0.0
    return mean * (1 + max(0.0, risen))


# Modules and changes

PLAIN = (1.2, 1.8, 3.2, 3.8, 4.7)  # class means of 5G_4 in milliseconds
LOW = {0: PLAIN, 1: (2.0, *PLAIN[1:]), 2: (1.2, 2.5, *PLAIN[2:]), 3: (1.2, 1.8, 4.0, 3.8, 4.7)}
LOW |= {4: (1.2, 1.8, 3.2, 4.6, 4.7), 5: (*PLAIN[:4], 6.0)}
# By low class and level: the modules that keep inversion, their weighted times, their updates.
CORRECTIONS: dict[tuple[int, str], tuple[set[str], dict[str, float], dict[str, int]]] = {
    (1, "mean"): (set(), {"DVP": 1.1, "IVP": 1.2, "ISP": 1.2, "DSP": 1.5}, {"DVP": 5, "IVP": 9, "ISP": 9, "DSP": 8}),
    (3, "mean"): (set(), {"DVP": 1.2, "IVP": 1.05, "ISP": 1.2, "DSP": 1.5}, {"DVP": 9, "IVP": 9, "ISP": 8, "DSP": 5}),
}
_LATE = {"DVP": 9, "IVP": 9, "ISP": 8, "DSP": 5}
CORRECTIONS[1, "p75"] = ({"DVP", "IVP", "ISP"}, {"DVP": 1.1, "IVP": 1.2, "ISP": 1.2, "DSP": 1.5}, _LATE)
CORRECTIONS[2, "p75"] = ({"DVP"}, {"DVP": 1.1, "IVP": 1.2, "ISP": 1.2, "DSP": 1.5}, _LATE)
CORRECTIONS[3, "p75"] = ({"DVP", "IVP", "ISP"}, {"DVP": 1.2, "IVP": 1.1, "ISP": 1.3, "DSP": 1.5}, _LATE)

SELECTING = {  # weighted time, updates
    "MBD": (2.2, 1),
    "MBD_S": (2.0, 5),
    "MBD_DVP": (2.4, 20),
    "MBD_DSP": (2.5, 20),
    "MBD_DVP_S": (2.6, 18),
    "MBD_DSP_S": (2.7, 17),
    "MBD_DVP_SA": (2.3, 12),
    "MBD_DSP_SA": (2.4, 9),
}
CHANGING: dict[tuple[str, str], Sequence[tuple[float, ...]]] = {  # class means in each stage
    ("pr-change", "MBD"): [(2.0, 1.9, 3.0, 4.0, 3.9)] * 3,
    ("pr-change", "MBD_UP"): [(2.0, 1.9, 3.0, 4.0, 3.9), (1.5, 1.9, 3.0, 4.0, 3.9), (1.5, 1.9, 3.0, 4.0, 5.0)],
    ("pr-change-merge", "MBD"): [(1.5, 1.9, 3.0, 4.0, 5.0)] * 3,
    ("pr-change-merge", "MBD_UP"): [(1.5, 1.9, 3.0, 4.0, 5.0)] * 2 + [(1.9, 1.9, 3.0, 4.0, 4.1)],
    ("piat", "PCT"): [(10.0, 12.0, 0.0, 9.0, 9.0)] * 3,  # class 3: see below
    ("piat", "PCT_S"): [(5.0, 12.0, 0.0, 9.0, 9.0)] * 3,
    ("piat", "MRR"): [(4.0, 3.0, 5.0, 2.0, 2.1)] * 3,
    ("piat", "MORR"): [(12.0, 9.0, 15.0, 6.0, 6.3)] * 3,
    ("piat", "ML"): [(5.0, 6.0, 8.0, 7.0, 9.0)] * 3,
    ("piat", "MOL"): [(12.0, 11.0, 15.0, 9.0, 9.5)] * 3,
    ("piat", "MPRR"): [(20.0, 60.0, 70.0, 125.0, 118.0)] * 3,
    ("piat", "MBD"): [(1.5, 3.0, 4.0, 8.0, 7.5)] * 3,
    ("piat", "MBD_DVP_SA_UP"): [(1.5, 3.0, 4.0, 7.5, 7.5)] + [(1.5, 3.0, 4.0, 6.0, 8.0)] * 2,
    ("piat", "MBD_DSP_SA_UP"): [(1.5, 3.0, 4.0, 7.5, 7.5)] + [(1.5, 3.0, 4.0, 6.0, 8.0)] * 2,
}


def _of_classes(means: Sequence[float], weights: Sequence[int]) -> Row:
    found: Row = {"weighted_mean": sum(w * m for w, m in zip(weights, means, strict=True)) / sum(weights) * 1e-3}
    for k, mean in enumerate(means, start=1):
        found |= {f"mean_{k}": mean * 1e-3, f"p75_{k}": mean * 1.2e-3, f"series_{k}": [mean * 1e-3] * 100}
    return found | dict.fromkeys((f"inversion_{level}" for level in LEVELS), 0.0) | {"updates": 1, "updated_at": 0.0}


def _low(one: Row) -> Row:
    means = LOW[one["low"]]
    found = _of_classes(means, priorities("5G_4"))
    if one["low"] == 2:
        found["p75_2"] = 4.5e-3
    if one["low"] in (1, 3):
        found["inversion_mean"] = 0.1
    suffixes = one["scheduler"].removesuffix(" cumulative").split("_")
    if len(suffixes) > 1:
        level = suffixes[2] if len(suffixes) > 2 else "mean"
        kept, weighted, updates = CORRECTIONS[one["low"], level]
        found[f"inversion_{level}"] = 0.05 if suffixes[1] in kept else 0.0
        found["weighted_mean"] *= weighted[suffixes[1]]
        found |= {"updates": updates[suffixes[1]], "updated_at": 0.1 * updates[suffixes[1]]}
    return found


def _course(one: Row) -> Row:
    """Means per 0.1 s, stage by stage, and of the whole run."""
    steps = CHANGING[one["profile"], one["scheduler"]]
    lengths = [round((end - start) / 0.1) for start, end, _ in stages(one["profile"])]
    found = _of_classes(steps[0], priorities(one["workload"]))
    for k in range(1, 6):
        series = [means[k - 1] * 1e-3 for means, length in zip(steps, lengths, strict=True) for _ in range(length)]
        if one["scheduler"] in ("PCT", "PCT_S") and k == 3:
            series = [(0.025 if one["scheduler"] == "PCT" else 0.02) * (at + 1) for at in range(100)]
        if one["scheduler"] == "ML":
            series = [mean * (1.5 if at % 2 else 0.5) for at, mean in enumerate(series)]
        if one["scheduler"] == "MBD_DSP_SA_UP" and k == 4:
            series[72:76] = [9e-3] * 4
        found |= {f"series_{k}": series, f"mean_{k}": sum(series) / len(series)}
    return found


def changing(one: Row) -> Row:
    """What a run would have measured there."""
    if one["profile"] == "sel-change":
        weighted, updates = SELECTING[one["scheduler"]]
        kept = one["scheduler"] in ("MBD", "MBD_S", "MBD_DVP", "MBD_DSP")
        found = _of_classes((1.0, 1.5, 2.4, 2.8, 6.2), priorities("5I"))
        found |= {"weighted_mean": weighted * 1e-3, "updates": updates, "updated_at": 0.1 * updates}
        return found | {"inversion_mean": 0.1 if kept else 0.0}
    if one["profile"]:
        return _course(one)
    if one["workload"] == "5G_4":
        return _low(one)
    found = _of_classes([1.0] * len(priorities(one["workload"])), priorities(one["workload"]))
    slower = {"5S_8_7+2": 1.2, "3D_6": 1.1 if one["scheduler"] == "AMBD" else 1.0}.get(one["workload"], 1.0)
    return found | {"weighted_mean": found["weighted_mean"] * slower}
