"""Operators as written in the application file, one section class per kind."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from headgate.errors import known_names
from headgate.plan.operators.function import TIME_LIMIT_S
from headgate.plan.windows import WINDOW_REMEDY, Window, parse_window
from headgate.settings.kinds import one_of
from headgate.settings.sections import (
    Duration,
    Expression,
    Filled,
    Name,
    NotNegative,
    Positive,
    Section,
    Share,
    refuse,
)


def _window(value: Any) -> Window:
    if not isinstance(value, str):
        raise refuse(f"'{value}' is not a window", WINDOW_REMEDY)
    try:
        return parse_window(value)
    except ValueError as error:
        raise refuse(str(error), WINDOW_REMEDY) from error


def _window_or_none(value: Any) -> Window | None:
    return None if value is None else _window(value)


def _above_zero(value: float) -> float:
    if value <= 0:
        raise refuse("a time limit must be above 0", "give it some seconds")
    return value


WindowField = Annotated[Any, BeforeValidator(_window)]
OptionalWindowField = Annotated[Any, BeforeValidator(_window_or_none)]


class OperatorSection(Section):
    most: ClassVar[int | None] = 1  # inputs; None: any number
    fewest: ClassVar[int] = 1
    id: Name
    kind: str
    input: Filled | None = None
    inputs: list[Filled] | None = None
    cost: Duration | None = None
    fixed_cost: Duration | None = None
    selectivity: NotNegative | None = None
    bytes: Positive | None = None

    @model_validator(mode="after")
    def _inputs_once(self) -> OperatorSection:
        if self.input is not None and self.inputs is not None:
            raise refuse("it has both 'input' and 'inputs'", "keep one of them", at="inputs")
        if not self.reads:
            raise refuse("it has no input", "give 'input' the name of a stream or operator", at="inputs")
        article = "an" if self.kind[0] in "aei" else "a"
        if len(self.reads) < self.fewest:
            count = "two inputs" if self.most == 2 else "two or more inputs"
            raise refuse(f"{article} {self.kind} has {count}", "write inputs: [first, second]", at="inputs")
        if self.most == 2 and len(self.reads) > 2:
            raise refuse(f"{article} {self.kind} has two inputs", "combine the others in another operator", at="inputs")
        if self.most == 1 and len(self.reads) > 1:
            remedy = "combine them with an operator of kind union first"
            raise refuse(f"an operator of kind {self.kind} has one input", remedy, at="inputs")
        return self

    @property
    def reads(self) -> list[str]:
        return [self.input] if self.input is not None else list(self.inputs or [])


# One input, tuple by tuple ---------------------------------------------------------------------------------------


class SelectSection(OperatorSection):
    kind: Literal["select"]
    where: Expression


class ProjectSection(OperatorSection):
    kind: Literal["project"]
    columns: dict[str, Expression] | list[Filled]

    @model_validator(mode="after")
    def _some_columns(self) -> ProjectSection:
        if not self.columns:
            raise refuse("there are no columns", "name at least one", at="columns")
        return self


class SplitSection(OperatorSection):
    kind: Literal["split"]
    match: Literal["first", "all"] = "first"
    branches: dict[Name, Expression]
    selectivities: dict[str, NotNegative] = {}

    @model_validator(mode="after")
    def _selectivities_fit(self) -> SplitSection:
        if not self.branches:
            raise refuse("there are no branches", "write {name: condition}", at="branches")
        for name in self.selectivities:
            if name not in self.branches:
                known = known_names("branches", self.branches, name)
                raise refuse(f"there is no branch '{name}'", known, at=f"selectivities.{name}")
        if self.selectivity is not None:
            raise refuse(
                "a split has a selectivity for each branch",
                "use selectivities: {branch: share}",
                at="selectivity",
            )
        if missing := [name for name in self.branches if self.selectivities and name not in self.selectivities]:
            raise refuse(f"branch '{missing[0]}' has no selectivity", "give one to every branch", at="selectivities")
        shares = self.selectivities.values()
        if any(share > 1 for share in shares) or (self.match == "first" and sum(shares) > 1 + 1e-9):
            problem = "a split cannot output more tuples than it receives"
            raise refuse(problem, "give shares of 1 or less (together, with match: first)", at="selectivities")
        return self


class FunctionSection(OperatorSection):
    kind: Literal["function"]
    function: Filled
    schema_: Filled = Field(alias="schema")
    time_limit: Annotated[Duration, AfterValidator(_above_zero)] = TIME_LIMIT_S


# One input under a window ----------------------------------------------------------------------------------------


class WindowedSection(OperatorSection):
    window: WindowField = None


class AggregateSection(WindowedSection):
    kind: Literal["aggregate"]
    group: dict[str, Expression] | list[Filled] = []
    values: dict[str, Expression] = {}

    @model_validator(mode="after")
    def _some_output(self) -> AggregateSection:
        if not self.group and not self.values:
            raise refuse("it has no output columns", 'add values, as {rows: "count(*)"}', at="values")
        return self


class DistinctSection(WindowedSection):
    kind: Literal["distinct"]


class WindowSection(OperatorSection):
    kind: Literal["window"]
    window: WindowField


class ChangesSection(WindowedSection):
    kind: Literal["changes", "istream", "dstream"]


class RStreamSection(WindowedSection):
    kind: Literal["rstream"]


# Several inputs --------------------------------------------------------------------------------------------------


class SidedSection(OperatorSection):
    """An operator with several inputs counts as one operator per input: each may have its own cost and selectivity."""

    fewest: ClassVar[int] = 2
    most: ClassVar[int | None] = None
    costs: list[Duration] | None = None
    selectivities: list[NotNegative] | None = None

    @model_validator(mode="after")
    def _one_number_per_input(self) -> SidedSection:
        for many, one in (("costs", "cost"), ("selectivities", "selectivity")):
            given = getattr(self, many)
            if given is None:
                continue
            if getattr(self, one) is not None:
                raise refuse(f"it has both '{one}' and '{many}'", "keep one of them", at=many)
            if len(given) != len(self.reads):
                problem = f"there are {len(given)} {many} for {len(self.reads)} inputs"
                raise refuse(problem, "give one for each input, in their order", at=many)
        return self


class UnionSection(SidedSection):
    kind: Literal["union"]


class TwoWindowsSection(SidedSection):
    """Two inputs, each with its own window; `window` applies to both."""

    most: ClassVar[int | None] = 2
    window: WindowField = None
    windows: list[OptionalWindowField] | None = None

    @model_validator(mode="after")
    def _windows_once(self) -> TwoWindowsSection:
        if self.windows is None:
            return self
        if self.window is not None:
            raise refuse("it has both 'window' and 'windows'", "keep one of them", at="windows")
        if len(self.windows) != len(self.reads):
            problem = f"there are {len(self.windows)} windows for {len(self.reads)} inputs"
            raise refuse(problem, "give one for each input, in their order", at="windows")
        return self

    @property
    def each_window(self) -> tuple[Window | None, ...]:
        return tuple(self.windows) if self.windows is not None else (self.window, self.window)


class ExceptSection(TwoWindowsSection):
    kind: Literal["except"]
    all: bool = False


class IntersectSection(TwoWindowsSection):
    kind: Literal["intersect"]
    all: bool = False


class JoinSection(TwoWindowsSection):
    """A join of a stream with a table, or of two streams."""

    fewest: ClassVar[int] = 1
    kind: Literal["join"]
    table: Filled | None = None
    on: Filled | list[Filled] | dict[str, Filled] | None = None
    how: Literal["inner", "left"] = "inner"
    where: Expression | None = None
    match: Share | None = None

    @model_validator(mode="after")
    def _one_of_two_forms(self) -> JoinSection:
        if self.table is not None:
            if len(self.reads) > 1:
                raise refuse("a join with a table has one input", "leave 'table' out, or one input", at="inputs")
            for key in ("window", "windows", "where", "match"):
                if getattr(self, key) is not None:
                    raise refuse(f"a join with a table has no '{key}'", "take it out", at=key)
            if self.on is None:
                raise refuse("the key 'on' is missing", "name the columns to join on")
        else:
            if len(self.reads) < 2:
                remedy = "add it, or give two inputs to join two streams"
                raise refuse("the key 'table' is missing", remedy)
            if self.how != "inner":
                raise refuse("a join of two streams is always inner", "take it out", at="how")
            if self.match is not None and (self.selectivity is not None or self.selectivities is not None):
                raise refuse("it has both 'match' and a selectivity, which follows from it", "keep one", at="match")
        if self.on is not None and not self.on:
            raise refuse("there are no columns to join on", "name at least one", at="on")
        return self

    @property
    def pairs(self) -> dict[str, str]:
        """Columns that must be equal: those of the first input -> those of the table or second input."""
        on = [self.on] if isinstance(self.on, str) else self.on or []
        return dict(on) if isinstance(on, dict) else {column: column for column in on}


# Declared statistics of operators that were compiled from CQL ----------------------------------------------------


class StatsSection(Section):
    """The declared statistics of an operator. Whether they fit its kind is checked with the plan."""

    cost: Duration | None = None
    fixed_cost: Duration | None = None
    selectivity: NotNegative | None = None
    bytes: Positive | None = None
    costs: list[Duration] | None = None
    selectivities: list[NotNegative] | None = None
    match: Share | None = None

    @model_validator(mode="after")
    def _declared_once(self) -> StatsSection:
        for many, one in (("costs", "cost"), ("selectivities", "selectivity")):
            if getattr(self, many) is not None and getattr(self, one) is not None:
                raise refuse(f"it has both '{one}' and '{many}'", "keep one of them", at=many)
        if self.match is not None and (self.selectivity is not None or self.selectivities is not None):
            raise refuse("it has both 'match' and a selectivity, which follows from it", "keep one", at="match")
        return self


KINDS: dict[str, type[OperatorSection]] = {
    "select": SelectSection,
    "project": ProjectSection,
    "split": SplitSection,
    "union": UnionSection,
    "join": JoinSection,
    "function": FunctionSection,
    "aggregate": AggregateSection,
    "distinct": DistinctSection,
    "except": ExceptSection,
    "intersect": IntersectSection,
    "window": WindowSection,
    "changes": ChangesSection,
    "istream": ChangesSection,
    "dstream": ChangesSection,
    "rstream": RStreamSection,
}
AnyOperator = Annotated[Any, one_of(lambda: KINDS)]
