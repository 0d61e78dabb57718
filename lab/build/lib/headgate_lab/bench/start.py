"""headgate bench start: the time from a command to its first result, compared with a bare PySpark script.

Commands are started as a person would start them, each with its own JVM, and alternate with the script, so that the
ratio is meaningful even on a shared machine. Figures are medians. The script starts a session and runs, once and over
the same files, the SQL of the query that gives the first result.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

import headgate as hg
from headgate.errors import ApplicationError
from headgate_lab.bench.parts import part

EXAMPLES = Path(__file__).parents[3] / "examples"
FILES = ("first.yaml", "readings.csv", "places.csv")
FIRST_OUTPUT = "out/fire.csv"
HEADGATE = (sys.executable, "-m", "headgate")
PATIENCE_S = 600.0
TABLE = b"critical"  # the first class in the demonstration's table; nothing printed before the table names it
BARE = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[*]").getOrCreate()
spark.read.csv("readings.csv", schema="room STRING, temperature INT, at TIMESTAMP").createTempView("readings")
spark.read.csv("places.csv", schema="location STRING, floor INT, building STRING").createTempView("places")
rows = spark.sql(\"\"\"
    SELECT r.room, p.floor, r.temperature
    FROM readings AS r JOIN places AS p ON r.room = p.location
    WHERE r.temperature > 35
\"\"\").collect()
print(len(rows), flush=True)
spark.stop()
"""
# Used in turn: a selection, a sliding aggregate, another stream, a join of streams, DISTINCT over a window.
TEXTS = (
    "SELECT k, v * {n} AS w FROM a WHERE v > 0.{n:02d}",
    "RSTREAM(SELECT k, count(*) AS n, avg(t) AS mean"
    " FROM a [RANGE 10 SECONDS SLIDE 2 SECONDS] WHERE t > {n} GROUP BY k)",
    "SELECT k, t + {n} AS u FROM b WHERE k <> {n}",
    "ISTREAM(SELECT x.k, x.t, y.v FROM a [RANGE 2 SECONDS] AS x, b [RANGE 2 SECONDS] AS y"
    " WHERE x.k = y.k AND x.t > {n} AND y.v > 0.9)",
    "SELECT DISTINCT k FROM b [RANGE 5 SECONDS] WHERE v > 0.{n:02d}",
)
CLASSES = {"critical": 6, "normal": 3, "archive": 1}
SCHEMA = "k INT, v DOUBLE, t INT"
VALUES = {"k": "uniform 0 20", "v": "uniform 0 1", "t": "uniform 0 99"}


@dataclass(frozen=True)
class StartBenchSize:
    """The size of the measurement."""

    rounds: int
    queries: int = 100


FULL = StartBenchSize(rounds=5)
QUICK = StartBenchSize(rounds=1)
SMALLEST = StartBenchSize(rounds=1, queries=2)


def run(quick: bool = False, sizes: StartBenchSize | None = None) -> dict[str, Any]:
    """Measure how long starting takes. `over_bare_spark` should be at most 1.8."""
    if missing := [name for name in FILES if not (EXAMPLES / name).is_file()]:
        raise ApplicationError("bench start", f"{EXAMPLES / missing[0]} is not there", "run it in a checkout")
    chosen = sizes or (QUICK if quick else FULL)
    rounds = chosen.rounds
    first: list[float] = []
    bare: list[float] = []
    for number in range(1, rounds + 1):
        first.append(part(f"first_seconds, {number} of {rounds}", _first))
        bare.append(part(f"bare_spark_seconds, {number} of {rounds}", _bare))
    demo = [part(f"demo_seconds, {number} of {rounds}", _demo) for number in range(1, rounds + 1)]
    many = part("hundred_queries_seconds", lambda: _many(chosen.queries))
    return {
        "first_seconds": statistics.median(first),
        "demo_seconds": statistics.median(demo),
        "over_bare_spark": statistics.median(first) / statistics.median(bare),
        "hundred_queries_seconds": many,
        "bare_spark_seconds": statistics.median(bare),
        "rounds": {"first": first, "bare spark": bare, "demo": demo},
        "settings": {"queries": chosen.queries, "cores": os.cpu_count(), "spark": pyspark.__version__},
    }


