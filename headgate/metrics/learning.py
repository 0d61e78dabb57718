"""Statistics learned while running: costs by regression on row counts, selectivities as smoothed ratios.

For an operator with several inputs, `SideFit` finds the selectivity of each side.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from headgate.metrics.side_fit import SideFit
from headgate.metrics.stats import OperatorStats, SideStats, declared_stats
from headgate.plan.model import Edge, Plan
from headgate.plan.operators.base import Operator, Port

START_COST_S = 1e-6  # the initial value when nothing is declared
START_SELECTIVITY_WEIGHT = 100.0  # a declared selectivity counts as much as this many tuples

FORGET = 0.98  # factor on the past at each call: about the last 50 calls count
LOW_SHARE = 0.1  # the fixed cost is what the fastest tenth of all calls stay below
LOW_STEP = 0.05  # how fast the fixed cost follows
CAUTION = 0.1  # how much the work of calls must vary, relative to its mean, before a unit's own slope is trusted


class FixedCost:
    """The fixed cost of a call: the time below which a tenth of all calls stay, whichever unit they run.

    It is estimated over all units. From the calls of one unit it could not be separated from the cost of their tuples:
    when the calls are all of one size, every split of their time fits.
    """

    def __init__(self) -> None:
        self.seconds: float | None = None

    def learn(self, seconds: float) -> None:
        """Update with the time of a call, less what is known to have been spent on its tuples."""
        if self.seconds is None:
            self.seconds = seconds
        elif seconds < self.seconds:
            self.seconds *= 1 - LOW_STEP * (1 - LOW_SHARE)
        else:
            self.seconds *= 1 + LOW_STEP * LOW_SHARE

    def state(self) -> float | None:
        """What was learned, for `restore`, as are the states below: values that JSON can hold."""
        return self.seconds

    def restore(self, state: float | None) -> None:
        """Go on from a state."""
        self.seconds = state


class TimeFit:
    """A straight line fitted to the time of a unit's calls over their work. Old calls fade.

    Work is the time that the initial costs predict for a call's rows, so the slope is the factor to correct them by.
    """

    def __init__(self) -> None:
        self._calls = self._work = self._time = self._squares = self._products = 0.0

    def learn(self, work: float, seconds: float) -> None:
        """Update with one call."""
        self._calls = self._calls * FORGET + 1.0
        self._work = self._work * FORGET + work
        self._time = self._time * FORGET + seconds
        self._squares = self._squares * FORGET + work * work
        self._products = self._products * FORGET + work * seconds

    def slope(self, fixed_s: float = math.inf) -> float:
        """The regression's slope once the work varies; before that, the mean time less the fixed cost, over the work.

        Without a fixed cost, only what the regression has shown so far, which at first is 0.
        """
        if not self._work:
            return 0.0
        work, time = self._work / self._calls, self._time / self._calls
        spread = max(0.0, self._squares / self._calls - work * work)
        together = self._products / self._calls - work * time
        doubt = CAUTION * work * work
        left = max(0.0, time - fixed_s) / work
        return max(0.0, (together + doubt * left) / (spread + doubt))

    def state(self) -> list[float]:
        """See `FixedCost.state`."""
        return [self._calls, self._work, self._time, self._squares, self._products]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a state."""
        self._calls, self._work, self._time, self._squares, self._products = state


class FadingRatio:
    """A ratio of two counts in which old counts fade."""

    def __init__(self, start: float | None) -> None:
        self._over = 0.0 if start is None else start * START_SELECTIVITY_WEIGHT
        self._under = 0.0 if start is None else START_SELECTIVITY_WEIGHT

    def learn(self, over: float, under: float) -> None:
        """Add to the numerator and the denominator."""
        if under > 0:
            self._over = self._over * FORGET + over
            self._under = self._under * FORGET + under

    @property
    def value(self) -> float | None:
        """The ratio; None as long as nothing is known."""
        return self._over / self._under if self._under else None

    def state(self) -> list[float]:
        """See `FixedCost.state`."""
        return [self._over, self._under]

    def restore(self, state: Sequence[float]) -> None:
        """Go on from a state."""
        self._over, self._under = state


