"""Checks that a source does what every runtime relies on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from headgate.connect.sources import Source, SourceContext, SourceKind
from headgate.plan.model import Stream
from headgate.sql.schema import ARRIVAL, SEQUENCE, parse_schema

_POLLS = 10_000
_STEP_S = 0.5


def check_source(
    source: SourceKind,
    schema: str,
    *,
    rows: int | None = None,
    time: str | None = None,
    folder: str | Path = ".",
    most: int = 2000,
) -> None:
    """Check a source on a stream of this schema: stamps, order, limits, and whether it gives the same rows again.

    `rows`: how many it must give, where that is known. At most `most` rows are read. AssertionError says what is wrong.
    """
    stream = Stream("checked", parse_schema(schema, "schema"), source.settings(), time, connector=source)
    source.check(stream, "source", Path(folder))
    context = SourceContext(stream, Path(folder), seed=7, epoch_us=1_700_000_000_000_000)
    whole = _read(source, context, None, most)
    _check_stamps(whole, context.schema, f"source '{source.kind}'")
    if rows is not None:
        found = whole.num_rows
        assert found == min(rows, most), f"source '{source.kind}' gave {found} rows instead of {min(rows, most)}"
    assert whole.num_rows or rows == 0, f"source '{source.kind}' gave no rows within {_POLLS} polls"
    in_parts = _read(source, context, 3, min(most, 300))
    _check_stamps(in_parts, context.schema, f"source '{source.kind}', read 3 rows at a time")
    own = [column.name for column in stream.schema]
    same = in_parts.select(own).equals(whole.slice(0, in_parts.num_rows).select(own))
    assert same, f"source '{source.kind}' gives other rows when it is opened again, or read in other pieces"
    _check_sample(source, context)
    _check_close(source, context)


def _read(source: SourceKind, context: SourceContext, limit: int | None, most: int) -> pa.Table:
    """What the source gives, in virtual time."""
    opened, what = source.open(context), f"source '{source.kind}'"
    assert opened.schema.equals(context.schema), (
        f"{what} announces the schema\n{opened.schema}\ninstead of\n{context.schema}"
    )
    tables, count, now = [], 0, 0.0
    for _ in range(_POLLS):
        if count >= most or opened.exhausted:
            break
        table = opened.poll(now, limit)
        if table is None or not table.num_rows:
            due = opened.next_arrival()
            now = max(now + _STEP_S, due if due is not None else 0.0)
            continue
        assert isinstance(table, pa.Table), f"{what} gave a {type(table).__name__} instead of an Arrow table"
        assert limit is None or table.num_rows <= limit, f"{what} gave {table.num_rows} rows when asked for {limit}"
        assert table.schema.equals(context.schema), f"{what} gave a table of another schema:\n{table.schema}"
        latest = int(table.column(ARRIVAL).to_numpy().max())
        assert latest <= round(now * 1e6), f"{what} gave a row that arrives at {latest} us, polled at {now} s"
        tables.append(table)
        count += table.num_rows
    opened.close()
    found: pa.Table = pa.concat_tables([context.schema.empty_table(), *tables]).slice(0, most)
    return found


def _check_stamps(table: pa.Table, schema: pa.Schema, what: str) -> None:
    sequence, arrivals = (table.column(name).to_numpy() for name in (SEQUENCE, ARRIVAL))
    counted = np.array_equal(sequence, np.arange(len(sequence)))
    assert counted, f"{what}: the sequence numbers do not count from 0 without gaps: {sequence[:10].tolist()}"
    assert not len(arrivals) or arrivals.min() >= 0, f"{what}: a row arrives before the run begins"
    assert (np.diff(arrivals) >= 0).all(), f"{what}: rows are not in the order of their arrival"
    for field in schema:
        nulls = table.column(field.name).null_count
        assert field.nullable or not nulls, f"{what}: {nulls} rows have no {field.name}"


def _check_sample(source: SourceKind, context: SourceContext) -> None:
    """Runs read the first rows twice: a sample of them comes from a source beside the one that the run reads."""
    sample, own = source.open(replace(context, sample=True)), source.open(context)
    first = _some(sample)
    second = _some(own)
    sample.close()
    own.close()
    assert first.num_rows == 0 or second.num_rows, f"source '{source.kind}': reading a sample took the rows of the run"


def _some(opened: Source) -> pa.Table:
    now = 0.0
    for _ in range(100):
        due = opened.next_arrival()
        now = max(now + _STEP_S, due if due is not None else 0.0)
        table = opened.poll(now, 10)
        if opened.exhausted or (table is not None and table.num_rows):
            return opened.schema.empty_table() if table is None else table
    return opened.schema.empty_table()


def _check_close(source: SourceKind, context: SourceContext) -> None:
    opened = source.open(context)
    opened.close()
    opened.close()
    table = opened.poll(1e6, 10)
    assert table is None or not table.num_rows, f"source '{source.kind}' gave rows after it was closed"
