"""Random query trees as in the path and segment study: selects, projects and joins over a few streams.

A join counts as two semi-joins (the paper's section 2): each side passes tuples by the join's selectivity, and windows
do not count as queue memory. In the simulator that is an operator with two inputs and a declared selectivity.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
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
    """The ranges from which costs and selectivities are drawn. The paper says that selectivities go from 0 to 1, except
    for a few joins, and that "the leaf nodes are the operators that have faster processing capacities and less
    selectivity in the system" (section 3.3)."""

    lowest_cost_s: float = 5e-6  # costs are log-uniform from here
    highest_cost_s: float = 200e-6  # to here
    least_times: float = 1.0  # an operator above a leaf costs such a draw times a factor from here
    most_times: float = 1.0  # to here
    least_passed: float = 0.05
    most_passed: float = 1.0  # except for joins that grow
    leaves_pass: float = 1.0  # the most that a leaf passes
    growing_joins: float = 0.0  # the share of joins that give 1 to 2 tuples per input tuple
    leaves_first: bool = True  # the leaves get the lowest costs and the lowest selectivities of all 116 draws


def draw_trees(seed: int, numbers: Numbers | None = None) -> list[DrawnOperator]:
    """Draw 16 trees with 116 operators. A query with j joins reads j + 1 different streams, each through a leaf of its
    own; the rest of the 116 operators go one by one to random places: above a leaf, between joins or at the top."""
    draw = random.Random(f"paths trees {seed}")
    joins = [draw.randint(0, MOST_JOINS) for _ in range(QUERIES)]
    shapes = [_shape(number, draw) for number in joins]
    places = [place for shape in shapes for place in shape.places]
    for _ in range(OPERATORS - len(places)):
        draw.choice(places).extra += 1
    drawn = [_Draws(draw, leaf) for shape in shapes for leaf in _leaf_or_not(shape)]
    given = numbers or Numbers()
    if given.leaves_first:
        _leaves_first(drawn)
    rest = iter(drawn)
    return [_node(shape, rest, given) for shape in shapes]


class _Draws:
    """The random numbers of one operator. Each takes the same number of draws, so that changing one of `Numbers`
    changes nothing else."""

    def __init__(self, draw: random.Random, leaf: bool) -> None:
        self.leaf = leaf
        self.cost, self.times, self.share, self.grows, self.growth = (draw.random() for _ in range(5))


def _leaf_or_not(shape: _Shape) -> list[bool]:
    """Whether each operator of a tree is a leaf, in the order in which `_node` makes them."""
    below = [leaf for source in shape.inputs if isinstance(source, _Shape) for leaf in _leaf_or_not(source)]
    return [*below, isinstance(shape.inputs[0], int), *[False] * shape.extra]


def _leaves_first(drawn: list[_Draws]) -> None:
    """Exchange costs and shares so that leaves have the lowest, and otherwise the order they had among themselves."""
    for name in ("cost", "share"):
        ordered = iter(sorted(getattr(each, name) for each in drawn))
        ranks = sorted(drawn, key=lambda each: (not each.leaf, getattr(each, name)))
        for each, value in [(each, next(ordered)) for each in ranks]:
            setattr(each, name, value)


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


def _node(shape: _Shape, drawn: Iterator[_Draws], numbers: Numbers) -> DrawnOperator:
    inputs = tuple(_node(source, drawn, numbers) if isinstance(source, _Shape) else source for source in shape.inputs)
    node = _operator(inputs, next(drawn), numbers)
    for _ in range(shape.extra):
        node = _operator((node,), next(drawn), numbers)
    return node


def _operator(inputs: tuple[DrawnOperator | int, ...], draws: _Draws, numbers: Numbers) -> DrawnOperator:
    cost = numbers.lowest_cost_s * (numbers.highest_cost_s / numbers.lowest_cost_s) ** draws.cost
    most = numbers.leaves_pass if draws.leaf else numbers.most_passed
    passed = numbers.least_passed + draws.share * (most - numbers.least_passed)
    if not draws.leaf:
        cost *= numbers.least_times + draws.times * (numbers.most_times - numbers.least_times)
    if len(inputs) > 1 and draws.grows < numbers.growing_joins:
        passed = 1.0 + draws.growth
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


def leaf_work_by_stream(trees: Sequence[DrawnOperator]) -> list[float]:
    """The seconds of work that a tuple of each stream causes at leaves."""
    work = [0.0] * STREAMS
    for leaf, stream in _leaves(trees):
        work[stream] += leaf.cost_s
    return work


def leaves_by_stream(trees: Sequence[DrawnOperator]) -> list[int]:
    """The number of leaves that read each stream."""
    found = [0] * STREAMS
    for _, stream in _leaves(trees):
        found[stream] += 1
    return found


def _leaves(trees: Sequence[DrawnOperator]) -> Iterator[tuple[DrawnOperator, int]]:
    """The operators that read streams, each with its stream."""
    waiting = list(trees)
    while waiting:
        node = waiting.pop()
        for source in node.inputs:
            if isinstance(source, int):
                yield node, source
            else:
                waiting.append(source)
