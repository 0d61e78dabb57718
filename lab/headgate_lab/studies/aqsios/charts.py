"""Figures of the AQSIOS study: boxes by class, responses over time, responses by the number of cores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from headgate.charts.boxes import Box
from headgate_lab.studies.aqsios.over_time import weighted_series
from headgate_lab.studies.aqsios.quantities import Found, Runs
from headgate_lab.studies.aqsios.readings import AS_JUDGED
from headgate_lab.studies.aqsios.runs import BUCKET_S
from headgate_lab.studies.aqsios.table import COMPARED
from headgate_lab.studies.claims import SweepResults
from headgate_lab.studies.figures import BoxChart, Chart

_RESPONSE = "response, ms"
_CLASS = "class, from the most important"
_SINGLE = {"RR": "RR", "HR": "HR", "CQC": "CQC single"}
_DUAL = {"D": ("CQC", "ABD", "WeHR"), "E": ("CQC", "ABD"), "F": ("CQC", "ABD"), "5G": ("CQC", "ABD")}
_MULTI = {21: "5G_4", 30: "3D_6", 40: "3E_6", 50: "3F_6", 60: "5I"}
_PIAT = ("PCT", "PCT_S", "MRR", "MORR", "ML", "MOL", "MPRR", "MBD", "MBD_DVP_SA_UP", "MBD_DSP_SA_UP")
_OVERLOAD = {f"{n} cores": Runs(f"5O_{n}", "MBD") for n in (2, 4, 8, 16)}
# Figure number, what it is about, and its runs by label: one group of boxes per class.
_BOXES: Sequence[tuple[int, str, Mapping[str, Runs]]] = (
    *((5 + at, w, {name: Runs(w, of, in_step=False) for name, of in _SINGLE.items()}) for at, w in enumerate("ABC")),
    *((9 + at, w, {name: Runs(w, name) for name in names}) for at, (w, names) in enumerate(_DUAL.items())),
    *((number, w, {name: Runs(w, name) for name in COMPARED}) for number, w in _MULTI.items()),
    (70, "queries and cores grow", {f"{n} cores": Runs(f"5S_{n}", "MBD") for n in (2, 3, 4, 8, 16)}),
    (76, "rates and cores grow", {f"{n} cores": Runs(f"5G_{n}", "MBD") for n in (2, 4, 8, 16)}),
)
_OVER_TIME: Sequence[tuple[int, str, Runs]] = (
    (14, "5G while the rate of class 1 changes, ABD", Runs("5G", "ABD", profile="adaptive")),
    *((124 + at, f"PIAT, {name}", Runs("5L", name, profile="piat")) for at, name in enumerate(_PIAT)),
)


def charts(results: SweepResults) -> list[Chart]:
    """Every figure for which there are runs."""
    found = Found(results, AS_JUDGED)
    made: list[Chart | None] = [_boxes(found, *row) for row in _BOXES]
    made += [_over_time(found, *row) for row in _OVER_TIME]
    return [chart for chart in (*made, _overload(found)) if chart is not None]


def _boxes(found: Found, number: int, title: str, several: Mapping[str, Runs]) -> Chart | None:
    rows = {label: (runs, list(found.rows(runs).values())) for label, runs in several.items()}
    boxes = {label: [_box(of, k) for k in runs.classes] for label, (runs, of) in rows.items() if of}
    if not any(box is not None for row in boxes.values() for box in row):
        return None
    groups = [str(k) for k in next(iter(several.values())).classes]
    name, title = f"figure-{number:02}", f"{title} (Figure {number})"
    return BoxChart(name, title, _CLASS, _RESPONSE, {}, log_y=True, groups=groups, boxes=boxes)


def _box(rows: Sequence[Mapping[str, Any]], k: int) -> Box | None:
    """Each percentile of a class, averaged over seeds."""
    known = [row for row in rows if row[f"mean_{k}"] is not None]
    if not known:
        return None
    return Box(*(1e3 * fmean(row[f"{field}_{k}"] for row in known) for field in Box._fields))


def _over_time(found: Found, number: int, title: str, runs: Runs) -> Chart | None:
    """The mean of each class over time, one line per class."""
    rows = found.rows(runs).values()
    lines = {f"class {k}": _line([row[f"series_{k}"] for row in rows]) for k in runs.classes if rows}
    name, title = f"figure-{number}", f"{title} (Figure {number})"
    return Chart(name, title, "time, s", _RESPONSE, lines, log_y=True) if lines else None


def _overload(found: Found) -> Chart | None:
    several = {label: found.rows(runs).values() for label, runs in _OVERLOAD.items()}
    lines = {label: _line([weighted_series(row) for row in rows]) for label, rows in several.items() if rows}
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
