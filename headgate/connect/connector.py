"""What sources, sinks and tables have in common: a kind, and settings that are read from a file or given in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from pydantic import ConfigDict, ValidationError, model_validator

from headgate.settings.errors import first_error
from headgate.settings.sections import Section


class Connector(Section):
    """A class with a `kind` and fields. The fields are its settings: keys in a file, arguments in Python.

    A field may hold anything, a function for example; such a connector can be used from Python alone.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    kind: ClassVar[str] = ""
    may_change: ClassVar[frozenset[str]] = frozenset()  # settings that do not matter to what a checkpoint holds

    def __init__(self, **settings: Any) -> None:
        """Raises ApplicationError for a setting that is wrong, as for a file."""
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise first_error(error, settings, lambda place: 0, type(self).__name__) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # files bypass it, for their errors

    @classmethod
    def known(cls) -> list[str]:
        """The keys that a file may use."""
        return ["kind", *super().known()]

    @model_validator(mode="before")
    @classmethod
    def _without_kind(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if key != "kind"} if isinstance(data, dict) else data

    def settings(self) -> dict[str, Any]:
        """The kind and the settings, as a file has them; what is not set is left out."""
        return {"kind": self.kind, **self.model_dump(by_alias=True, exclude_none=True)}


C = TypeVar("C", bound=Connector)


def connector_of(kind: type[C], settings: Mapping[str, Any], place: str) -> C:
    """A connector from settings that were not checked with an application. ApplicationError: they are wrong."""
    try:
        return kind.model_validate(dict(settings))
    except ValidationError as error:
        raise first_error(error, settings, lambda place: 0, place) from None
