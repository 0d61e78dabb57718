"""Checks that a sink does what every runtime relies on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from headgate.connect.sinks import SinkContext, SinkKind
from headgate.plan.arrow_types import port_schema
from headgate.plan.flows import Flow
from headgate.plan.model import Query
from headgate.plan.operators.base import Port
from headgate.sql.schema import STAMPS, parse_schema

_SCHEMA = "k INT, s STRING, v DOUBLE"


def check_sink(sink: SinkKind, folder: str | Path = ".") -> None:
    """Check a sink: that it counts what it takes, takes batches of any size and nulls, and can be closed twice.

    It is opened three times, as by three runs, in `folder`. AssertionError says what is wrong.
    """
    what = f"sink '{sink.kind}'"
    for sizes in ((), (3, 1), (0, 5, 0)):
        query = Query("checked", "default", Port("checked/o"), ("checked/o",), sink.settings(), connector=sink)
        opened = sink.open(
            SinkContext(query, parse_schema(_SCHEMA, "schema"), Flow(), Path(folder), "headgate.testing")
        )
        assert opened.rows == 0, f"{what} begins with {opened.rows} rows"
        count = 0
        for size in sizes:
            batch = _batch(size, count)
            before = batch.slice(0)
            opened.write(batch)
            count += size
            assert opened.rows == count, f"{what} counts {opened.rows} rows after {count} were written"
            assert batch.equals(before), f"{what} changed the batch that it was given"
            opened.refresh()
            opened.flush()
        opened.close()
        opened.close()
        assert opened.rows == count, f"{what} counts {opened.rows} rows after it was closed, {count} were written"


def _batch(size: int, first: int) -> pa.Table:
    """Results as a runtime hands them over: the query's columns, then the stamps."""
    numbers = list(range(first, first + size))
    columns = {
        "k": [None if n % 3 == 2 else n for n in numbers],
        "s": [None if n % 4 == 1 else f'text, "{n}"\n' for n in numbers],
        "v": [n / 7 for n in numbers],
        **dict.fromkeys(STAMPS, numbers),
    }
    schema = port_schema(parse_schema(_SCHEMA, "schema"), Flow())
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
