"""Random query trees as in the path and segment study: selects, projects and joins over a few streams.

A join counts as two semi-joins (the paper's section 2): each side passes tuples by the join's selectivity, and windows
do not count as queue memory. In the simulator that is an operator with two inputs and a declared selectivity.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

STREAMS = 5
QUERIES = 16
OPERATORS = 116
MOST_JOINS = 4  # so that a query reads up to five streams


@dataclass(frozen=True)
class DrawnOperator:
    """An operator. Each input is another operator or the number of a stream."""

    cost_s: float
    selectivity: float
    inputs: tuple[DrawnOperator | int, ...]

    def scaled(self, factor: float) -> DrawnOperator:
        """The same tree with all costs multiplied."""
        inputs = tuple(source.scaled(factor) if isinstance(source, DrawnOperator) else source for source in self.inputs)
        return DrawnOperator(self.cost_s * factor, self.selectivity, inputs)

    @property
    def operators(self) -> int:
        """The number of operators in this tree."""
        return 1 + sum(source.operators for source in self.inputs if isinstance(source, DrawnOperator))


@dataclass(frozen=True)
class Numbers:
    """The ranges from which costs and selectivities are drawn; the paper gives only the range of selectivities."""

    cheapest_s: float = 5e-6  # leaf costs are log-uniform from here
    dearest_s: float = 200e-6  # to here
    least_times: float = 1.0  # an operator above a leaf costs such a draw times a factor from here
    most_times: float = 5.0  # to here
    least_passed: float = 0.05
    most_passed: float = 1.0  # except for joins that grow
    growing_joins: float = 0.0  # the share of joins that give 1 to 2 tuples per input tuple


def draw_trees(seed: int, numbers: Numbers | None = None) -> list[DrawnOperator]:
    """Draw 16 trees with 116 operators. A query with j joins reads j + 1 different streams, each through a leaf of its
    own; the rest of the 116 operators go one by one to random places: above a leaf, between joins or at the top."""
    draw = random.Random(f"paths trees {seed}")
    joins = [draw.randint(0, MOST_JOINS) for _ in range(QUERIES)]
    shapes = [_shape(number, draw) for number in joins]
    places = [place for shape in shapes for place in shape.places]
    for _ in range(OPERATORS - len(places)):
        draw.choice(places).extra += 1
    return [_node(shape, draw, numbers or Numbers()) for shape in shapes]


class _Shape:
    """A leaf or a join, and the number of unary operators above it."""

    def __init__(self, inputs: Sequence[_Shape | int]) -> None:
        self.inputs = tuple(inputs)
        self.extra = 0

    @property
    def places(self) -> list[_Shape]:
        below = [place for source in self.inputs if isinstance(source, _Shape) for place in source.places]
        return [*below, self]


def _shape(joins: int, draw: random.Random) -> _Shape:
    shapes = [_Shape([stream]) for stream in draw.sample(range(STREAMS), joins + 1)]
    while len(shapes) > 1:
        left = shapes.pop(draw.randrange(len(shapes)))
        right = shapes.pop(draw.randrange(len(shapes)))
        shapes.append(_Shape([left, right]))
    return shapes[0]


def _node(shape: _Shape, draw: random.Random, numbers: Numbers) -> DrawnOperator:
    inputs = tuple(_node(source, draw, numbers) if isinstance(source, _Shape) else source for source in shape.inputs)
    node = _operator(inputs, draw, numbers)
    for _ in range(shape.extra):
        node = _operator((node,), draw, numbers)
    return node


def _operator(inputs: tuple[DrawnOperator | int, ...], draw: random.Random, numbers: Numbers) -> DrawnOperator:
    """Draw an operator. Each takes the same number of draws, so that changing one of `Numbers` changes nothing else."""
    low, high = math.log(numbers.cheapest_s), math.log(numbers.dearest_s)
    cost = math.exp(draw.uniform(low, high))
    times = draw.uniform(numbers.least_times, numbers.most_times)
    share, grows, growth = draw.random(), draw.random(), draw.random()
    if not isinstance(inputs[0], int):
        cost *= times
    passed = numbers.least_passed + share * (numbers.most_passed - numbers.least_passed)
    if len(inputs) > 1 and grows < numbers.growing_joins:
        passed = 1.0 + growth
    return DrawnOperator(cost, passed, inputs)


def work_by_stream(trees: Sequence[DrawnOperator]) -> list[float]:
    """The expected seconds of work that a tuple of each stream causes, on all its paths together."""
    work = [0.0] * STREAMS

    def visit(node: DrawnOperator, above: float) -> None:
        cost = node.cost_s + node.selectivity * above
        for source in node.inputs:
            if isinstance(source, int):
                work[source] += cost
            else:
                visit(source, cost)

    for tree in trees:
        visit(tree, 0.0)
    return work


def leaves_by_stream(trees: Sequence[DrawnOperator]) -> list[int]:
    """The number of leaves that read each stream."""
    found = [0] * STREAMS
    waiting = list(trees)
    while waiting:
        for source in waiting.pop().inputs:
            if isinstance(source, int):
                found[source] += 1
            else:
                waiting.append(source)
    return found
