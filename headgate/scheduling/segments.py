"""Path and segment capacities, and the segments of a plan.

After Jiang and Chakravarthy, "Scheduling Strategies for Processing Continuous Queries Over Streams", UTA TR
CSE-2003-30, sections 2 and 3; equation numbers are theirs, (3.1) with its last product corrected to end at k-1.
`None` means that a cost or selectivity is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headgate.metrics.stats import Stats
from headgate.metrics.tuple_sizes import port_bytes
from headgate.plan.model import Plan
from headgate.plan.operators.base import Port
from headgate.plan.paths import Path, find_paths


@dataclass(frozen=True)
class Segment:
    """A run of consecutive operators of a path, scheduled as one unit. Numbers are those of `path`'s tuples."""

    id: str  # "S1", numbered in plan order
    operators: tuple[str, ...]
    path: str  # the first path that it was cut from
    cost_s: float | None  # expected seconds for a tuple that enters it: 1 / C^P_S
    capacity: float | None  # C^P_S (3.1), tuples a second
    release: float | None  # C^M_S (3.2), bytes a second


@dataclass(frozen=True)
class Step:
    """One operator of a path, with the numbers of the way that the path takes through it: an operator with several
    inputs counts as the semi-operator of the side by which the path enters."""

    operator: str
    cost_s: float | None
    selectivity: float | None  # of the branch by which the path leaves
    input_bytes: float
    output_bytes: float  # 0 at the end of a path: the sink takes results at once


def path_steps(plan: Plan, stats: Stats, path: Path) -> tuple[Step, ...]:
    """What a path's operators do to a tuple. The input size is that of the input by which the path enters."""
    return _steps(plan, stats, path, port_bytes(plan, stats))


def path_cost(steps: Sequence[Step]) -> float | None:
    """Expected seconds to take one tuple through: c_1 + sigma_1 c_2 + ... + (sigma_1 .. sigma_{k-1}) c_k."""
    total, reach = 0.0, 1.0
    for step in steps:
        if step.cost_s is None:
            return None
        total += reach * step.cost_s
        if step is not steps[-1]:
            if step.selectivity is None:
                return None
            reach *= step.selectivity
    return total


def path_capacity(steps: Sequence[Step]) -> float | None:
    """C^P of a path (2.2) or of a segment (3.1): tuples a second, the inverse of the cost."""
    cost = path_cost(steps)
    if cost is None:
        return None
    return 1.0 / cost if cost > 0.0 else math.inf


def path_selectivity(steps: Sequence[Step]) -> float | None:
    """Results expected of one tuple that enters: the product of the selectivities."""
    known = [step.selectivity for step in steps if step.selectivity is not None]
    return math.prod(known) if len(known) == len(steps) else None


def operator_release(step: Step) -> float | None:
    """C^M of an operator (2.1): bytes released a second, C^P (InputTupleSize - T sigma)."""
    if step.cost_s is None or step.selectivity is None:
        return None
    return _per_second(step.input_bytes - step.output_bytes * step.selectivity, step.cost_s)


def segment_release(steps: Sequence[Step]) -> float | None:
    """C^M of a segment (3.2): C^P_S (InputTupleSize - S_o sigma_1 .. sigma_k). For a whole path this is (2.3)."""
    cost, released = path_cost(steps), bytes_released(steps)
    return None if cost is None or released is None else _per_second(released, cost)


def bytes_released(steps: Sequence[Step]) -> float | None:
    """What a tuple that goes through a segment gives back: InputTupleSize - S_o sigma_1 .. sigma_k."""
    if steps[-1].output_bytes == 0.0:
        return steps[0].input_bytes
    passed = path_selectivity(steps)
    return None if passed is None else steps[0].input_bytes - steps[-1].output_bytes * passed


