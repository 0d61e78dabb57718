"""The verdicts of the last published run of a study, and which change of the study turned one into another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import yaml

from headgate_lab.studies.claims import Verdict

_UNKNOWN = "not known: a run of another size, or chance"


@dataclass(frozen=True)
class Before:
    """A published run."""

    found: str  # when, and with which command and sizes
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)  # by claim
    changes: Mapping[str, str] = field(default_factory=dict)  # by claim: which change of the study did it, and why

    def beside(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """A claim's entry in the JSON report with its earlier verdict (None: there was none) and, if that is another
        one, with the change that did it."""
        before = self.verdicts.get(entry["id"])
        same = before in (None, entry["verdict"])
        return {**entry, "before": before, "change": "" if same else self.changes.get(entry["id"], _UNKNOWN)}


def read_before(study: str) -> Before:
    """Read `before.yaml` beside a study; called when the study is imported. Raises what YAML raises if it is broken."""
    text = files(f"headgate_lab.studies.{study}").joinpath("before.yaml").read_text(encoding="utf-8")
    given = yaml.safe_load(text)
    return Before(given["found"], given["verdicts"], given["changes"] or {})
