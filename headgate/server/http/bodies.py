"""What requests hold and answers are: the sections of an application file, each with its name."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Section = dict[str, Any]
Time = float | str
POLICY = 'A policy\'s name, or its name and parameters: `{"name": "rr", "quantum": 0.05}`.'


class Body(BaseModel):
    """A part of a request; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)


class Named(Body):
    """Something to register."""

    name: str = Field(min_length=1, max_length=200, examples=["trades"])

    def section(self) -> Section:
        """The section of an application file."""
        return self.model_dump(by_alias=True, exclude={"name"}, exclude_none=True, exclude_defaults=False)


class NewStream(Named):
    """A stream: its columns, and where its tuples come from."""

    schema_: str = Field(alias="schema", examples=["symbol STRING, price DOUBLE"])
    source: Section = Field({"kind": "push"}, description="Default: rows are pushed to `/v1/streams/NAME/rows`.")
    time: str | None = Field(None, description="The column with the event time.")
    slack: Time | None = Field(None, description='How late tuples may be: seconds, or `"5 s"`.')
    max_jump: Time | None = None
    relation: bool | None = None


class NewTable(Named):
    """A stored table; requests give its rows."""

    schema_: str = Field(alias="schema", examples=["symbol STRING, sector STRING"])
    kind: str = "rows"
    rows: list[Section] | None = None
    path: str | None = None


class NewClass(Named):
    """A class of queries; a larger priority is more important."""

    priority: int = Field(gt=0, lt=2**31, examples=[6])
    linger: Time | None = None


class Tolerance(Body):
    """How a query's load may be shed."""

    attribute: str
    drop: Literal["lowest", "center", "highest"]


class NewQuery(Named):
    """A continuous query, with the keys of an application file."""

    cql: str | None = Field(None, examples=["SELECT symbol, price FROM trades WHERE price > 100"])
    operators: list[Section] | None = None
    class_: str | None = Field(None, alias="class")
    qos: Section | None = Field(None, examples=[{"latency": {"priority": "must", "points": [[0, 1.0], [60, 1.0]]}}])
    tolerance: float | None = Field(None, ge=0, lt=1)
    shed: Literal["random"] | Tolerance | None = None
    error_bounds: bool | None = None
    emit: Literal["changes", "final"] | None = None
    on_error: Literal["stop", "skip"] | None = None
    policy: str | Section | None = Field(None, description=POLICY)
    goals: list[Section] | None = None
    linger: Time | None = None
    sink: Section | None = Field(None, description="Default: results are kept in memory, to be read here.")
    stats: Section | None = None


class ClassChange(Body):
    """What to change of a class."""

    priority: int = Field(gt=0, lt=2**31)


class QueryChange(Body):
    """What to change of a query. What is left out stays; null takes a value away."""

    class_: str | None = Field(None, alias="class")
    qos: Section | None = None
    tolerance: float | None = Field(None, ge=0, lt=1)
    shed: Literal["random"] | Tolerance | None = None
    policy: str | Section | None = Field(None, description=POLICY)

    def changes(self) -> Section:
        """What the request names, null included."""
        found = self.model_dump(by_alias=True, exclude_unset=True)
        if isinstance(found.get("policy"), str):
            found["policy"] = {"name": found["policy"]}
        return found


class Policy(BaseModel):
    """A policy and its parameters."""

    name: str
    parameters: Section = {}


class Snapshot(Body):
    """A query that is asked once."""

    cql: str = Field(examples=["SELECT symbol, price FROM large ORDER BY price DESC LIMIT 10"])
    limit: int = Field(10_000, gt=0, le=100_000)


class NewToken(Body):
    """A token to make."""

    name: str = Field(min_length=1, max_length=100)
    role: Literal["read", "write", "admin"]


class Registered(BaseModel):
    """What is registered under a name."""

    name: str
    section: Section


class RegisteredQuery(Registered):
    """A query and how it does."""

    state: Literal["running", "stopped", "ended", "failed"]
    error: str | None = None


class Taken(BaseModel):
    """How many rows were taken in."""

    rows: int


class Rows(BaseModel):
    """Rows of a result."""

    columns: list[str]
    rows: list[Section]
    total: int | None = Field(None, description="How many rows there have been so far.")


class Valid(BaseModel):
    """A query that could be registered: its result's columns, and what to know about it."""

    columns: list[Section]
    warnings: list[str]


class Health(BaseModel):
    """Is the server up?"""

    status: str
