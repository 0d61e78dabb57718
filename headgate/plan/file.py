"""The application file as it is written: which keys it has and what each may hold.

These models check shape alone (keys, types, ranges); `load.py` checks what they mean together. Every section refuses
keys that it does not know.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from headgate.plan import durations
from headgate.plan.errors import known_names

NOT_YET = "not available in this version"


def refuse(problem: str, remedy: str = "", at: str = "") -> PydanticCustomError:
    """An error in our own words; `at` is the key it concerns, below the section that raises it."""
    return PydanticCustomError("headgate", "{problem}", {"problem": problem, "remedy": remedy, "at": at})


def _name(value: str) -> str:
    if not value.replace("-", "_").isidentifier():
        raise refuse(f"'{value}' is not a name", "use letters, digits, '_' and '-', and begin with a letter")
    return value


def _duration(value: Any) -> float:
    try:
        return durations.parse_duration(value)
    except ValueError as error:
        raise refuse(str(error), durations.REMEDY) from error


def _text(value: Any) -> Any:
    """Numbers and truth values are fine where an expression or a setting is wanted."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


def _filled(value: str) -> str:
    if not value.strip():
        raise refuse("this is empty", "fill it in")
    return value


Filled = Annotated[str, AfterValidator(_filled)]
Name = Annotated[str, AfterValidator(_name)]
Duration = Annotated[float, BeforeValidator(_duration)]
Expression = Annotated[str, BeforeValidator(_text), AfterValidator(_filled)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


class Section(BaseModel):
    """A mapping of the file with a fixed set of keys. A key without a value counts as left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    later: ClassVar[tuple[str, ...]] = ()  # keys that are documented but not available yet

    @classmethod
    def known(cls) -> list[str]:
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, data: Any) -> Any:
        # Before the fields are looked at: a misspelt key is better news than the right one being missing.
        if not isinstance(data, dict):
            raise refuse(f"{_shown(data)} is not a mapping", f"give it as {{key: value}} with {_listed(cls)}")
        for key in data:
            if key in cls.later:
                raise refuse(f"'{key}' is {NOT_YET}", "take it out", at=key)
            if key not in cls.known():
                raise refuse(f"there is no key '{key}' here", known_names("keys", cls.known(), key), at=key)
        return {key: value for key, value in data.items() if value is not None}


def _listed(section: type[Section]) -> str:
    return "the keys " + ", ".join(section.known())


def _shown(value: Any) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) < 60 else text[:57] + "..."


def by_kind(value: Any) -> str | None:
    """Which model of a union reads a mapping; the prefix keeps it apart from keys in error places."""
    kind = value.get("kind") if isinstance(value, dict) else None
    return f"kind:{kind}" if isinstance(kind, str) else None


# Sources and tables ---------------------------------------------------------------------------------------------


class CsvFormat(Section):
    kind: Literal["csv"]
    path: Filled
    header: bool = True
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = ","
    null: str = ""  # the text that stands for null


class JsonFormat(Section):
    """One JSON object a line."""

    kind: Literal["json"]
    path: Filled


def _replay(value: Any) -> Any:
    if value in ("fast", "real") or (_is_number(value) and 0 < value < float("inf")):
        return value
    raise refuse(f"{_shown(value)} is no way to replay", "use fast, real, or a speed factor above 0 such as 10")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class CsvSource(CsvFormat):
    replay: Annotated[Any, BeforeValidator(_replay)] = "fast"


class JsonSource(JsonFormat):
    replay: Annotated[Any, BeforeValidator(_replay)] = "fast"


class FeederSource(Section):
    """Made-up tuples; `arrivals`, `changes`, `pauses` and `values` are checked by what makes them."""

    kind: Literal["feeder"]
    rate: Positive | None = None
    arrivals: Any = "poisson"
    rows: Count | None = None
    seed: Count | None = None
    values: dict[str, Expression] = {}
    changes: list[Any] = []
    pauses: list[Any] = []
    path: Filled | None = None  # recorded gaps
    bytes: Positive | None = None  # size of a tuple


Source = Annotated[
    Annotated[CsvSource, Tag("kind:csv")]
    | Annotated[JsonSource, Tag("kind:json")]
    | Annotated[FeederSource, Tag("kind:feeder")],
    Discriminator(by_kind),
]


class StreamSection(Section):
    schema_: Filled = Field(alias="schema")
    time: Filled | None = None
    slack: Duration = 0.0
    relation: bool = False
    source: Source


class CsvTable(CsvFormat):
    schema_: Filled = Field(alias="schema")


class JsonTable(JsonFormat):
    schema_: Filled = Field(alias="schema")


TableSection = Annotated[
    Annotated[CsvTable, Tag("kind:csv")] | Annotated[JsonTable, Tag("kind:json")], Discriminator(by_kind)
]


# Operators ------------------------------------------------------------------------------------------------------


class OperatorSection(Section):
    later = ("window",)
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
        if self.kind == "union" and len(self.reads) < 2:
            raise refuse("a union has two or more inputs", "write inputs: [first, second]", at="inputs")
        if self.kind != "union" and len(self.reads) > 1:
            remedy = "unite them with an operator of kind union first"
            raise refuse(f"an operator of kind {self.kind} has one input", remedy, at="inputs")
        return self

    @property
    def reads(self) -> list[str]:
        return [self.input] if self.input is not None else list(self.inputs or [])


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
            problem = "a split cannot give out more tuples than it takes in"
            raise refuse(problem, "give shares of 1 or less (together, with match: first)", at="selectivities")
        return self


class UnionSection(OperatorSection):
    kind: Literal["union"]


class JoinSection(OperatorSection):
    kind: Literal["join"]
    table: Filled
    on: Filled | list[Filled] | dict[str, Filled]
    how: Literal["inner", "left"] = "inner"

    @model_validator(mode="after")
    def _some_columns(self) -> JoinSection:
        if not self.on:
            raise refuse("there are no columns to join on", "name at least one", at="on")
        return self


class FunctionSection(OperatorSection):
    kind: Literal["function"]
    function: Filled
    schema_: Filled = Field(alias="schema")


AnyOperator = (
    Annotated[SelectSection, Tag("kind:select")]
    | Annotated[ProjectSection, Tag("kind:project")]
    | Annotated[SplitSection, Tag("kind:split")]
    | Annotated[UnionSection, Tag("kind:union")]
    | Annotated[JoinSection, Tag("kind:join")]
    | Annotated[FunctionSection, Tag("kind:function")]
)
LATER_KINDS = ("aggregate", "except", "distinct")


# Queries --------------------------------------------------------------------------------------------------------


def _points(value: list[list[float]]) -> list[list[float]]:
    times = [point[0] for point in value]
    if len(value) < 2 or len(value) % 2 or times != sorted(times):
        raise refuse(
            "points come in pairs, one pair an interval, in order of time",
            "write [[from, value], [to, value], ...], for example [[0, 0.5], [60, 0.5]]",
        )
    return value


Point = Annotated[list[NotNegative], Field(min_length=2, max_length=2)]


class QosSection(Section):
    priority: Literal["must", "best-effort", "dont-care"]
    points: Annotated[list[Point], AfterValidator(_points)]


class ShedSection(Section):
    attribute: Filled
    drop: Literal["lowest", "center", "highest"]


class SinkSection(Section):
    kind: Literal["memory", "csv", "json", "none"]
    path: Filled | None = None
    format: Literal["rows", "changes"] = "rows"

    @model_validator(mode="after")
    def _path_where_needed(self) -> SinkSection:
        if self.kind in ("csv", "json") and self.path is None:
            raise refuse(f"a sink of kind {self.kind} needs a 'path'", "say where the results go")
        if self.kind in ("memory", "none") and self.path is not None:
            raise refuse(f"a sink of kind {self.kind} has no path", "take it out, or use csv or json", at="path")
        return self


def _policy(value: Any) -> Any:
    """`rr` or `{name: rr, quantum: 0.05}`."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value
    raise refuse(f"{_shown(value)} names no policy", "write a name, or {name: rr, quantum: 0.05}")


def _shed(value: Any) -> Any:
    if isinstance(value, str) and value != "random":
        raise refuse(f"'{value}' is no way to shed", "use random, or {attribute: column, drop: lowest}")
    return value


Policy = Annotated[dict[str, Any], BeforeValidator(_policy)]


class QuerySection(Section):
    cql: Any = None
    operators: list[Annotated[AnyOperator, Discriminator(by_kind)]] = []
    class_: Filled | None = Field(default=None, alias="class")
    qos: dict[Literal["latency", "memory", "throughput"], QosSection] = {}
    tolerance: Share | None = None
    shed: Annotated[Literal["random"] | ShedSection | None, BeforeValidator(_shed)] = None
    sink: SinkSection = SinkSection(kind="memory")
    policy: Policy | None = None

    @model_validator(mode="before")
    @classmethod
    def _operators_only(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("cql") is not None:
            raise refuse(f"CQL is {NOT_YET}", "queries are given as 'operators' in this version", at="cql")
        if isinstance(data, dict) and not data.get("operators"):
            raise refuse("the query has no operators", "list them under 'operators'")
        return data


# The whole file -------------------------------------------------------------------------------------------------


class ClassSection(Section):
    priority: Annotated[int, Field(gt=0, lt=2**31)]


class SimulatorSection(Section):
    noise: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    decision: Duration = 0.0
    switch: Duration = 0.0
    preempt: Duration = 0.0
    inspect: Duration = 0.0
    source_slots: Count = 0
    source_cost: Duration = 0.0
    fluid: bool = False


class ApplicationFile(Section):
    streams: dict[Name, StreamSection]
    tables: dict[Name, TableSection] = {}
    classes: dict[Name, ClassSection] = {}
    queries: dict[Name, QuerySection]
    policy: Policy = {"name": "rr"}
    slots: Annotated[int, Field(gt=0, le=1000)] = 2
    checkpoint: Filled | None = None
    seed: Count = 0
    simulator: SimulatorSection = SimulatorSection()
    spark: dict[str, Annotated[str, BeforeValidator(_text)]] = {}

    @model_validator(mode="after")
    def _something_to_do(self) -> ApplicationFile:
        for section in ("streams", "queries"):
            if not getattr(self, section):
                raise refuse(f"there are no {section}", "add at least one", at=section)
        return self
