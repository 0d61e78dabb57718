"""The feeder: the same tuples however it is polled."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sources import Source, make_source
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.seeds import stream_seed
from headgate.sql.schema import parse_schema

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
EPOCH_US = int(EPOCH.timestamp()) * 1_000_000


def feeder(schema: str = "k INT, v DOUBLE", time: str | None = None, seed: int = 3, **said: Any) -> Source:
    settings = {"kind": "feeder", "rate": 100, "arrivals": "constant", **said}
    return make_source(Stream("s", parse_schema(schema, "s"), settings, time), Path(), seed, EPOCH_US)


def test_constant_arrivals_with_stamps() -> None:
    source = feeder("n BIGINT", rows=5, values={"n": "sequence"})
    assert source.next_arrival() == 0.01
    assert source.poll(0.009) is None
    first = source.poll(0.03, 2)
    assert first is not None
    assert first.schema.equals(source.schema)
    assert first.to_pylist() == [
        {"n": 0, "_arrival": 10_000, "_sequence": 0},
        {"n": 1, "_arrival": 20_000, "_sequence": 1},
    ]
    second = source.poll(0.03)
    assert second is not None
    assert second.column("n").to_pylist() == [2]
    assert not source.exhausted
    rest = source.poll(99)
    assert rest is not None
    assert rest.num_rows == 2
    assert source.exhausted
    assert source.next_arrival() is None
    assert not source.replayable
    assert source.rejected == 0


def test_the_time_column_is_epoch_plus_arrival() -> None:
    source = feeder("ts TIMESTAMP, s STRING, d DECIMAL(6,2), b BOOLEAN, f FLOAT", "ts", rows=3)
    table = source.poll(1)
    assert table is not None
    assert table.column("ts").to_pylist() == [EPOCH + timedelta(milliseconds=10 * n) for n in (1, 2, 3)]
    assert table.schema.field("d").type == pa.decimal128(6, 2)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMP_NTZ", "BIGINT", "INT", "SMALLINT"])
def test_made_up_event_times_are_never_late(kind: str) -> None:
    said = {"kind": "feeder", "rate": 500, "rows": 5000, "arrivals": "poisson"}
    stream = Stream("s", parse_schema(f"k INT, t {kind}", "s"), said, "t")
    source, entrance = make_source(stream, Path(), 3, EPOCH_US), StreamEntrance(stream)
    for tick in range(1, 40):
        table = source.poll(tick / 3)
        assert table is not None or source.exhausted
        if table is not None:
            admitted = entrance.admit(table)
            assert admitted.late == 0
    assert source.exhausted
    assert entrance.late == 0


def test_an_endless_feeder_is_never_exhausted_until_closed() -> None:
    source = feeder(rate=1_000_000)
    table = source.poll(0.2)
    assert table is not None
    assert table.num_rows == 200_000
    assert table.column("_sequence").to_pylist()[-1] == 199_999
    assert not source.exhausted
    source.close()
    assert source.exhausted
    assert source.poll(5) is None


def test_seeds() -> None:
    def rows(**said: Any) -> list[dict[str, Any]]:
        table = feeder(rows=50, arrivals="poisson", **said).poll(10)
        assert table is not None
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows

    assert rows() == rows()
    assert rows(seed=4) != rows()
    own = make_source(
        Stream(
            "s",
            parse_schema("k INT, v DOUBLE", "s"),
            {"kind": "feeder", "rate": 100, "rows": 50, "seed": stream_seed(3, "s")},
        ),
        Path(),
        99,
        EPOCH_US,
    ).poll(10)
    assert own is not None
    assert own.to_pylist() == rows()


def test_recorded_gaps_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "gaps.txt").write_text("0.5 # a comment\n0.25\n")
    said = {"kind": "feeder", "arrivals": {"kind": "recorded", "repeat": False}, "path": "gaps.txt"}
    source = make_source(Stream("s", parse_schema("k INT", "s"), said), tmp_path, 0, 0)
    table = source.poll(10)
    assert table is not None
    assert table.column("_arrival").to_pylist() == [500_000, 750_000]


def test_wrong_settings_name_the_place() -> None:
    with pytest.raises(ApplicationError, match=r"streams\.s\.source\.rate: .*above 0"):
        feeder(rate=-1)
    with pytest.raises(ApplicationError, match=r"streams\.s\.source: .*column"):
        feeder(values={"q": "sequence"})


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1.2), st.one_of(st.none(), st.integers(0, 30))), max_size=12))
def test_how_polls_cut_the_stream_does_not_matter(polls: list[tuple[float, int | None]]) -> None:
    said: dict[str, Any] = {"rows": 100, "arrivals": "poisson", "changes": [[0.3, 3.0]]}
    whole = feeder(**said).poll(1000)
    source = feeder(**said)
    pieces = []
    for now, limit in sorted(polls, key=lambda poll: poll[0]):
        table = source.poll(now, limit)
        if table is not None:
            assert max(table.column("_arrival").to_pylist()) <= round(now * 1e6)
            assert limit is None or table.num_rows <= limit
            pieces.append(table)
    if (rest := source.poll(1000)) is not None:
        pieces.append(rest)
    assert pa.concat_tables(pieces).equals(whole)
