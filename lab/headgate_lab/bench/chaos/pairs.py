"""Where the rows come from and where the results go, for each pair that is tried."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate_lab.bench.chaos.application import QUERIES, STREAMS, Append, Results, Row, counted, read_csv, write_csv

_PASSWORD = "HEADGATE_CHAOS_PASSWORD"  # the variable with the password of the tables
_PART = re.compile(r"part-(\d+)-\d+\.parquet")


class NotThere(RuntimeError):
    """A pair cannot be tried on this machine; the message says why."""


@dataclass(frozen=True)
class Pair:
    """An input and outputs."""

    sources: Mapping[str, Mapping[str, Any]]
    sinks: Mapping[str, Mapping[str, Any]]
    append: Append
    results: Callable[[], Results]
    committed: Callable[[str], int | None]  # the newest epoch of a query in its target; None: it takes no epochs


@contextmanager
def files(folder: Path) -> Iterator[Pair]:
    """Files that come into a folder; results in a CSV file and in Parquet files."""
    inputs = {name: folder / name for name in STREAMS}
    for one in inputs.values():
        one.mkdir()
    written = Counter[str]()

    def append(stream: str, rows: list[Row]) -> None:
        beside = inputs[stream] / ".next"
        write_csv(beside, rows)
        os.replace(beside, inputs[stream] / f"{written[stream]:08d}.csv")
        written[stream] += 1

    def results() -> Results:
        return {"counts": read_csv(folder / "counts.csv"), "pairs": _parquet(folder / "pairs")}

    sources = {name: {"kind": "folder", "path": name, "format": "csv", "interval": "50 ms"} for name in STREAMS}
    sinks = {"counts": {"kind": "csv", "path": "counts.csv"}, "pairs": {"kind": "parquet", "path": "pairs"}}
    newest = {"pairs": lambda: _newest_part(folder / "pairs")}
    yield Pair(sources, sinks, append, results, lambda query: newest[query]() if query in newest else None)


@contextmanager
def kafka_to_parquet(folder: Path) -> Iterator[Pair]:
    """Topics; results in Parquet files."""
    with _topics(folder) as (sources, append):
        sinks = {query: {"kind": "parquet", "path": query} for query in QUERIES}
        yield Pair(
            sources,
            sinks,
            append,
            lambda: {query: _parquet(folder / query) for query in QUERIES},
            lambda query: _newest_part(folder / query),
        )


@contextmanager
def kafka_to_postgresql(folder: Path) -> Iterator[Pair]:
    """Topics; results in tables."""
    try:
        import psycopg

        from headgate_lab.postgresql import PASSWORD, NoPostgreSQL, PostgreSQLServer
    except ImportError as missing:
        raise NotThere(f"there is no {missing.name}; pip install 'headgate[postgresql]'") from missing
    try:
        server = PostgreSQLServer()
    except NoPostgreSQL as reason:
        raise NotThere(str(reason)) from reason

    def read(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(server.url, password=PASSWORD) as connection:
            return connection.execute(statement, values).fetchall()

    def epoch(query: str) -> int:
        """As the sink notes it beside its table."""
        try:
            found = read("SELECT epoch FROM headgate_epochs WHERE sink = %s", f"{query} in {query}")
        except psycopg.errors.UndefinedTable:
            return 0
        return int(found[0][0]) if found else 0

    os.environ[_PASSWORD] = PASSWORD  # the process that is killed has the same environment
    columns = {"counts": "k, n, total", "pairs": "k, cv, vv"}
    table = {"kind": "postgresql", "url": server.url, "password_env": _PASSWORD, "create": True}
    try:
        with _topics(folder) as (sources, append):
            yield Pair(
                sources,
                {query: {**table, "table": query} for query in QUERIES},
                append,
                lambda: {query: counted(read(f"SELECT {columns[query]} FROM {query}")) for query in QUERIES},
                epoch,
            )
    finally:
        del os.environ[_PASSWORD]
        server.remove()


@contextmanager
def _topics(folder: Path) -> Iterator[tuple[Mapping[str, Mapping[str, Any]], Append]]:
    """A broker with a topic for each stream."""
    try:
        from confluent_kafka import Producer

        from headgate_lab.bench.kafka_broker import Broker, NoKafka, make_topic
    except ImportError as missing:
        raise NotThere(f"there is no {missing.name}; pip install 'headgate[kafka]'") from missing
    try:
        broker = Broker(folder / "kafka")
    except NoKafka as reason:
        raise NotThere(str(reason)) from reason
    with broker:
        producer = Producer({"bootstrap.servers": broker.servers, "enable.idempotence": True})
        for name in STREAMS:
            make_topic(broker.servers, name)

        def append(stream: str, rows: list[Row]) -> None:
            for k, v, t in rows:
                producer.produce(stream, json.dumps({"k": k, "v": v, "t": t}))
            producer.flush()

        yield {name: {"kind": "kafka", "servers": broker.servers, "topic": name} for name in STREAMS}, append


PAIRS: dict[str, Callable[[Path], AbstractContextManager[Pair]]] = {
    "files to csv and parquet": files,
    "kafka to parquet": kafka_to_parquet,
    "kafka to postgresql": kafka_to_postgresql,
}


def _parquet(path: Path) -> Counter[tuple[str, ...]]:
    import pyarrow.dataset as ds

    table = ds.dataset(path, format="parquet").to_table()
    return counted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _newest_part(path: Path) -> int:
    """The newest epoch in a folder of Parquet files."""
    names = os.listdir(path) if path.is_dir() else []
    return max((int(found[1]) for name in names if (found := _PART.fullmatch(name))), default=0)
