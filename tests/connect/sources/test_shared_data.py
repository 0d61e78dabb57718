"""Sources on real files: NEXMark events and sensor readings, where that folder is at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate.connect.sources import make_source
from headgate.plan.model import Stream
from headgate.sql.schema import parse_schema

DATA = Path(os.environ.get("HEADGATE_DATA") or Path(__file__).parents[3].parent / "shared" / "data")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"no data in {DATA}; set HEADGATE_DATA")

BID = "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, extra STRING"
AUCTION = (
    "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, date_time TIMESTAMP, "
    "expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING"
)
PERSON = (
    "id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING, "
    "date_time TIMESTAMP, extra STRING"
)
WSN = "reading INT, mote_id INT, indoor INT, humidity DOUBLE, temperature DOUBLE, label INT"


def read(path: str, schema: str, time: str | None = None, **said: Any) -> tuple[pa.Table, int]:
    stream = Stream("s", parse_schema(schema, "s"), {"kind": "csv", "path": path, **said}, time)
    source = make_source(stream, DATA, 0, 0)
    tables = []
    while (table := source.poll(1e9)) is not None:
        tables.append(table)
    return pa.concat_tables(tables), source.rejected


@pytest.mark.parametrize(
    ("file", "schema", "rows"), [("bid", BID, 50), ("auction", AUCTION, 40), ("person", PERSON, 20)]
)
@pytest.mark.parametrize("replay", ["fast", "real"])
def test_nexmark(file: str, schema: str, rows: int, replay: str) -> None:
    table, rejected = read(f"nexmark/{file}.csv", schema, "date_time", replay=replay)
    assert (table.num_rows, rejected) == (rows, 0)
    assert table.column("date_time").null_count == 0
    if replay == "real":
        times = table.column("date_time").cast(pa.int64()).to_pylist()
        assert times == sorted(times)
        assert table.column("_arrival").to_pylist() == [time - times[0] for time in times]


def test_sensors() -> None:
    table, rejected = read("wsn/single_hop.csv", WSN)
    lines = sum(1 for _ in (DATA / "wsn" / "single_hop.csv").open()) - 1
    assert (table.num_rows, rejected) == (lines, 0)
    assert 0 < pc.mean(table.column("humidity")).as_py() < 100


def test_stream_files_have_one_line_of_types_in_front() -> None:
    table, rejected = read("stream_cql/S2.dat", "ts BIGINT, g INT, a INT", "ts", header=False, replay="real")
    assert (table.num_rows, rejected) == (50_000, 1)
    assert table.column("_arrival").to_pylist()[:2] == [0, 1_000_000]