class LearnedStats:
    """The statistics of a running plan. Not thread-safe: to be used under the runtime's lock."""

    def __init__(self, plan: Plan) -> None:
        self._operators: dict[str, Operator] = {}
        self._declared: dict[str, OperatorStats] = {}
        self._start: dict[str, float] = {}
        self._side_start: dict[Edge, float] = {}
        self._factors: dict[str, float] = {}  # operator -> factor to correct its initial costs by
        self._sides: dict[str, SideFit] = {}
        self._passing: dict[Port, FadingRatio] = {}
        self._sizes: dict[str, FadingRatio] = {}
        self._streams: dict[str, FadingRatio] = {}
        self._fits: dict[tuple[str, ...], TimeFit] = {}
        self._fixed = FixedCost()
        self._own: dict[tuple[str, ...], FixedCost] = {}  # for calls of stateful operators
        self._extra: dict[str, float] = {}  # stateful operator -> its fixed cost on top of a call's
        self.add(plan)

    def add(self, plan: Plan) -> None:
        """Queries have joined: operators that are new start from what they declare."""
        declared = {name: s for name, s in declared_stats(plan).items() if name not in self._operators}
        for name, stats in declared.items():
            operator = self._operators[name] = plan.operators[name]
            self._declared[name] = stats
            self._start[name] = stats.cost_s or START_COST_S
            self._side_start |= {edge: stats.side(edge.input).cost_s or START_COST_S for edge in self._edges(name)}
            if stats.sides:
                self._sides[name] = SideFit([side.selectivity for side in stats.sides])
            for branch in operator.branches:
                self._passing[Port(name, branch)] = FadingRatio(stats.branches.get(branch, stats.selectivity))
            self._sizes[name] = FadingRatio(stats.tuple_bytes)
        for name in plan.streams:
            self._streams.setdefault(name, FadingRatio(None))

    def remove(self, operators: Iterable[str]) -> None:
        """Forget operators whose queries were removed: others may take their names."""
        for name in operators:
            if self._operators.pop(name, None) is not None:
                self._factors.pop(name, None)
                self._sides.pop(name, None)
                self._extra.pop(name, None)
                self._fits = {names: fit for names, fit in self._fits.items() if name not in names}
                self._own = {names: cost for names, cost in self._own.items() if name not in names}

    def state(self) -> dict[str, Any]:
        """See `FixedCost.state`."""
        return {
            "factors": dict(self._factors),
            "extra": dict(self._extra),
            "fixed": self._fixed.state(),
            "own": [[list(names), one.state()] for names, one in self._own.items()],
            "fits": [[list(names), one.state()] for names, one in self._fits.items()],
            "passing": [[*port, one.state()] for port, one in self._passing.items()],
            **{key: {name: one.state() for name, one in kept.items()} for key, kept in self._by_name.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a state; what it says of operators and streams that are not here is left out."""
        self._factors = {name: one for name, one in state["factors"].items() if name in self._operators}
        self._extra = {name: one for name, one in state["extra"].items() if name in self._operators}
        self._fixed.restore(state["fixed"])
        known = self._operators.keys()
        for names, own in state["own"]:
            if known >= set(names):
                self._own.setdefault(tuple(names), FixedCost()).restore(own)
        for names, fit in state["fits"]:
            if known >= set(names):
                self._fits.setdefault(tuple(names), TimeFit()).restore(fit)
        for node, branch, ratio in state["passing"]:
            if Port(node, branch) in self._passing:
                self._passing[Port(node, branch)].restore(ratio)
        for key, kept in self._by_name.items():
            for name in kept.keys() & state[key].keys():
                kept[name].restore(state[key][name])

    @property
    def _by_name(self) -> Mapping[str, Mapping[str, SideFit | FadingRatio]]:
        return {"sides": self._sides, "sizes": self._sizes, "streams": self._streams}

    def forget_streams(self, plan: Plan) -> None:
        """Streams were removed: what is not in this plan is forgotten."""
        self._streams = {name: size for name, size in self._streams.items() if name in plan.streams}

    @property
    def call_fixed_s(self) -> float | None:
        """Fixed cost of a call of any unit; None before the first call."""
        if self._fixed.seconds is None and self._own:
            return 0.0  # only stateful operators have run, and their fixed costs are kept apart
        return self._fixed.seconds

    @property
    def operators(self) -> Collection[str]:
        """The operators that it knows."""
        return self._operators.keys()

    def arrived(self, stream: str, rows: int, size: int) -> None:
        """Learn the size of a stream's tuples as they enter the queues. Stamps count, as they do for operators."""
        self._streams[stream].learn(size, rows)

    def stream_bytes(self, stream: str) -> float | None:
        """See `Stats`."""
        return self._streams[stream].value

    def learn(
        self,
        taken: Mapping[str, int],
        given: Mapping[Port, int],
        seconds: float,
        sizes: Mapping[Port, int],
        entered: Mapping[Edge, int] | None = None,
    ) -> None:
        """Learn from one call: rows into each operator, rows out of each port, its time, bytes out of each port.

        `entered` has the rows into each input, at least for operators with several inputs. Without it, the sides of
        those operators stay as declared.
        """
        entered = entered or {}
        self._learn_costs(taken, entered, seconds)
        for port, rows in given.items():
            self._passing[port].learn(rows, taken[port.node])
        for name in self._sides.keys() & taken.keys():
            rows_in = [entered[edge] for edge in self._edges(name) if edge in entered]
            if len(rows_in) == len(self._operators[name].inputs) and Port(name) in given:
                self._sides[name].learn(rows_in, given[Port(name)])
        for port, size in sizes.items():
            self._sizes[port.node].learn(size, given[port])

    def _learn_costs(self, taken: Mapping[str, int], entered: Mapping[Edge, int], seconds: float) -> None:
        """Scale the costs of a call's operators so that together they explain its time.

        Within one job the operators' row counts rise and fall together, so their costs cannot be separated: they keep
        the ratio of their initial values. The same holds for the sides of an operator.
        """
        names = tuple(taken)
        work = sum(self._work(name, taken[name], entered) for name in names)
        fit = self._fits.setdefault(names, TimeFit())
        if work:
            fit.learn(work, seconds)
        fixed = self._learn_fixed(names, max(0.0, seconds - fit.slope() * work))
        if work:
            self._factors.update(dict.fromkeys(names, fit.slope(fixed)))

    def _learn_fixed(self, names: tuple[str, ...], seconds: float) -> float:
        """The fixed cost of a call of these operators.

        Reading state takes time whatever comes in, so stateful operators have a fixed cost of their own on top of the
        shared one: what the fastest tenth of their own calls stay below. As long as all calls are of one size, all
        their time counts as fixed. If it counted as cost per tuple instead, an expensive call would seem to have
        expensive tuples, would be given few of them, and could never show that more tuples cost hardly more.
        """
        stateful = [name for name in names if self._operators[name].stateful]
        if not stateful:
            self._fixed.learn(seconds)
            return self._fixed.seconds or 0.0
        own = self._own.setdefault(names, FixedCost())
        own.learn(seconds)
        shared = self._fixed.seconds or 0.0
        extra = max(0.0, (own.seconds or 0.0) - shared)
        self._extra.update(dict.fromkeys(stateful, extra / len(stateful)))
        return shared + extra

    def _work(self, name: str, rows: int, entered: Mapping[Edge, int]) -> float:
        """The seconds that the initial costs predict for the rows that an operator took."""
        edges = self._edges(name)
        if len(edges) > 1 and all(edge in entered for edge in edges):
            return sum(self._side_start[edge] * entered[edge] for edge in edges)
        return self._start[name] * rows

    def _edges(self, name: str) -> list[Edge]:
        return [Edge(name, index) for index in range(len(self._operators[name].inputs))]

    def of(self, operator: str) -> OperatorStats:
        """See `Stats`."""
        kind, declared, factor = self._operators[operator], self._declared[operator], self._factors.get(operator)
        shares = {branch: self._passing[Port(operator, branch)].value for branch in kind.branches}
        known = [share for share in shares.values() if share is not None]
        named = {branch: share for branch, share in shares.items() if branch and share is not None}
        return OperatorStats(
            fixed_s=self._extra.get(operator, 0.0),  # on top of what every call costs: call_fixed_s
            cost_s=declared.cost_s if factor is None else self._start[operator] * factor,
            selectivity=sum(known) if known else None,
            tuple_bytes=self._sizes[operator].value,
            branches=named,
            sides=self._sides_of(operator, factor),
        )

    def summary(self) -> dict[str, Any]:
        """What has been learned, for the report: seconds, output tuples per input tuple, bytes."""
        found = {name: self.of(name) for name in self._operators}
        return {
            "call": self.call_fixed_s,
            "operators": {
                name: {"fixed": s.fixed_s, "cost": s.cost_s, "selectivity": s.selectivity, "bytes": s.tuple_bytes}
                for name, s in found.items()
            },
        }

    def _sides_of(self, operator: str, factor: float | None) -> tuple[SideStats, ...]:
        if operator not in self._sides:
            return ()
        declared = self._declared[operator].sides
        costs = [
            side.cost_s if factor is None else self._side_start[edge] * factor
            for edge, side in zip(self._edges(operator), declared, strict=True)
        ]
        return tuple(map(SideStats, costs, self._sides[operator].values))
