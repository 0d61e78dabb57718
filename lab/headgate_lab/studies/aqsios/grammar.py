"""The lines of the table of claims (`claims.yaml`), read as parts of claims.

A line is `QUANTITY RELATION QUANTITY` or `QUANTITY RELATION NUMBER`. It may begin with values for letters, `s=MRR,MORR
k=1..3:`, and then stands for one part for each combination.

| relation | the part |
|---|---|
| `near`, `above`, `below` a number | a published number, or a published bound that was measured (`judging`) |
| `<`, `>` a number | a bound that is our reading of a word, or exact |
| `<` a quantity, `by` a number | less, seed by seed, by more than this factor |
| `less` | less, for quantities that may be 0 |
| `like`, `within` a number | the same within this factor |
| `starves beside`, `does not starve beside` | more, or not more, than 3 times the other |
| `none`, `some` (in front) | none, or some of it, in four of five seeds |
| `chance` (in front) | left open: classes are alike to this scheduler, so which of them is first is chance |
| `open WHAT: WHY` | left open |
| `spread MEASURE of RUNS` | the largest over the smallest |

A quantity is `SCHEDULER[@WORKLOAD] MEASURE ARGUMENTS`, or two of them with `/`, `under` (by how many percent) or
`beyond`; a `!` behind it says that it grows as long as an overload lasts. Numbers may be the names of `readings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from headgate_lab.studies.aqsios import over_time, parts, readings
from headgate_lab.studies.aqsios.parts import Part
from headgate_lab.studies.aqsios.quantities import Quantity, Runs, combined, over_all, unevenness
from headgate_lab.studies.aqsios.runs import LEVELS

_CHANCE = "its classes are alike to it, so which one comes first is chance"
_RELATIONS = re.compile(r" (near|above|below|less|like|does not starve beside|starves beside|<|>) ")

MEASURES: Mapping[str, Callable[..., Quantity]] = {
    "weighted": lambda runs: runs.weighted,
    "weighted_p90": lambda runs: runs.measure("weighted_p90", "weighted p90"),
    "starvation": lambda runs: runs.starvation,
    "uneven": lambda runs: runs.unevenness,
    "inversion": Runs.inversion,
    "inversion_p75": lambda runs: runs.inversion(("p75",)),
    "inversion_all": lambda runs: runs.inversion(LEVELS),
    "width": lambda runs, k: runs.width(int(k)),
    "widest": parts.widest,
    "updates": lambda runs: runs.measure("updates", "updates", 1.0),
    "updated_at": lambda runs: runs.measure("updated_at", "last update, ms,"),
    "growth": lambda runs, k: over_time.growth(runs, int(k)),
    "peak": lambda runs, k: over_time.peak(runs, int(k)),
    "least_rise": lambda runs, k: over_time.least_rise(runs, int(k)),
    "varies": over_time.fluctuation,
    "stage": lambda runs, at, k: over_time.in_stage(runs, int(at) - 1, int(k)),
    "stage_inversion": lambda runs, *at: over_time.stage_inversion(runs, *(int(one) - 1 for one in at)),
    "over_time": over_time.inversion_over_time,
    "first_outside": lambda runs, burst: over_time.first_over_least(runs, 0.5, burst, inside=False),
    "first_inside": lambda runs, burst: over_time.first_over_least(runs, 0.5, burst, inside=True),
    "calm": lambda runs: over_time.on_ramp(runs, "calm response", over_time.calm, 1e3),
    "rise": lambda runs: over_time.on_ramp(runs, "rise, s", over_time.knee),
    "runaway": lambda runs: over_time.on_ramp(runs, "end over calm response", over_time.runaway),
    **{
        level: lambda runs, k, level=level: runs.mean(int(k), level)
        for level in ("mean", "p10", "p25", "p50", "p75", "p90", "p95")
    },
}


@dataclass(frozen=True)
class Where:
    """What the runs of a claim have in common, where a line does not say otherwise."""

    on: str = ""
    low: int = 0
    profile: str = ""
    in_step: bool = True

    def runs(self, text: str) -> Runs:
        """The runs of `MBD`, `MBD@5S_2`, or `MBD@usual`: at the usual rate. On one core CQC is "CQC single"."""
        name, _, workload = text.partition("@")
        low = 0 if workload == "usual" else self.low
        scheduler = "CQC single" if name == "CQC" and not self.in_step else name
        workload = self.on if workload in ("", "usual") else workload
        label = f"{name} on {workload}" if "@" in text else name
        return Runs(workload, scheduler, low, self.profile, self.in_step, name=label)

    def quantity(self, text: str) -> Quantity:
        """The quantity that a text names."""
        for sign, of in _SIGNS.items():
            first, found, second = text.removesuffix("!").partition(f" {sign} ")
            if found:
                both = self.quantity(first), self.quantity(second)
                made = (
                    both[0] / both[1]
                    if sign == "/"
                    else combined(of, both, f"{both[0].name} {sign} {both[1].name}, %,")
                )
                return made.long() if text.endswith("!") else made
        runs, measure, *given = text.removesuffix("!").split()
        made = MEASURES[measure](self.runs(runs), *map(float, given))
        return made.long() if text.endswith("!") else made

    def parts(self, lines: Sequence[str]) -> list[Part]:
        """The parts of a claim."""
        return [self._part(one) for line in lines for one in expanded(line)]

    def _part(self, line: str) -> Part:
        head, _, rest = line.partition(" ")
        if head in ("none", "some"):
            return (parts.none if head == "none" else parts.some)(self.quantity(rest))
        if head == "chance":
            quantity = self.quantity(rest)
            return parts.left_open(f"some {quantity.name}", _CHANCE, quantity)
        if head == "open":
            what, _, why = rest.partition(": ")
            return parts.left_open(what, why)
        if head == "spread":
            measure, several, limit = re.split(" of | < ", rest)
            of_each = [self.quantity(f"{runs} {measure}") for runs in several.split(", ")]
            return parts.inside(over_all(unevenness, of_each, f"{measure}, largest over smallest"), high=number(limit))
        return self._compared(line)

    def _compared(self, line: str) -> Part:
        left, sign, right = _RELATIONS.split(line, maxsplit=1)
        first = self.quantity(left)
        if re.fullmatch(r"[A-Z_]+|[-\d.]+", right):
            return _BOUNDS[sign](first, number(right))
        right, factor = [*re.split(" by | within ", right), "1"][:2]
        return _ORDERS[sign](first, self.quantity(right), number(factor))


_BOUNDS: Mapping[str, Callable[[Quantity, float], Part]] = {
    "near": parts.near,
    "above": parts.above,
    "below": parts.below,
    "<": lambda quantity, bound: parts.inside(quantity, high=bound),
    ">": lambda quantity, bound: parts.inside(quantity, low=bound),
}
_ORDERS: Mapping[str, Callable[[Quantity, Quantity, float], Part]] = {
    "<": parts.faster,
    "like": parts.alike,
    "less": lambda first, second, _: parts.less(first, second),
    "starves beside": lambda first, second, _: parts.starves(first, second),
    "does not starve beside": lambda first, second, _: parts.does_not_starve(first, second),
}
_SIGNS: Mapping[str, Callable[[float, float], float]] = {
    "under": lambda a, b: 100 * (1 - a / b),
    "beyond": lambda a, b: 100 * (a / b - 1),
    "/": lambda a, b: a / b,
}


def expanded(line: str) -> Iterator[str]:
    """The lines that a line stands for: `k=1..3 s=A,B: s mean k` is six."""
    match = re.fullmatch(r"((?:[a-z]=\S+ ?)+): (.*)", line)
    if match is None:
        yield line
        return
    given = [one.split("=", 1) for one in match[1].split()]
    for chosen in product(*(_values(values) for _, values in given)):
        found = match[2]
        for (letter, _), value in zip(given, chosen, strict=True):
            found = re.sub(rf"(?<![a-zA-Z0-9]){letter}(?![a-zA-Z0-9])", value, found)
        yield found


def _values(text: str) -> list[str]:
    if ".." in text:
        first, last = map(int, text.split(".."))
        return [str(one) for one in range(first, last + 1)]
    return text.split(",")


def number(text: str) -> float:
    """A number, or the name of one in `readings`."""
    value: Any = getattr(readings, text, None)
    return float(text if value is None else value)
