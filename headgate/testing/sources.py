"""Checks that a source does what every runtime relies on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from headgate.connect.sources import Source, SourceContext, SourceKind
from headgate.connect.sources.base import position_of
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

    If the source has positions, check also that it goes on from any of them as if it had never stopped.

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
    _check_positions(source, context, whole)
    _check_sample(source, context)
    _check_close(source, context)


def _read(source: SourceKind, context: SourceContext, limit: int | None, most: int) -> pa.Table:
    """What the source gives, in virtual time."""
    opened, what = source.open(context), f"source '{source.kind}'"
    assert opened.schema.equals(context.schema), (
        f"{what} announces the schema\n{opened.schema}\ninstead of\n{context.schema}"
    )
    found = _poll(opened, what, context.schema, limit, most)
    opened.close()
    return found


def _poll(opened: Source, what: str, schema: pa.Schema, limit: int | None, most: int, now: float = 0.0) -> pa.Table:
    """What a source gives from a time on, at most `most` rows."""
    tables, count = [], 0
    for _ in range(_POLLS):
        if count >= most or opened.exhausted:
            break
        table = opened.poll(now, most - count if limit is None else min(limit, most - count))
        if table is None or not table.num_rows:
            due = opened.next_arrival()
            now = max(now + _STEP_S, due if due is not None else 0.0)
            continue
        assert isinstance(table, pa.Table), f"{what} gave a {type(table).__name__} instead of an Arrow table"
        assert limit is None or table.num_rows <= limit, f"{what} gave {table.num_rows} rows when asked for {limit}"
        assert table.schema.equals(schema), f"{what} gave a table of another schema:\n{table.schema}"
        latest = int(table.column(ARRIVAL).to_numpy().max())
        assert latest <= round(now * 1e6), f"{what} gave a row that arrives at {latest} us, polled at {now} s"
        tables.append(table)
        count += table.num_rows
    found: pa.Table = pa.concat_tables([schema.empty_table(), *tables]).slice(0, most)
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


def _check_positions(source: SourceKind, context: SourceContext, whole: pa.Table) -> None:
    """A source goes on from each position as if it had never stopped: same rows, same sequence numbers, and same
    arrivals, unless a row arrives when it is polled."""
    what, schema = f"source '{source.kind}'", context.schema
    opened = source.open(context)
    if position_of(opened) is None:
        opened.close()
        return
    later = _poll(opened, what, schema, None, whole.num_rows, now=1.0)
    opened.close()
    same = [name for name in schema.names if name != ARRIVAL or later.column(ARRIVAL).equals(whole.column(ARRIVAL))]
    for rows in sorted(
        {0, 1, whole.num_rows // 2, whole.num_rows - 1, whole.num_rows} & set(range(whole.num_rows + 1))
    ):
        opened = source.open(context)
        _poll(opened, what, schema, 7, rows)
        positions = [_as_json(position_of(opened), what)]
        opened.next_arrival()  # may look ahead
        positions.append(_as_json(position_of(opened), what))
        opened.close()
        for position in positions:
            resumed = source.open(replace(context, resume=position))
            at_once = _as_json(position_of(resumed), what)
            assert at_once == position, f"{what}, opened at the position {position}, says that it is at {at_once}"
            rest = _poll(resumed, what, schema, 5, whole.num_rows - rows)
            resumed.close()
            goes_on = rest.select(same).equals(whole.slice(rows).select(same))
            assert goes_on, f"{what}, opened at its position after {rows} rows, does not go on with the row after them"


def _as_json(position: Any, what: str) -> Any:
    try:
        return json.loads(json.dumps(position, allow_nan=False))
    except (TypeError, ValueError):
        raise AssertionError(f"{what} has a position that JSON cannot hold: {position!r}") from None


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
