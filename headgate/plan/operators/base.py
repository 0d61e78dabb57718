"""The contract of an operator kind: what it reads, what it gives out, what its author declared of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from headgate.plan.flows import Flow, rowwise_flow
from headgate.plan.windows import Window
from headgate.sql.schema import Schema


class Port(NamedTuple):
    """Something that gives out tuples: a stream (its name), or an operator's output (its id and branch)."""

    node: str
    branch: str = ""

    def __str__(self) -> str:
        return f"{self.node}.{self.branch}" if self.branch else self.node


class DeclaredSide(NamedTuple):
    """What is declared of one input of an operator that has several; None: as of the whole operator."""

    cost_s: float | None = None
    selectivity: float | None = None


@dataclass(frozen=True)
class Declared:
    """Start values of an operator's statistics; the simulator takes them as the truth.

    `None` means not declared. `branches` gives the selectivity of each output of a split, `sides` what is special to
    each input: an operator with k inputs counts as k semi-operators.
    """

    fixed_s: float | None = None  # seconds per call
    cost_s: float | None = None  # seconds per tuple
    selectivity: float | None = None  # outputs per input
    tuple_bytes: float | None = None  # size of an output tuple
    branches: Mapping[str, float] = field(default_factory=dict)
    sides: tuple[DeclaredSide, ...] = ()  # empty, or one for each input
    match: float | None = None  # of a join: the probability that a pair of rows in their windows fits together

    def side(self, index: int) -> DeclaredSide:
        """What is declared of an input, by itself or with the operator."""
        own = self.sides[index] if self.sides else DeclaredSide()
        cost = self.cost_s if own.cost_s is None else own.cost_s
        return DeclaredSide(cost, self.selectivity if own.selectivity is None else own.selectivity)


@dataclass(frozen=True, kw_only=True)
class Operator(ABC):
    """One step of a query. Kinds are frozen dataclasses, one file each, listed in `KINDS`.

    An operator says what it computes; `runtime/spark/calls/composer.py` says how Spark computes it, and the simulator
    needs only `declared`.
    """

    id: str  # "query/name", unique in the plan
    inputs: tuple[Port, ...]
    declared: Declared = Declared()
    kind: ClassVar[str]
    passes_all: ClassVar[bool] = False  # gives out exactly one tuple for each that it takes
    stateful: ClassVar[bool] = False  # remembers rows between calls; has work when time passes, too

    @property
    def branches(self) -> tuple[str, ...]:
        """Names of the outputs; one nameless output unless the kind routes tuples."""
        return ("",)

    @property
    def ports(self) -> tuple[Port, ...]:
        return tuple(Port(self.id, branch) for branch in self.branches)

    def bound(self, inputs: Sequence[Schema]) -> Operator:
        """The operator with what it leaves to its inputs' columns filled in; called before `output`. Default: as is."""
        return self

    def side(self, index: int) -> DeclaredSide:
        """What is declared of one input."""
        return self.declared.side(index)

    @abstractmethod
    def output(self, inputs: Sequence[Schema], place: str) -> Schema:
        """The schema of every branch, from those of the inputs; raises ApplicationError naming `place`."""

    def flow(self, inputs: Sequence[Flow], place: str) -> Flow:
        """The character of what it gives out, from that of its inputs. Default: it treats each row alone."""
        return rowwise_flow(inputs, place)

    @property
    def windows(self) -> tuple[Window | None, ...]:
        """The window on each input; None: the input is a relation already, or the operator treats each row alone."""
        return (None,) * len(self.inputs)

    @property
    def expressions(self) -> tuple[str, ...]:
        """The Spark SQL texts in it."""
        return ()

    def describe(self) -> str:
        """One line for people: the operator's parameters."""
        return ""
