"""`headgate policies`: every scheduling policy, what it schedules, what it needs to know and its parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import typer

from headgate.cli.options import JsonOption
from headgate.cli.output import console, print_json, speaks_plainly

if TYPE_CHECKING:
    from headgate.policies.base import Policy

EXAMPLES = """
[bold]Examples[/bold]

headgate policies

headgate policies --json
"""


@speaks_plainly
def policies(as_json: JsonOption = False) -> None:
    """List the scheduling policies with their parameters and defaults."""
    from headgate.policies.registry import POLICIES

    told = [describe(POLICIES[name]) for name in sorted(POLICIES)]
    if as_json:
        print_json(told)
    else:
        _print(told)


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


def _print(told: list[dict[str, Any]]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("policy", "unit", "preemption", "needs", "parameters", "what it does", show_lines=True)
    for one in told:
        parameters = "\n".join(f"{name}: {_shown(default)}" for name, default in one["parameters"].items())
        cells = (
            one["name"],
            one["unit"],
            one["preemption"],
            "\n".join(one["needs"]) or "nothing",
            parameters,
            f"{one['summary']}\n{one['paper']}".strip(),
        )
        table.add_row(*(escape(cell) for cell in cells))
    console().print(table)


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def register(app: typer.Typer) -> None:
    app.command("policies", epilog=EXAMPLES)(policies)
