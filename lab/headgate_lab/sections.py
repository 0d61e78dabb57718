"""Applications of many parts, made from the sections that an application file has."""

from __future__ import annotations

from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.application.load import Draft


def checked(sections: dict[str, Any]) -> CheckedApplication:
    """The application of these sections.

    `headgate.Application` checks after every call, all that is there so far: for fifty streams that takes seconds, and
    a study makes hundreds of such applications. Here everything is checked once, as for a file.
    """
    return Draft(sections).checked()


def feeder_stream(schema: str, **settings: Any) -> dict[str, Any]:
    """The section of a stream whose tuples are made up."""
    return {"schema": schema, "source": {"kind": "feeder", **settings}}
