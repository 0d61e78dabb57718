"""docs/core.md lists every event, every instruction and every module of the core, and counts the drawn schedules."""

import re
from typing import get_args

from headgate.scheduling.events import Event
from headgate.scheduling.instructions import Instruction
from tests.conformance.choices import ALL
from tests.docs.pages import ROOT
from tests.scheduling.test_core import SCHEDULES

TEXT = (ROOT / "docs" / "core.md").read_text(encoding="utf-8")


def rows_with(names: set[str]) -> set[str]:
    """The names that begin a row of a table."""
    first = [re.findall(r"`(\w+(?:\.py)?)`", line.split("|")[1]) for line in TEXT.splitlines() if line.startswith("|")]
    return names & {name for cell in first for name in cell}


def test_every_event_and_instruction_is_in_a_table() -> None:
    names = {kind.__name__ for kind in (*Event.__subclasses__(), *get_args(Instruction))}
    assert rows_with(names) == names


def test_every_module_is_in_a_table() -> None:
    modules = {path.name for path in (ROOT / "headgate" / "scheduling").glob("[a-z]*.py")}
    assert rows_with(modules) == modules


def test_the_numbers_of_schedules_match_the_tests() -> None:
    assert f"{len(ALL)} settings" in TEXT
    for each in SCHEDULES.values():
        assert TEXT.count(f"| {len(ALL) * each:,} ") == 2
        assert f"{2 * len(ALL) * each + each:,} " in TEXT
