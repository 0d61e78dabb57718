"""Small plans and batches for the Spark tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.application.checked import CheckedApplication
from headgate.plan.arrow_types import port_schema
from headgate.plan.flows import Flow
from headgate.plan.model import Plan, Stream, Table
from headgate.plan.operators import Operator, Port, Project, Select
from headgate.sql.schema import STAMPS, TIME, Schema, parse_schema
from tests.applications import app_of_plan, bare_plan

NUMBERS = parse_schema("k INT, v DOUBLE", "test")


def stream(name: str, schema: Schema | str = NUMBERS) -> Stream:
    return Stream(name, parse_schema(schema, name) if isinstance(schema, str) else schema, {"kind": "feeder"})


def plan_of(
    operators: Iterable[Operator],
    roots: dict[str, Port],
    streams: Sequence[Stream] = (stream("s"),),
    tables: Sequence[Table] = (),
    classes: dict[str, str] | None = None,
) -> Plan:
    return bare_plan(streams, operators, roots, {"high": 6, "low": 1}, classes, tables)


def simple_plan(where: str = "v > 0.5", columns: dict[str, str] | None = None, schema: Schema | str = NUMBERS) -> Plan:
    """Stream s, query q: select, project."""
    select = Select(id="q/select", inputs=(Port("s"),), where=where)
    project = Project(id="q/project", inputs=(Port("q/select"),), columns=columns or {"k": "k", "w": "v * 2"})
    return plan_of([select, project], {"q": Port("q/project")}, [stream("s", schema)])


def app_of(plan: Plan, policy: str = "rr", slots: int = 1, **parameters: Any) -> CheckedApplication:
    return app_of_plan(plan, policy, parameters, slots=slots)


def numbers(rows: int, seed: int, first: int = 0) -> pa.Table:
    """A batch of the stream `k INT, v DOUBLE` as its source delivers it; a tenth of v is null."""
    return queued_numbers(rows, seed, first).drop_columns([TIME])


def queued_numbers(rows: int, seed: int, first: int = 0) -> pa.Table:
    """The same batch as it waits in a queue, with its time."""
    rng = np.random.default_rng(seed)
    v = rng.random(rows)
    return batch(NUMBERS, {"k": rng.integers(0, 20, rows), "v": pa.array(v, mask=v < 0.1)}, first=first)


def batch(schema: Schema, columns: dict[str, Any], first: int = 0) -> pa.Table:
    """A batch as it waits in a queue."""
    rows = len(next(iter(columns.values())))
    stamps = np.arange(first, first + rows, dtype=np.int64)
    target = port_schema(schema, Flow())
    arrays = [pa.array(columns[f.name], type=f.type) if f.name in columns else pa.array(stamps) for f in target]
    return pa.Table.from_arrays(arrays, schema=target)


def rows_of(table: pa.Table, stamps: bool = True) -> Counter[str]:
    """The table as a multiset of rows."""
    kept = table if stamps else table.drop_columns([c for c in STAMPS if c in table.column_names])
    return Counter(map(repr, kept.to_pylist()))
