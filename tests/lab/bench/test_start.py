"""`headgate bench start` without a JVM: stand-ins run instead of commands. The real thing: test_every_bench.py."""

from __future__ import annotations

import math
import sys

import pytest

from headgate.application.load import load_application
from headgate.cli.demo import APP, load_in_words
from headgate_lab.bench import start

# Checks the application file as `headgate run` would, then writes a row where its first query does; the demonstration
# prints the words before its table, then the first class of it.
STAND_IN = """
import sys, time
from headgate.application.load import load_application
from headgate.cli.demo import APP, load_in_words
if sys.argv[1] == "demo":
    print(load_in_words(load_application(APP).plan), flush=True)
    print("critical", flush=True)
    time.sleep(60)
app = load_application(sys.argv[2])
sink = next(iter(app.plan.queries.values())).sink
path = app.folder / sink["path"]
path.parent.mkdir(exist_ok=True)
path.write_text("header\\nrow\\n")
"""


def test_it_measures_what_its_commands_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """It looked for its example beside the laboratory, and every run was refused; nothing noticed."""
    monkeypatch.setattr(start, "HEADGATE", (sys.executable, "-c", STAND_IN))
    monkeypatch.setattr(start, "BARE", "print(3)")
    monkeypatch.setattr(start, "PATIENCE_S", 60.0)
    found = start.run(sizes=start.SMALLEST)
    for name in ("first_seconds", "demo_seconds", "over_bare_spark", "hundred_queries_seconds", "bare_spark_seconds"):
        assert math.isfinite(found[name])
        assert found[name] > 0


def test_what_it_waits_for_is_what_comes_first() -> None:
    queries = load_application(start.EXAMPLES / "first.yaml").plan.queries
    assert queries["fire"].sink["path"] == start.FIRST_OUTPUT
    demo = load_application(APP).plan
    assert start.TABLE.decode() == next(iter(demo.classes))
    assert start.TABLE.decode() not in load_in_words(demo)


def test_the_bare_script_runs_the_query_of_the_example() -> None:
    text = " ".join(load_application(start.EXAMPLES / "first.yaml").plan.queries["fire"].cql.split())
    bare = " ".join(start.BARE.split())
    for words in ("r.room, p.floor, r.temperature", "r.room = p.location", "r.temperature > 35"):
        assert words in bare
        assert words in text
