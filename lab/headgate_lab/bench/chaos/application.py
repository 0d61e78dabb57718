"""The application that is killed: a windowed join and an aggregate over two streams; and what they should give."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

Row = tuple[int, int, str]  # k, v, t
Results = Mapping[str, Counter[tuple[str, ...]]]  # by query; each row as text

STREAMS = ("clicks", "views")
QUERIES = {
    "counts": "ISTREAM(SELECT k, count(*) AS n, sum(v) AS total FROM clicks [RANGE 4 SECONDS SLIDE 1 SECOND] "
    "GROUP BY k)",
    "pairs": "ISTREAM(SELECT clicks.k, clicks.v AS cv, views.v AS vv FROM clicks [RANGE 2 SECONDS], "
    "views [RANGE 2 SECONDS] WHERE clicks.k = views.k)",
}
END_KEY = -1  # of the last rows: they come so late that all windows before them are complete, and do not count
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Workload:
    """What comes in: rows that follow from their numbers."""

    rate: int = 100  # rows a second of each stream, of event time and of the clock
    keys: int = 100
    checkpoint_s: float = 1.0  # how often one is taken
    most_s: float = 3.0  # how long a life lasts at most, after its first checkpoint


SMALL = Workload(rate=50, keys=20, checkpoint_s=0.5, most_s=1.0)


def rows(workload: Workload, first: int, end: int) -> Iterator[Row]:
    """The rows of both streams with these numbers; they are the same."""
    for number in range(first, end):
        key = number * 7919 % workload.keys
        yield key, number, _time(number / workload.rate)


def last_row(workload: Workload, number: int) -> Row:
    """The row that ends a stream."""
    return END_KEY, number, _time(number / workload.rate + 3600)


def _time(seconds: float) -> str:
    return (_FIRST + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S.%f")


def sections(
    sources: Mapping[str, Mapping[str, Any]], sinks: Mapping[str, Mapping[str, Any]], workload: Workload | None = None
) -> dict[str, Any]:
    """The application; with a workload it keeps checkpoints."""
    found: dict[str, Any] = {
        "streams": {
            name: {"schema": "k INT, v BIGINT, t TIMESTAMP", "time": "t", "max_jump": "off", "source": dict(source)}
            for name, source in sources.items()
        },
        "queries": {name: {"cql": QUERIES[name], "sink": dict(sink)} for name, sink in sinks.items()},
        "slots": 2,
        "rehearse": False,
        "spark": {"master": "local[2]", "spark.ui.enabled": "false"},
    }
    if workload is not None:
        found["checkpoint"] = {"path": "state", "interval": f"{workload.checkpoint_s} s"}
    return found


def write_application(folder: Path, found: Mapping[str, Any]) -> Path:
    """The application as a file."""
    path = folder / "app.yaml"
    path.write_text(yaml.safe_dump(dict(found), sort_keys=False))
    return path


def expected(workload: Workload, count: int) -> Results:
    """What the first `count` rows give in a run that nobody disturbs, over files that are all there."""
    with tempfile.TemporaryDirectory(prefix="headgate-chaos-") as name:
        folder = Path(name)
        source: dict[str, Mapping[str, Any]] = {}
        for stream in STREAMS:
            write_csv(folder / f"{stream}.csv", [*rows(workload, 0, count), last_row(workload, count)])
            source[stream] = {"kind": "csv", "path": f"{stream}.csv"}
        sinks = {query: {"kind": "csv", "path": f"{query}-results.csv"} for query in QUERIES}
        command = [sys.executable, "-m", "headgate", "run", str(write_application(folder, sections(source, sinks)))]
        done = subprocess.run([*command, "--until-idle"], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"the undisturbed run failed:\n{done.stderr[-2000:]}")
        return {query: read_csv(folder / f"{query}-results.csv") for query in QUERIES}


def write_csv(path: Path, found: Iterable[Row]) -> None:
    """Rows as a file with a header."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("k", "v", "t"))
        writer.writerows(found)


def read_csv(path: Path) -> Counter[tuple[str, ...]]:
    """The results in a file."""
    with path.open(newline="") as file:
        return counted(list(csv.reader(file))[1:])


def counted(found: Iterable[Iterable[Any]]) -> Counter[tuple[str, ...]]:
    """Results by how often they are there, without those of the rows that end a stream."""
    shown = (tuple(map(str, row)) for row in found)
    return Counter(row for row in shown if row[0] != str(END_KEY))


Append = Callable[[str, list[Row]], None]  # adds rows to a stream