def _first() -> float:
    """Seconds from `headgate run examples/first.yaml` to the first row in a file."""
    with _folder() as folder:
        for name in FILES:
            shutil.copy(EXAMPLES / name, folder)
        return _until_file(["run", "first.yaml", "--until-idle", "--json"], folder / FIRST_OUTPUT, folder)


def _many(queries: int) -> float:
    """Seconds from the start of many queries in three classes to the first row of one in the most important class."""
    with _folder() as folder:
        (folder / "many.yaml").write_text(many_queries(queries).to_yaml())
        return _until_file(["run", "many.yaml", "--json"], folder / "first.csv", folder)


def many_queries(count: int) -> hg.Application:
    """An application file with this many queries."""
    app = hg.Application(policy="mbd")
    for name in ("a", "b"):
        app.stream(name, SCHEMA, source=hg.sources.Feeder(rate=100, arrivals="poisson", values=VALUES))
    for name, priority in CLASSES.items():
        app.add_class(name, priority)
    for number in range(count):
        sink = hg.sinks.Csv(path="first.csv") if number == 0 else hg.sinks.Nothing()
        text = TEXTS[number % len(TEXTS)].format(n=number % 100)
        app.query(f"q{number}", text, in_class=list(CLASSES)[number % len(CLASSES)], sink=sink)
    return app


def _bare() -> float:
    """Seconds from the start of the bare script to the result of its query."""
    with _folder() as folder:
        for name in FILES:
            shutil.copy(EXAMPLES / name, folder)
        began = time.monotonic()
        with _process([sys.executable, "-c", BARE], folder, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            if not process.stdout.readline():
                raise RuntimeError(f"the bare script ended with exit code {process.wait()} and no result")
            seconds = time.monotonic() - began
            process.wait(PATIENCE_S)
            return seconds


def _demo() -> float:
    """Seconds from `headgate demo` in a terminal to its first table."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (50, 140))
    began = time.monotonic()
    with _folder() as folder, _process([*HEADGATE, "demo"], folder, stdout=theirs) as process:
        os.close(theirs)
        try:
            _read_until(ours, TABLE, process)
            return time.monotonic() - began
        finally:
            process.send_signal(signal.SIGTERM)
            _drain(ours)
            os.close(ours)


def _read_until(terminal: int, wanted: bytes, process: subprocess.Popen[bytes]) -> None:
    seen = b""
    until = time.monotonic() + PATIENCE_S
    while wanted not in seen:
        if time.monotonic() > until or (process.poll() is not None):
            raise RuntimeError(f"the demonstration showed no table; exit code {process.poll()}")
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536)


def _drain(terminal: int) -> None:
    """Read the remaining output; otherwise the process would block on writing it."""
    with suppress(OSError):  # the other end is closed
        while os.read(terminal, 65536):
            pass


def _until_file(words: list[str], output: Path, folder: Path) -> float:
    """Seconds from a command to the first row of a file. Afterwards the command ends by itself or is stopped."""
    began = time.monotonic()
    with _process([*HEADGATE, *words], folder, stdout=subprocess.DEVNULL) as process:
        _wait(lambda: output.exists() and output.read_bytes().count(b"\n") > 1, process)
        seconds = time.monotonic() - began
        if "--until-idle" in words:
            process.wait(PATIENCE_S)
        return seconds


def _wait(reached: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not reached():
        if process.poll() is not None and not reached():
            raise RuntimeError(f"the command ended with exit code {process.returncode} and no result")
        if time.monotonic() > until:
            raise RuntimeError(f"no result after {PATIENCE_S:.0f} s")
        time.sleep(0.01)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="headgate-start-") as name:
        yield Path(name)


@contextmanager
def _process(command: list[str], folder: Path, stdout: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command for the length of a block; it has ended when the block is left."""
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        if process.stdout is not None:
            process.stdout.close()
