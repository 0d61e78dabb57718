"""`headgate policies`: every scheduling policy, what it schedules, what it needs to know and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, one_line_errors, print_json

if TYPE_CHECKING:
    from headgate.scheduling.policy import Policy

EXAMPLES = """
[bold]Examples[/bold]

headgate policies

headgate policies --json
"""

# Which to choose when; docs/policies.md begins with the same words.
ADVICE = (
    "Queries of unequal importance: declare classes, leave out `policy`: `mbd` runs.",
    "All queries equally important: declare no classes: `rr` runs.",
    "Anything else: choose below, then try `headgate simulate APP --policy NAME`.",
)
CHOICES = (
    ("important queries answer first, and no class starves", "mbd", "slots in a round, by the priority of each class"),
    ("the same, but classes share time rather than calls", "abd", "slices of time, by the priority of each class"),
    ("every query gets its turn", "rr", "round robin; `unit: query` needs the fewest jobs on Spark"),
    ("first come, first served", "fifo", "the oldest tuple first"),
    ("the lowest mean latency, with costs known or learned", "hr", "the most results per second first"),
    ("quick queries answer quickly, slow ones may be slow", "hnr", "as hr, divided by the time a tuple needs alone"),
    ("little memory during bursts", "segment", "what releases the most memory per second first"),
    ("low latency, but little memory once queues fill up", "threshold", "paths first; segments while memory is short"),
)


@one_line_errors
def policies(as_json: JsonOption = False) -> None:
    """List the scheduling policies with their parameters and defaults."""
    from headgate.policies.registry import POLICIES

    described = [describe(POLICIES[name]) for name in sorted(POLICIES)]
    if as_json:
        print_json(described)
    else:
        _print(described)


def describe(kind: type[Policy]) -> dict[str, Any]:
    """A policy class as plain data."""
    from headgate.policies.registry import policy_parameters

    parameters = policy_parameters(kind)
    return {
        "name": kind.name,
        "unit": parameters.get("unit", kind.unit),
        "preemption": kind.preemption,
        "work_conserving": kind.work_conserving,
        "needs": list(kind.needs),
        "paper": kind.paper,
        "parameters": {
            name: None if default is inspect.Parameter.empty else default for name, default in parameters.items()
        },
        "summary": (inspect.getdoc(kind) or "").split("\n")[0],
    }


def _print(described: list[dict[str, Any]]) -> None:
    from headgate.display.tables import FittedTable, TableColumn

    out = console()
    for line in ADVICE:
        out.print(line, markup=False, highlight=False)
    choice = (TableColumn("what you want"), TableColumn("policy"), TableColumn("how it does that", spare=1))
    columns = (TableColumn("policy"), TableColumn("schedules"), TableColumn("what it does"))
    rows = [(one["name"], one["unit"], _details(one)) for one in described]
    out.print("", FittedTable(choice, CHOICES), "", FittedTable(columns, rows, spaced=True), sep="\n")


def _details(one: Mapping[str, Any]) -> str:
    """What a policy does, its parameters with their defaults, what it must know, and where it comes from."""
    lines = [one["summary"]]
    if one["parameters"]:
        defaults = (f"{name}: {_shown(default)}" for name, default in one["parameters"].items())
        lines.append(f"parameters {', '.join(defaults)}")
    if one["preemption"] != "none":
        lines.append(f"a call may be stopped by: {one['preemption']}")
    if one["needs"]:
        lines.append(f"needs {', '.join(one['needs'])}")
    return "\n".join([*lines, *([one["paper"]] if one["paper"] else [])])


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def register(app: typer.Typer) -> None:
    app.command("policies", epilog=EXAMPLES)(policies)