def partition(releases: Sequence[float | None]) -> list[tuple[int, int]]:
    """Cut a path where the next operator releases memory more slowly (section 3.3): ranges [first, end).

    An equal release continues the segment. So does one that is not known: one call for both operators is cheaper,
    and the cut can still be made once there are statistics.
    """
    cuts = [0]
    for j in range(1, len(releases)):
        before, after = releases[j - 1], releases[j]
        if before is not None and after is not None and before > after:
            cuts.append(j)
    return list(zip(cuts, [*cuts[1:], len(releases)], strict=True)) if releases else []


def halve(releases: Sequence[float | None], share: float = 0.75) -> list[tuple[int, int]]:
    """The simplified cut (section 3.3): once, where the next operator releases less than `share` of the last's.

    Compared as a product, because releases may be 0 or below; those are cut where the next is smaller. What is not
    known does not cut.
    """
    for j in range(1, len(releases)):
        before, after = releases[j - 1], releases[j]
        if before is not None and after is not None and after < (share * before if before > 0.0 else before):
            return [(0, j), (j, len(releases))]
    return [(0, len(releases))] if releases else []


def prune(segments: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The inclusion-maximal segments, compared as sets of operators, in the order given.

    Maximal sets are an antichain, so the result does not depend on the order in which paths are added.
    """
    kept: list[tuple[str, ...]] = []
    for segment in segments:
        mine = set(segment)
        if any(mine <= set(other) for other in kept):
            continue
        kept = [other for other in kept if not set(other) < mine]
        kept.append(segment)
    return kept


def find_segments(plan: Plan, stats: Stats, paths: Sequence[Path] | None = None) -> tuple[Segment, ...]:
    """The system's segments: every path partitioned, then pruned; in plan order of their first operators.

    Called by explain and by policies that schedule segments. `paths` defaults to all paths of the plan. Together the
    segments cover every operator of the paths; two of them may overlap.
    """
    return cut_paths(plan, stats, partition, paths)


def cut_paths(
    plan: Plan,
    stats: Stats,
    cut: Callable[[Sequence[float | None]], list[tuple[int, int]]],
    paths: Sequence[Path] | None = None,
) -> tuple[Segment, ...]:
    """`find_segments` with another way to cut a path by its operators' releases (simplified segments, say)."""
    sizes = port_bytes(plan, stats)
    found: dict[tuple[str, ...], tuple[str, Sequence[Step]]] = {}
    for path in sorted(find_paths(plan) if paths is None else paths, key=lambda path: path.id):
        steps = _steps(plan, stats, path, sizes)
        for first, end in cut([operator_release(step) for step in steps]):
            piece = steps[first:end]
            found.setdefault(tuple(step.operator for step in piece), (path.id, piece))
    position = {name: i for i, name in enumerate(plan.operators)}
    kept = sorted(prune(found), key=lambda operators: [position[name] for name in operators])
    return tuple(
        Segment(
            id=f"S{number}",
            operators=operators,
            path=found[operators][0],
            cost_s=path_cost(found[operators][1]),
            capacity=path_capacity(found[operators][1]),
            release=segment_release(found[operators][1]),
        )
        for number, operators in enumerate(kept, start=1)
    )


def _steps(plan: Plan, stats: Stats, path: Path, sizes: dict[Port, float]) -> tuple[Step, ...]:
    steps = []
    last = len(path.edges) - 1
    for i, (edge, branch) in enumerate(zip(path.edges, path.branches, strict=True)):
        operator = plan.operators[edge.operator]
        known = stats.of(operator.id)
        output = 0.0 if i == last else sizes[Port(operator.id, branch)]
        entered = sizes[operator.inputs[edge.input]]
        cost, passed = known.side(edge.input).cost_s, known.passing(edge.input, branch)
        steps.append(Step(operator.id, cost, passed, entered, output))
    return tuple(steps)


def _per_second(amount: float, seconds: float) -> float:
    if seconds > 0.0:
        return amount / seconds
    return math.copysign(math.inf, amount) if amount else 0.0
