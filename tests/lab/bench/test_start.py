"""`headgate bench start`: what needs no JVM. That it runs: test_every_bench.py, with `-m soak`."""

from __future__ import annotations

from headgate.application.load import load_application
from headgate_lab.bench import start


def test_the_example_that_it_starts_is_there() -> None:
    """It was sought beside the laboratory, and every run of the bench was refused."""
    assert [name for name in start.FILES if not (start.EXAMPLES / name).is_file()] == []
    sink = load_application(start.EXAMPLES / "first.yaml").plan.queries["fire"].sink
    assert sink["path"] == start.FIRST_OUTPUT
