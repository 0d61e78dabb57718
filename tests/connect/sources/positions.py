"""Reads sources in pieces, interrupts them, and goes on at their positions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headgate.connect.sources import Source, make_source
from headgate.connect.sources.base import position_of
from headgate.connect.sources.rejects import OnReject
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema

SCHEMA = "k INT, t STRING"


def stream(schema: str = SCHEMA, time: str | None = None, **settings: Any) -> Stream:
    return Stream("s", parse_schema(schema, "s"), settings, time)


def opened(of: Stream, folder: Path, resume: Any = None, on_reject: OnReject | None = None) -> Source:
    return make_source(of, folder, 0, 0, on_reject=on_reject, resume=resume)


def read(source: Source, now: float = 0.0, limit: int | None = None, rounds: int = 1000) -> list[tuple[Any, ...]]:
    """The rows that are there, with their sequence numbers."""
    found: list[tuple[Any, ...]] = []
    for _ in range(rounds):
        now += 1.0  # sources with an interval look again
        table = source.poll(now, limit)
        if table is None:
            break
        assert table.schema.equals(source.schema)
        found += [tuple(row[name] for name in row if name != "_arrival") for row in table.to_pylist()]
    return found


def read_with_restarts(of: Stream, folder: Path, limits: Iterable[int]) -> list[tuple[Any, ...]]:
    """All rows, with a restart after each poll; the polls give at most so many rows, and then everything."""
    found: list[tuple[Any, ...]] = []
    position = None
    for limit in limits:
        source = opened(of, folder, position)
        table = source.poll(0.0, limit)
        if table is not None:
            found += [tuple(row[name] for name in row if name != "_arrival") for row in table.to_pylist()]
        position = json.loads(json.dumps(position_of(source)))
        source.close()
    source = opened(of, folder, position)
    found += read(source)
    source.close()
    return found
