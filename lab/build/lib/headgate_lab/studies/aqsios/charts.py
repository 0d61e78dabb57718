"""Figures of the AQSIOS study: boxes by class, responses over time, responses by the number of cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from headgate.charts.boxes import Box
from headgate_lab.studies.aqsios.readings import classes, series_by_seed
from headgate_lab.studies.aqsios.runs import BUCKET_S
from headgate_lab.studies.aqsios.scalability import OVERLOAD, QUERIES, RATES, SCHEDULER, cores_of, weighted_series
from headgate_lab.studies.aqsios.single_and_dual import ADAPTIVE, DUAL_INTERPRETATIONS, SINGLE_INTERPRETATIONS
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import BoxChart, Chart

_RESPONSE = "response, ms"
_CLASS = "class, from the most important"
# Figure number, workload, whether inputs are in step, and schedulers by their names in the dissertation.
_SINGLE = {"RR": "RR", "HR": "HR", "CQC": "CQC single"}
_BOXES: Sequence[tuple[int, str, bool, Mapping[str, str]]] = (
    (5, "A", SINGLE_INTERPRETATIONS[0].in_step, _SINGLE),
    (6, "B", SINGLE_INTERPRETATIONS[0].in_step, _SINGLE),
    (7, "C", SINGLE_INTERPRETATIONS[0].in_step, _SINGLE),
    (9, "D", DUAL_INTERPRETATIONS[0].in_step, {name: name for name in ("CQC", "ABD", "WeHR")}),
    (10, "E", DUAL_INTERPRETATIONS[0].in_step, {name: name for name in ("CQC", "ABD")}),
    (11, "F", DUAL_INTERPRETATIONS[0].in_step, {name: name for name in ("CQC", "ABD")}),
    (12, "5G", DUAL_INTERPRETATIONS[0].in_step, {name: name for name in ("CQC", "ABD")}),
)
_COMPARED = ("PCT", "PCT_S", "MORR", "MRR", "ML", "MOL", "MBD", "MPRR")
_COMPARISONS = ((21, "5G_4"), (30, "3D_6"), (40, "3E_6"), (50, "3F_6"), (60, "5I"))
_PIAT = ("PCT", "PCT_S", "MRR", "MORR", "ML", "MOL", "MPRR", "MBD", "MBD_DVP_SA_UP", "MBD_DSP_SA_UP")


def charts(results: SweepResults) -> list[Chart]:
    """Every figure for which there are runs."""
    found: list[Chart | None] = [_by_scheduler(results, *row) for row in _BOXES]
    found += [
        _by_scheduler(results, number, workload, True, {name: name for name in _COMPARED})
        for number, workload in _COMPARISONS
    ]
    found += [
        _over_time(
            results, "figure-14", "5G while the rate of class 1 changes, ABD (Figure 14)", "5G", "ABD", ADAPTIVE
        ),
        _by_cores(results, 70, QUERIES, "queries and cores grow"),
        _by_cores(results, 76, RATES, "rates and cores grow"),
        _overload(results),
    ]
    found += [
        _over_time(results, f"figure-{124 + at}", f"PIAT, {name} (Figure {124 + at})", "5L", name, "piat")
        for at, name in enumerate(_PIAT)
    ]
    return [chart for chart in found if chart is not None]


def _by_scheduler(
    results: SweepResults, number: int, workload: str, in_step: bool, schedulers: Mapping[str, str]
) -> Chart | None:
    """Boxes of a workload: one group per class, one box per scheduler."""
    rows = {label: _rows(results, workload, name, in_step=in_step) for label, name in schedulers.items()}
    boxes = {label: [_box(of, k) for k in classes(workload)] for label, of in rows.items() if of}
    return _boxes(f"figure-{number:02}", f"{workload} (Figure {number})", workload, boxes)


def _by_cores(results: SweepResults, number: int, family: str, title: str) -> Chart | None:
    """Boxes of a family of workloads: one group per class, one box per number of cores."""
    boxes = {}
    for n in cores_of(results, family):
        rows = _rows(results, f"{family}_{n}", SCHEDULER)
        boxes[f"{n} cores"] = [_box(rows, k) for k in classes(f"{family}_{n}")]
    return _boxes(f"figure-{number}", f"{title} (Figure {number})", f"{family}_4", boxes)


def _boxes(name: str, title: str, workload: str, boxes: Mapping[str, Sequence[Box | None]]) -> Chart | None:
    if not any(box is not None for row in boxes.values() for box in row):
        return None
    groups = [str(k) for k in classes(workload)]
    return BoxChart(name, title, _CLASS, _RESPONSE, {}, log_y=True, groups=groups, boxes=boxes)


def _rows(
    results: SweepResults, workload: str, scheduler: str, *, in_step: bool = True, profile: str = ""
) -> list[Mapping[str, Any]]:
    wanted = {"workload": workload, "scheduler": scheduler, "in_step": in_step, "profile": profile, "low": 0}
    return [row for row in results.rows if all(row.get(key) == value for key, value in wanted.items())]


def _box(rows: Sequence[Mapping[str, Any]], k: int) -> Box | None:
    """Each percentile of a class, averaged over seeds."""
    known = [row for row in rows if row[f"mean_{k}"] is not None]
    if not known:
        return None
    return Box(*(1e3 * fmean(row[f"{field}_{k}"] for row in known) for field in Box._fields))


def _over_time(
    results: SweepResults, name: str, title: str, workload: str, scheduler: str, profile: str
) -> Chart | None:
    """The mean of each class over time, one line per class."""
    wanted = {"workload": workload, "scheduler": scheduler, "profile": profile, "in_step": True, "low": 0}
    lines = {}
    for k in classes(workload):
        found = series_by_seed(results, f"series_{k}", **wanted)
        if found:
            lines[f"class {k}"] = _line(list(found.values()))
    return Chart(name, title, "time, s", _RESPONSE, lines, log_y=True) if lines else None


def _overload(results: SweepResults) -> Chart | None:
    lines = {
        f"{n} cores": _line(list(weighted_series(results, f"{OVERLOAD}_{n}").values()))
        for n in cores_of(results, OVERLOAD)
    }
    title = "rates grow over time, weighted mean (Figure 83)"
    return Chart("figure-83", title, "time, s", _RESPONSE, lines, log_y=True) if lines else None


def _line(found: Sequence[Sequence[float | None]]) -> list[tuple[float, list[float]]]:
    """The mean over seeds in each tenth of a second, without intervals: a hundred of them would hide the line."""
    line = []
    for at in range(max(map(len, found))):
        known = [value for series in found if at < len(series) and (value := series[at]) is not None]
        if known:
            line.append(((at + 0.5) * BUCKET_S, [1e3 * fmean(known)]))
    return line
