"""The rehearsal, without Spark: when there is one, in what order it runs units, and what it skips if time is short."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from headgate.plan.model import Edge, Plan
from headgate.plan.operators import Port, Select
from headgate.runtime.spark.calls import rehearsal
from headgate.runtime.spark.calls.caller import CHECKS
from headgate.runtime.spark.calls.rehearsal import REHEARSAL_S, rehearsal_s, rehearses, warm_up
from tests.runtime.spark.helpers import app_of, plan_of, queued_numbers, simple_plan

CLASSES = {"archive": "low", "alarm": "high", "log": "low", "fire": "high"}


class FakeCaller:
    """A caller that passes on every tuple and records what it ran."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, int]] = []  # operator, rows
        self.states = SimpleNamespace(forget=lambda: None)

    def run(self, operators: Any, inputs: Any, bounds: Any) -> Any:
        (name,) = operators
        (table,) = inputs.values()
        self.ran.append((name, table.num_rows))
        return SimpleNamespace(outputs={Port(name): table})

    def forget_calls(self) -> None:
        self.forgotten = list(self.ran)


def plan_with_classes() -> Plan:
    selects = [Select(id=f"{name}/select", inputs=(Port("s"),), where="v > 0.5") for name in CLASSES]
    return plan_of(selects, {name: Port(f"{name}/select") for name in CLASSES}, classes=CLASSES)


def units(plan: Plan) -> Any:
    return [
        SimpleNamespace(id=name, operators=(f"{name}/select",), queries=(name,), edges=(Edge(f"{name}/select", 0),))
        for name in CLASSES
    ]


def rehearsed(seconds: float | None) -> tuple[list[str], list[str]]:
    plan, caller, messages = plan_with_classes(), FakeCaller(), []
    warm_up(caller, plan, units(plan), {"s": queued_numbers(10, 1)}, seconds, messages.append)  # type: ignore[arg-type]
    assert all(rows == 10 // CHECKS for _, rows in caller.ran)
    return [name.removesuffix("/select") for name, _ in caller.ran], messages


def test_the_most_important_units_are_planned_and_compared_first(monkeypatch: pytest.MonkeyPatch) -> None:
    # Several threads also start units in this order, but may finish in any order.
    monkeypatch.setattr(rehearsal, "THREADS", 1)
    ran, messages = rehearsed(None)
    assert ran == [name for name in ("alarm", "fire", "archive", "log") for _ in range(CHECKS)]
    assert len(messages) == 8
    assert messages[0].startswith("rehearsing: call 1 of 8, ")


def test_the_most_important_class_is_planned_once_even_without_time() -> None:
    ran, _ = rehearsed(-1.0)
    assert sorted(ran) == ["alarm", "fire"]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ({"kind": "csv", "path": "x.csv"}, False),
        ({"kind": "json", "path": "x.json", "replay": "fast"}, False),
        ({"kind": "csv", "path": "x.csv", "replay": "real"}, True),
        ({"kind": "csv", "path": "x.csv", "replay": 10}, True),
        ({"kind": "feeder", "rate": 10}, True),
        ({"kind": "push"}, True),
    ],
)
def test_files_that_are_read_as_fast_as_possible_are_not_rehearsed(source: dict[str, Any], wanted: bool) -> None:
    plan = simple_plan()
    app = app_of(replace(plan, streams={"s": replace(plan.streams["s"], source=source)}))
    assert rehearses(app) == wanted
    assert rehearsal_s(app) == REHEARSAL_S
    assert rehearses(replace(app, rehearse=True))
    assert rehearsal_s(replace(app, rehearse=True)) is None
    assert not rehearses(replace(app, rehearse=False))
