"""The building blocks of the application file's models: sections, and the types of their values."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from headgate import durations
from headgate.errors import known_names


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


def as_text(value: Any) -> Any:
    """Accept numbers and booleans where an expression or a setting is expected."""
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
Expression = Annotated[str, BeforeValidator(as_text), AfterValidator(_filled)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, lt=2**63)]


class Section(BaseModel):
    """A mapping in the file with a fixed set of keys. A key without a value counts as left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    def known(cls) -> list[str]:
        """The keys that a file may use."""
        return [field.alias or name for name, field in cls.model_fields.items()]

    @model_validator(mode="before")
    @classmethod
    def _known_keys_only(cls, data: Any) -> Any:
        # Before the fields are checked: a misspelled key is a better message than the right one being missing.
        if not isinstance(data, dict):
            raise refuse(f"{shown(data)} is not a mapping", f"give it as {{key: value}} with {_listed(cls)}")
        for key in data:
            if key not in cls.known():
                raise refuse(f"there is no key '{key}' here", known_names("keys", cls.known(), key), at=key)
        return {key: value for key, value in data.items() if value is not None}


def _listed(section: type[Section]) -> str:
    return "the keys " + ", ".join(section.known())


def shown(value: Any) -> str:
    """A value as messages show it, cut to 60 characters."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) < 60 else text[:57] + "..."
