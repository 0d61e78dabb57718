"""How the time of queries over a relation grows with its number of updates; part of `headgate bench state`.

An update replaces the row of a key, so the number of live rows stays the same. Twice the updates should take twice the
time: less if the fixed cost of a call dominates, more if old changes are read repeatedly.
"""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

import headgate as hg

KEYS = 200
QUERIES = {
    "max": "SELECT max(v) AS x FROM r",
    "max by group": "SELECT k % 20 AS g, max(v) AS x, min(v) AS y FROM r GROUP BY k % 20",
    "sum and average": "SELECT sum(v) AS x, avg(v) AS y, count(*) AS n FROM r",
    "sum of doubles": "SELECT sum(d) AS x FROM r",
    "count distinct": "SELECT count(DISTINCT v % 50) AS x FROM r",
    "percentile": "SELECT percentile(v, 0.5) AS x FROM r",
    "having": "SELECT k % 20 AS g, count(*) AS n FROM r GROUP BY k % 20 HAVING max(v) > 500",
    "distinct": "SELECT DISTINCT v FROM r",
    "join": "SELECT a.k, b.v FROM r AS a, r AS b WHERE a.k = b.k",
}


def compare(
    spark: SparkSession, kinds: Sequence[str], counts: Sequence[int], rounds: int
) -> dict[str, dict[str, float]]:
    """Median seconds of each kind of query by number of updates, without the time to start the query."""
    taken: dict[str, dict[str, list[float]]] = {kind: {str(count): [] for count in counts} for kind in kinds}
    with tempfile.TemporaryDirectory() as name:
        for kind in kinds:
            for number in range(rounds + 1):
                for count in counts:
                    seconds = _seconds(spark, Path(name), QUERIES[kind], count)
                    if number:  # the first round warms up
                        taken[kind][str(count)].append(seconds)
    return {kind: {n: statistics.median(values) for n, values in found.items()} for kind, found in taken.items()}


def _seconds(spark: SparkSession, folder: Path, query: str, count: int) -> float:
    _write(folder / "updates.csv", count)
    app = hg.Application(policy={"name": "rr", "unit": "query", "quantum": None}, folder=folder)
    source = hg.sources.Csv(path="updates.csv", header=True)
    app.stream("r", "k INT, v INT, d DOUBLE, t BIGINT", time="t", relation=True, source=source)
    app.query("q", query, sink=hg.sinks.Nothing())
    with app.start(spark) as run:
        started = time.perf_counter()
        run.wait()
        seconds = time.perf_counter() - started
    if errors := run.report().errors:
        raise RuntimeError(str(errors))
    return seconds


def _write(path: Path, count: int) -> None:
    rng = random.Random(7)
    values: dict[int, int] = {}
    with path.open("w") as file:
        file.write("change,k,v,d,t\n")
        for time_ in range(count):
            key = rng.randrange(KEYS)
            if key in values:
                file.write(f"-,{key},{values[key]},{values[key] / 7},{time_}\n")
            values[key] = rng.randrange(1_000)
            file.write(f"+,{key},{values[key]},{values[key] / 7},{time_}\n")
