"""Where the rows come from and where the results go, for each pair that is tried."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate_lab.bench.chaos.application import STREAMS, Append, Results, Row, counted, read_csv, write_csv

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


PAIRS: dict[str, Callable[[Path], AbstractContextManager[Pair]]] = {
    "files to csv and parquet": files,
}


def _parquet(path: Path) -> Counter[tuple[str, ...]]:
    import pyarrow.dataset as ds

    table = ds.dataset(path, format="parquet").to_table()
    return counted(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _newest_part(path: Path) -> int:
    """The newest epoch in a folder of Parquet files."""
    names = os.listdir(path) if path.is_dir() else []
    return max((int(found[1]) for name in names if (found := _PART.fullmatch(name))), default=0)
