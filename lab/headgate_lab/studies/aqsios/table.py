"""The table of claims, `claims.yaml`, as the study asks and judges them, and the parts that no line of it can say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from headgate.policies.broadcast import broadcast_schedule
from headgate_lab.studies.aqsios import readings
from headgate_lab.studies.aqsios.grammar import Where
from headgate_lab.studies.aqsios.parts import Asked, Part, highest, inside, lowest, lowest_of, none, shown, some
from headgate_lab.studies.aqsios.quantities import Found, Quantity, combined, largest
from headgate_lab.studies.aqsios.runs import LEVELS
from headgate_lab.studies.aqsios.workload import data
from headgate_lab.studies.claims import Cause, Finding, Reason, SweepResults, judge
from headgate_lab.studies.judging import NOTHING

MODULES = ("DVP", "IVP", "DSP", "ISP")
COMPARED = ("MBD", "MRR", "MORR", "ML", "MOL", "MPRR", "PCT", "PCT_S")
EXAMPLE = {"A": 5, "B": 4, "C": 3, "D": 2, "E": 1}  # class -> priority in figure 8


@cache
def table() -> tuple[Asked, ...]:
    """Every claim, in the order of the dissertation."""
    found = data("claims.yaml")
    return tuple(_asked(name, found["kinds"][name.rsplit("-", 1)[0]], row) for name, row in found["claims"].items())


def _asked(name: str, kind: Mapping[str, Any], row: Mapping[str, Any]) -> Asked:
    given = {**kind, **row, **row.get("with", {})}
    where = Where(given.get("workload", ""), given.get("low", 0), given.get("profile", ""), given.get("in_step", True))
    parts = where.parts(given.get("parts", ()))
    if "made" in given:
        function, *words = given["made"].split()
        parts += _MADE[function](where, *words)
    reason: Reason | None = next((one for one in get_args(Reason) if one in given), None)
    return Asked(
        name,
        given["figure"],
        given["text"],
        parts,
        given["section"],
        [getattr(readings, one) for one in given.get("readings", ())],
        shown=[where.runs(one) for one in given.get("shown", ())],
        fitted=given.get("fitted", False),
        tried=given.get("tried", 1),
        cause=Cause(reason, given[reason]) if reason else None,
        note=given.get("note", ""),
    )


def finding(*lines: str, in_step: bool = True) -> Callable[[SweepResults], Finding]:
    """The check of a headline: lines in the language of the table, on runs that claims ask for."""
    parts = Where(in_step=in_step).parts(lines)

    def check(results: SweepResults) -> Finding:
        found = Found(results, readings.AS_JUDGED)
        measured = "; ".join(f"{part.what}: {shown(part.samples(found))}" for part in parts)
        return judge([part.criterion(found) for part in parts], parts[0].samples(found), measured)

    return check


def waits(schedule: Sequence[str], name: str) -> int:
    """The most slices of other classes between two slices of one class in a schedule that repeats."""
    places = [at for at, other in enumerate(schedule) if other == name]
    following = [*places[1:], places[0] + len(schedule)]
    return max(after - before - 1 for before, after in zip(places, following, strict=True))


def _example(where: Where) -> list[Part]:
    """Figure 8: how long class A waits."""

    def waiting(what: str, schedule: Sequence[str], least: float, most: float) -> Part:
        slices = float(waits(schedule, "A"))  # the same in every run: given twice so that there is an interval
        return inside(Quantity(f"{what}: slices that A waits", (), lambda found: {0: slices, 1: slices}), least, most)

    turns = [name for name, priority in EXAMPLE.items() for _ in range(priority)]
    return [
        waiting("ABD", broadcast_schedule(EXAMPLE.items()), -0.5, 4.5),
        waiting("ABD with the other order of slots", broadcast_schedule(EXAMPLE.items(), "coincident"), -0.5, 4.5),
        waiting("CQC", turns, 9.5, 10.5),
    ]


def _fastest(where: Where) -> list[Part]:
    """On each workload no scheduler without inversion at any level is faster than MBD. This is counted by seed, as each
    seed may have other rivals: the interval of a ratio to now the one, now the other would say nothing."""

    def on(workload: str) -> Part:
        mbd, *rivals = (where.runs(f"{name}@{workload}") for name in COMPARED)

        def lead(*values: float) -> float:
            inverted, ratios = values[: len(rivals)], values[len(rivals) :]
            leads = [1.0 - r for i, r in zip(inverted, ratios, strict=True) if not i > NOTHING]
            return largest([0.0, *leads])

        several = [*(rival.inversion(LEVELS) for rival in rivals), *(rival.weighted / mbd.weighted for rival in rivals)]
        return none(combined(lead, several, f"lead over MBD of another without inversion on {workload}"))

    return [on(workload) for workload in ("5G_4", "3D_6", "3E_6", "3F_6", "5I")]


def _modules(where: Where, quickest: str, level: str, *said: str) -> list[Part]:
    """What the dissertation reports of the four modules in one experiment: which of them end without inversion, whose
    weighted time is the `least`, the `most` and `closest` to that of MBD alone, and who has the fewest updates, the
    last of them soonest."""
    named = {name: names.split(",") for name, names in (one.split("=") for one in said)}
    at = "" if level == "mean" else f"_{level}"
    runs = {name: where.runs(f"MBD_{name}{at}") for name in MODULES}
    inverted = {name: one.inversion((level,)) for name, one in runs.items()}
    weighted = {name: one.weighted for name, one in runs.items()}
    parts = [none(one) if name in named["corrected"] else some(one) for name, one in inverted.items()]
    for name in named.get("most", ()):
        parts += highest(weighted[name], list(weighted.values()))
    if least := named.get("least"):
        parts += lowest_of([weighted[n] for n in least], [weighted[n] for n in MODULES if n not in least])
    for name in named.get("closest", ()):
        plain = where.runs("MBD").weighted
        away = {n: combined(lambda a, b: abs(a - b), (one, plain), f"{n} from MBD") for n, one in weighted.items()}
        parts += lowest(away[name], list(away.values()))
    for measure in ("updates", "updated_at"):
        all_of_it = [where.quantity(f"MBD_{name}{at} {measure}") for name in MODULES]
        parts += lowest(all_of_it[MODULES.index(quickest)], all_of_it)
    return parts


_MADE: Mapping[str, Callable[..., list[Part]]] = {"example": _example, "fastest": _fastest, "modules": _modules}
