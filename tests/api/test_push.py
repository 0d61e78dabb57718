"""Python rows become typed rows of a stream, and a channel brings them into a run."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from headgate.connect.sources import SourceContext
from headgate.connect.sources.push import OpenPush
from headgate.connect.sources.push_channel import PushChannel
from headgate.connect.sources.rows import rows_to_table, schema_text
from headgate.errors import ApplicationError
from headgate.plan.arrow_types import arrow_schema
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema

NAIVE = datetime(2026, 1, 1, 8)


def columns(text: str) -> pa.Schema:
    return arrow_schema(parse_schema(text, "test"), stamps=False)


def channel(text: str = "k INT, s STRING", memory: int = 10**6, **more: Any) -> PushChannel:
    return PushChannel(Stream("s", parse_schema(text, "s"), {"kind": "push"}, **more), memory)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("INT", 3, 3),
        ("INT", 3.0, 3),
        ("INT", "3", 3),
        ("INT", np.int64(3), 3),
        ("INT", None, None),
        ("INT", pd.NA, None),
        ("DOUBLE", 1, 1.0),
        ("DOUBLE", Decimal("1.5"), 1.5),
        ("DOUBLE", float("inf"), float("inf")),
        ("DECIMAL(5,2)", Decimal("1.5"), Decimal("1.50")),
        ("STRING", "x", "x"),
        ("BOOLEAN", True, True),
        ("DATE", date(2026, 1, 1), date(2026, 1, 1)),
        ("TIMESTAMP", NAIVE, NAIVE.replace(tzinfo=UTC)),
        ("TIMESTAMP", NAIVE.replace(tzinfo=timezone(timedelta(hours=2))), datetime(2026, 1, 1, 6, tzinfo=UTC)),
        ("TIMESTAMP", "2026-01-01 08:00:00", NAIVE.replace(tzinfo=UTC)),
        ("TIMESTAMP", pd.Timestamp(NAIVE), NAIVE.replace(tzinfo=UTC)),
        ("TIMESTAMP_NTZ", NAIVE, NAIVE),
        ("BINARY", b"ab", b"ab"),
        ("ARRAY<INT>", [1, None], [1, None]),
        ("MAP<STRING, INT>", {"a": 1}, [("a", 1)]),
    ],
)
@pytest.mark.parametrize("beside", [[], ["odd"]], ids=["alone", "beside one that does not fit"])
def test_values_that_fit(kind: str, value: Any, expected: Any, beside: list[Any]) -> None:
    odd = [{"v": object()} for _ in beside]
    found = rows_to_table([{"v": value}, *odd], columns(f"v {kind}"))
    assert found.table.column("v")[0].as_py() == expected
    assert list(found.bad) == [1] * len(beside)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INT", 3.5),
        ("INT", 2**40),
        ("INT", True),
        ("INT", float("nan")),
        ("TINYINT", 300),
        ("FLOAT", 1e300),
        ("DOUBLE", True),
        ("DOUBLE", "x"),
        ("DECIMAL(3,1)", Decimal("1.25")),
        ("STRING", 5),
        ("STRING", b"x"),
        ("BOOLEAN", 1),
        ("DATE", NAIVE),
        ("TIMESTAMP", 5),
        ("TIMESTAMP_NTZ", NAIVE.replace(tzinfo=UTC)),
        ("BINARY", "no base64!"),
        ("ARRAY<INT>", "12"),
        ("ARRAY<INT>", ["x"]),
    ],
)
def test_values_that_do_not_fit(kind: str, value: Any) -> None:
    found = rows_to_table([{"v": None}, {"v": value}], columns(f"v {kind}"))
    ((at, (column, refused, problem)),) = found.bad.items()
    assert (at, column, problem) == (1, "v", f"does not fit the type {kind.replace(' ', '') if '(' in kind else kind}")
    assert refused is value


def test_whole_columns_are_read_like_single_values() -> None:
    schema = columns("k INT, t TIMESTAMP, s STRING")
    rows = [{"k": k, "t": NAIVE, "s": str(k)} for k in range(5)]
    want = rows_to_table(rows, schema).table
    frame = pd.DataFrame(rows)
    assert rows_to_table(frame, schema).table.equals(want)
    assert rows_to_table(pa.Table.from_pandas(frame), schema).table.equals(want)
    assert rows_to_table([tuple(row.values()) for row in rows], schema).table.equals(want)


def test_a_schema_is_derived_from_a_table() -> None:
    table = pa.table({"k": [1], "a b": ["x"], "l": [[1.5]], "t": pa.array([NAIVE], pa.timestamp("us", "UTC"))})
    assert schema_text(table.schema) == "k BIGINT, `a b` STRING, l ARRAY<DOUBLE>, t TIMESTAMP"
    assert columns(schema_text(table.schema)).names == table.column_names


def test_a_push_is_taken_as_a_whole_or_not_at_all() -> None:
    pushed = channel()
    assert pushed.put([{"k": 1}], lambda: 0.5) == 1
    with pytest.raises(ApplicationError, match=r"push to s, rows\[1\], column k: 'x' does not fit the type INT"):
        pushed.put([{"k": 2}, {"k": "x"}], lambda: 0.6)
    assert pushed.put([(3, "c")], lambda: 0.7) == 1
    table = pushed.take(1.0, None)
    assert table is not None
    assert table.to_pylist() == [
        {"k": 1, "s": None, "_arrival": 500_000, "_sequence": 0},
        {"k": 3, "s": "c", "_arrival": 700_000, "_sequence": 1},
    ]


@pytest.mark.parametrize("rows", [7, "text", {"k": 1}, [5], [(1,)], [{"kk": 1}], pd.DataFrame({"k": [1]})])
def test_what_is_not_rows_of_the_stream_is_refused(rows: Any) -> None:
    with pytest.raises(ApplicationError, match="push to s"):
        channel().put(rows, lambda: 0.0)


def test_rows_are_taken_once_they_have_arrived_and_never_too_many() -> None:
    pushed = channel()
    pushed.put([(k, "") for k in range(5)], lambda: 1.0)
    assert pushed.take(0.9, None) is None
    first, second = pushed.take(1.0, 3), pushed.take(1.0, 3)
    assert first is not None
    assert second is not None
    assert first.column("_sequence").to_pylist() + second.column("_sequence").to_pylist() == [0, 1, 2, 3, 4]
    assert pushed.waiting == 2, "the rows of the last poll are still on their way"
    assert pushed.take(1.0, 3) is None
    assert pushed.waiting == 0


def test_values_that_are_too_long_or_too_far_ahead_are_refused() -> None:
    short = channel("s VARCHAR(3)")
    with pytest.raises(ApplicationError, match=r"rows\[1\], column s: 'long' has more than the 3 characters"):
        short.put([{"s": "abc"}, {"s": "long"}], lambda: 0.0)
    timed = channel("t BIGINT", time="t", max_jump_s=10.0)
    timed.put([{"t": 100}], lambda: 0.0)
    with pytest.raises(ApplicationError, match="max_jump"):
        timed.put([{"t": 105}, {"t": 200}], lambda: 0.0)
    with pytest.raises(ApplicationError, match="max_jump"):
        timed.put([{"t": 112}], lambda: 0.0)  # the 105 above was not accepted
    assert timed.put([{"t": 109}], lambda: 0.0) == 1


def test_the_changes_of_a_relation() -> None:
    pushed = channel("k INT", relation=True)
    pushed.put([{"change": "+", "k": 1}, ("-", 1)], lambda: 0.0)
    table = pushed.take(0.0, None)
    assert table is not None
    assert table.column("_change").to_pylist() == [1, -1]
    with pytest.raises(ApplicationError, match=r"rows\[0\], column change: '\*' is neither"):
        pushed.put([{"change": "*", "k": 1}], lambda: 0.0)


def test_a_push_waits_while_there_is_no_room() -> None:
    pushed = channel(memory=100)
    rows = [(k, "0123456789") for k in range(10)]
    pushed.put(rows, lambda: 0.0)  # more than there is room for, but accepted because nothing else waits
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no room for more rows within 0\.05 s"):
        pushed.put(rows, lambda: 0.0, 0.05)
    assert time.monotonic() - began >= 0.05
    done = threading.Event()
    waiting = threading.Thread(target=lambda: (pushed.put(rows, lambda: 0.0), done.set()))
    waiting.start()
    assert not done.wait(0.1)
    assert pushed.take(0.0, None) is not None
    assert done.wait(5.0)
    waiting.join()


def test_nothing_can_be_pushed_after_the_end() -> None:
    pushed = channel()
    pushed.put([(1, "a")], lambda: 0.0)
    pushed.end()
    with pytest.raises(ApplicationError, match=r"streams\.s: nothing can be pushed: it was ended"):
        pushed.put([(1, "a")], lambda: 0.0)
    assert not pushed.over
    assert pushed.take(0.0, None) is not None
    assert pushed.over


def test_a_push_that_waits_ends_with_the_run() -> None:
    pushed = channel(memory=10)
    pushed.put([(1, "abcdefghij")], lambda: 0.0)
    errors: list[Exception] = []

    def push() -> None:
        try:
            pushed.put([(1, "abcdefghij")], lambda: 0.0)
        except ApplicationError as error:
            errors.append(error)

    waiting = threading.Thread(target=push)
    waiting.start()
    pushed.close()
    waiting.join(5.0)
    assert "the run has ended" in str(errors[0])


def test_many_threads_push_and_no_row_is_lost_or_duplicated() -> None:
    pushed = channel("k INT", memory=500)
    began = time.monotonic()
    clock = lambda: time.monotonic() - began  # noqa: E731
    threads = [
        threading.Thread(target=lambda n=n: [pushed.put([(n * 100 + k,)], clock) for k in range(100)]) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    found: list[dict[str, Any]] = []
    while any(thread.is_alive() for thread in threads) or pushed.waiting:
        table = pushed.take(clock(), 7)
        found += table.to_pylist() if table is not None else []
    assert Counter(row["k"] for row in found) == Counter(range(400))
    assert [row["_sequence"] for row in found] == list(range(400))
    arrivals = [row["_arrival"] for row in found]
    assert arrivals == sorted(arrivals)


def test_a_sample_takes_no_rows() -> None:
    pushed = channel()
    pushed.put([(1, "a")], lambda: 0.0)
    stream = Stream("s", parse_schema("k INT, s STRING", "s"), {"kind": "push"})
    kind = OpenPush(channel=pushed)
    sample = kind.open(SourceContext(stream, sample=True))
    assert sample.exhausted
    assert sample.next_arrival() is None
    sample.close()
    source = kind.open(SourceContext(stream))
    assert source.next_arrival() == 0.0
    assert source.poll(0.0) is not None
