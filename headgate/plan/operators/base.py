"""The contract of an operator kind: its inputs, its outputs, and the statistics declared for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from headgate.plan.flows import Flow, rowwise_flow
from headgate.plan.windows import Window
from headgate.sql.schema import Schema


class Port(NamedTuple):
    """A place that tuples come out of: a stream (its name) or an operator's output (its id and branch)."""

    node: str
    branch: str = ""

    def __str__(self) -> str:
        return f"{self.node}.{self.branch}" if self.branch else self.node


class DeclaredSide(NamedTuple):
    """Statistics declared for one of several inputs; None: as declared for the whole operator."""

    cost_s: float | None = None
    selectivity: float | None = None


@dataclass(frozen=True)
class Declared:
    """Initial values of an operator's statistics; the simulator takes them as the truth.

    `None` means not declared. `branches` gives the selectivity of each output of a split, `sides` the values of single
    inputs: an operator with k inputs counts as k semi-operators.
    """

    fixed_s: float | None = None  # seconds per call
    cost_s: float | None = None  # seconds per tuple
    selectivity: float | None = None  # outputs per input
    tuple_bytes: float | None = None  # size of an output tuple
    branches: Mapping[str, float] = field(default_factory=dict)
    sides: tuple[DeclaredSide, ...] = ()  # empty, or one for each input
    match: float | None = None  # for a join: the probability that two rows in their windows match

    def side(self, index: int) -> DeclaredSide:
        """The values declared for an input, falling back on those of the operator."""
        own = self.sides[index] if self.sides else DeclaredSide()
        cost = self.cost_s if own.cost_s is None else own.cost_s
        return DeclaredSide(cost, self.selectivity if own.selectivity is None else own.selectivity)


@dataclass(frozen=True, kw_only=True)
class Operator(ABC):
    """One step of a query. Each kind is a frozen dataclass in a file of its own.

    An operator says what it computes; `runtime/spark/calls/composer.py` says how Spark computes it, and the simulator
    needs only `declared`.
    """

    id: str  # "query/name", unique in the plan
    inputs: tuple[Port, ...]
    declared: Declared = Declared()
    kind: ClassVar[str]
    passes_all: ClassVar[bool] = False  # outputs exactly one tuple for each input tuple
    stateful: ClassVar[bool] = False  # remembers rows between calls; passing time alone can give it work

    @property
    def branches(self) -> tuple[str, ...]:
        """Names of the outputs; a single nameless one unless the kind routes tuples."""
        return ("",)

    @property
    def ports(self) -> tuple[Port, ...]:
        """One port for each output."""
        return tuple(Port(self.id, branch) for branch in self.branches)

    def bound(self, inputs: Sequence[Schema]) -> Operator:
        """The operator with everything filled in that depends on its inputs' columns, such as `*`.

        Called before `output`. Default: unchanged.
        """
        return self

    def side(self, index: int) -> DeclaredSide:
        """The statistics declared for one input."""
        return self.declared.side(index)

    @abstractmethod
    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        """The schema of every branch, given those of the inputs; raises ApplicationError at `place`."""

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        """The flow of every branch, given those of the inputs. Default: as for operators that treat each row alone."""
        return rowwise_flow(inputs, place)

    @property
    def windows(self) -> tuple[Window | None, ...]:
        """The window on each input; None: the input is already a relation, or the operator treats each row alone."""
        return (None,) * len(self.inputs)

    @property
    def expressions(self) -> tuple[str, ...]:
        """The Spark SQL expressions it contains."""
        return ()

    def describe(self) -> str:
        """The operator's parameters in one line, for people to read."""
        return ""
