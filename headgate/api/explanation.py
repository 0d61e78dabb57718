"""What an application is, before it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headgate.display.json_values import json_value


class Explanation:
    """What `Application.explain` found: streams, queries and their operators, paths, segments, classes.

    >>> import headgate as hg
    >>> found = hg.load("examples/first.yaml").explain()
    >>> list(found.to_dict()["queries"])
    ['fire', 'averages']
    >>> "averages class archive" in str(found)
    True
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        """All of it, as `headgate explain --json` prints it."""
        found: dict[str, Any] = json_value(self._data)
        return found

    def __str__(self) -> str:
        from headgate.display.capture import as_text
        from headgate.display.explanation import print_explanation

        return as_text(lambda out: print_explanation(self._data, out))

    def __repr__(self) -> str:
        return f"<Explanation of {', '.join(self._data['queries'])}>"

    def _repr_html_(self) -> str:
        from headgate.display.capture import as_html
        from headgate.display.explanation import print_explanation

        return as_html(lambda out: print_explanation(self._data, out))
