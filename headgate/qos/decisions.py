"""What the optimizer decided for a query, and why: in the report, in the log, and for the runtime to carry out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from headgate.plan.model import Edge
from headgate.plan.quality import MeasureName

Kind = Literal["switch", "shed more", "shed less", "stop shedding"]
_UNITS: dict[MeasureName, tuple[float, str]] = {
    "latency": (1e3, "ms"),
    "memory": (2**-20, "MB"),
    "throughput": (1.0, "results/s"),
}


class Step(NamedTuple):
    """A change of what is dropped at one queue."""

    edge: Edge
    extra: int  # from now on; see `SheddingChanged`
    before: float  # the share that was dropped,
    after: float  # and the share from now on


@dataclass(frozen=True)
class Decision:
    """One decision. `violated` are the measures that it is meant to mend; empty: all promises are kept."""

    at: float
    query: str
    kind: Kind
    before: str | float  # the policy, or the share that is dropped
    after: str | float
    violated: tuple[MeasureName, ...] = ()
    expected: Mapping[MeasureName, float] = field(default_factory=dict)
    measured: Mapping[MeasureName, float | None] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)  # of the policies, if it was about them
    step: Step | None = None  # if it is about what is dropped
    note: str = ""  # what else led to it

    @property
    def reason(self) -> str:
        """One sentence for people."""
        missed = [
            f"{name} is {_shown(name, value)}, expected {_shown(name, self.expected[name])}"
            for name in self.violated
            if (value := self.measured.get(name)) is not None
        ]
        parts = [" and ".join(missed)] if missed else ["all promises are kept"] if self.measured else []
        if self.scores and isinstance(self.after, str):
            found = sorted(self.scores.items(), key=lambda one: -one[1])[:4]
            parts.append("scores " + ", ".join(f"{policy} {score:.3g}" for policy, score in found))
        if self.note:
            parts.append(self.note)
        return "; ".join(parts)

    def as_data(self) -> dict[str, Any]:
        """For the report."""
        data: dict[str, Any] = {"at": self.at, "query": self.query, "kind": self.kind}
        data |= {"from": self.before, "to": self.after, "reason": self.reason, "violated": list(self.violated)}
        data |= {"expected": dict(self.expected), "measured": dict(self.measured)}
        if self.scores:
            data["scores"] = dict(self.scores)
        if self.step is not None:
            data["operator"] = self.step.edge.operator
        return data


def _shown(name: MeasureName, value: float) -> str:
    factor, unit = _UNITS[name]
    return f"{shown(value * factor)} {unit}"


def shown(value: float) -> str:
    """About three digits, and never as a power of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
