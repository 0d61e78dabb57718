"""Large applications, built from sections like those of an application file."""

from __future__ import annotations

from typing import Any

from headgate.application.checked import CheckedApplication
from headgate.application.load import Draft


def checked(sections: dict[str, Any]) -> CheckedApplication:
    """Build the application that these sections describe.

    `headgate.Application` checks everything again after each call. With fifty streams that takes seconds, and a study
    builds hundreds of such applications. Here everything is checked once, as in a file.
    """
    return Draft(sections).checked()


def feeder_stream(schema: str, **settings: Any) -> dict[str, Any]:
    """The section of a stream with generated tuples."""
    return {"schema": schema, "source": {"kind": "feeder", **settings}}
