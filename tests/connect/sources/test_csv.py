"""CSV sources: types, headers, malformed rows and replay."""

from __future__ import annotations

import gzip
import logging
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.connect.sources import Source, make_source, read_table
from headgate.errors import ApplicationError
from headgate.plan.model import Stream, Table
from headgate.sql.schema import parse_schema


def source_of(
    folder: Path, text: str | bytes, schema: str, time: str | None = None, name: str = "in.csv", **said: Any
) -> Source:
    data = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(data)
    stream = Stream("s", parse_schema(schema, "s"), {"kind": "csv", "path": name, **said}, time)
    return make_source(stream, folder, 0, 0)


def rows_of(source: Source, now: float = 1.0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while (table := source.poll(now)) is not None:
        assert table.schema.equals(source.schema)
        rows += table.to_pylist()
    return rows


def values_of(source: Source, now: float = 1.0) -> list[tuple[Any, ...]]:
    return [tuple(row.values())[:-2] for row in rows_of(source, now)]


def test_columns_by_name_stamped_on_polling(tmp_path: Path) -> None:
    source = source_of(tmp_path, "b,extra,A\nx,0,1\ny,0,2\n", "a INT, b STRING")
    assert source.next_arrival() == 0.0
    assert not source.exhausted
    assert rows_of(source, 2.5) == [
        {"a": 1, "b": "x", "_arrival": 2_500_000, "_sequence": 0},
        {"a": 2, "b": "y", "_arrival": 2_500_000, "_sequence": 1},
    ]
    assert source.exhausted
    assert source.next_arrival() is None
    assert source.replayable
    assert source.rejected == 0


def test_all_types(tmp_path: Path) -> None:
    schema = (
        "a STRING, b TINYINT, c SMALLINT, d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(5,2), h BOOLEAN, i DATE, "
        "j TIMESTAMP, k TIMESTAMP_NTZ, l BINARY, m ARRAY<INT>, n STRUCT<x: INT, y: STRING>, o MAP<STRING, INT>"
    )
    line = (
        'é,-1,300,9000000000,1.5,1e3,12.340,true,2024-02-29,2024-01-01 00:00:00.5,2024-01-01T10:00:00,aGk=,"[1,2]",'
        '"{""x"": 1, ""y"": ""z""}","{""k"": 2}"\n'
    )
    row = values_of(source_of(tmp_path, line, schema, header=False))[0]
    assert row == (
        *("é", -1, 300, 9_000_000_000, 1.5, 1000.0, Decimal("12.34"), True, date(2024, 2, 29)),
        *(datetime(2024, 1, 1, 0, 0, 0, 500_000, UTC), datetime(2024, 1, 1, 10), b"hi", [1, 2]),
        *({"x": 1, "y": "z"}, [("k", 2)]),
    )


@pytest.mark.parametrize(
    ("text", "hour", "microsecond"),
    [
        ("2024-01-01 00:00:00", 0, 0),
        ("2024-01-01T00:00:00.25", 0, 250_000),
        ("2024-01-01 00:00:00.123456", 0, 123_456),
        ("2024-01-01 00:00:00.123456789", 0, 123_456),
        ("2024-01-01T05:00:00Z", 5, 0),
        ("2024-01-01 05:00:00+02:00", 3, 0),
        ("2024-01-01 05:00:00-0100", 6, 0),
        (" 2024-01-01 05:00:00 ", 5, 0),
        ("2024-01-01", 0, 0),
    ],
)
def test_times(tmp_path: Path, text: str, hour: int, microsecond: int) -> None:
    # Beside one of another form, so that columns of mixed forms are read too.
    got = values_of(source_of(tmp_path, f"t\n{text}\n2024-01-01T00:00:00Z\n", "t TIMESTAMP"))
    assert got[0][0] == datetime(2024, 1, 1, hour, microsecond=microsecond, tzinfo=UTC)


@pytest.mark.parametrize("text", ["1704067200", "yesterday", "2024-13-01 00:00:00"])
def test_no_times(tmp_path: Path, text: str) -> None:
    source = source_of(tmp_path, f"t\n{text}\n", "t TIMESTAMP")
    assert rows_of(source) == []
    assert source.rejected == 1


def test_nulls(tmp_path: Path) -> None:
    source = source_of(tmp_path, 's,n\n,\n"",""\na,1\n', "s STRING, n INT")
    assert values_of(source) == [(None, None), ("", None), ("a", 1)]
    source = source_of(tmp_path, "s,n\nNA,NA\n,\n", "s STRING, n INT", null="NA")
    assert values_of(source) == [(None, None), ("", None)]


def test_delimiter_quotes_and_line_breaks(tmp_path: Path) -> None:
    source = source_of(tmp_path, '\ufeffs;n\r\n"a;""b""\nc";1\r\n\r\nd;2\r\n', "s STRING, n INT", delimiter=";")
    assert values_of(source) == [('a;"b"\nc', 1), ("d", 2)]
    with pytest.raises(ApplicationError, match="delimiter"):
        source_of(tmp_path, "a\n", "a INT", delimiter=";;")


def test_malformed_rows_are_put_aside_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = 'n,s\n1,a\n2\n\n3,"b\nc"\nx,d\n5,e,f\n6,g\n99999999999,h\n'
    with caplog.at_level(logging.WARNING, "headgate.source"):
        source = source_of(tmp_path, text, "n INT, s STRING")
        assert [row["_sequence"] for row in rows_of(source)] == [0, 1, 2]
    assert source.rejected == 4
    said = sorted(record.getMessage() for record in caplog.records)
    assert said == [
        "in.csv, line 10, column n: '99999999999' does not fit the type int32; the row is put aside",
        "in.csv, line 3: '2' has 1 fields instead of 2; the row is put aside",
        "in.csv, line 7, column n: 'x' does not fit the type int32; the row is put aside",
        "in.csv, line 8: '5,e,f' has 3 fields instead of 2; the row is put aside",
    ]


@pytest.mark.parametrize("bad", [5, 6])
def test_that_more_are_only_counted_is_said_when_there_are_more(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, bad: int
) -> None:
    with caplog.at_level(logging.WARNING, "headgate.source"):
        rows_of(source_of(tmp_path, "n\n" + "x\n" * bad, "n INT"))
    said = [record.getMessage() for record in caplog.records]
    assert len([line for line in said if line.endswith("the row is put aside")]) == 5
    more = ["in.csv: further malformed rows are only counted", "in.csv: 6 malformed rows were put aside"]
    assert said[5:] == (more if bad > 5 else [])


def test_many_malformed_rows_are_only_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [f"{n},x" if n % 1000 else f"{n},x,y" for n in range(1, 200_001)]
    lines[199_998] = "bad,x"
    with caplog.at_level(logging.WARNING, "headgate.source"):
        source = source_of(tmp_path, "n,s\n" + "\n".join(lines), "n INT, s STRING")
        rows = rows_of(source)
    assert source.rejected == 201
    assert len(rows) == 200_000 - 201
    assert [row["_sequence"] for row in rows] == list(range(len(rows)))
    assert len(caplog.records) == 7
    assert caplog.records[-1].getMessage() == "in.csv: 201 malformed rows were put aside"


def test_line_number_after_wrong_rows_in_earlier_blocks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = [f"{n},{'x' * 50}" for n in range(1, 100_001)]
    lines[10], lines[70_000], lines[90_000] = "only", "a,b,c", "bad,value"
    with caplog.at_level(logging.WARNING, "headgate.source"):
        rows_of(source_of(tmp_path, "n,s\n" + "\n".join(lines), "n INT, s STRING"))
    said = [record.getMessage() for record in caplog.records]
    assert "line 12:" in said[0]
    assert "line 70002:" in said[1]
    assert "line 90002, column n" in said[2]


def test_bytes_that_are_no_utf8_cost_one_row(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"s,n\nok,1\n\xff\xfe,2\nok,3\n", "s STRING, n INT")
    assert values_of(source) == [("ok", 1), ("ok", 3)]
    assert source.rejected == 1


def test_missing_column_names_the_file_and_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError, match=r"in\.csv has no column 'location'.*known columns: humidity, place"):
        source_of(tmp_path, "place,humidity\n", "location STRING")


def test_empty_files(tmp_path: Path) -> None:
    assert source_of(tmp_path, "a,b\n", "a INT").exhausted
    assert source_of(tmp_path, "a,b\n\n\n", "a INT").exhausted
    assert source_of(tmp_path, "", "a INT", header=False).exhausted
    with pytest.raises(ApplicationError, match="no header line"):
        source_of(tmp_path, "", "a INT")


def test_missing_file_and_unknown_kind(tmp_path: Path) -> None:
    schema = parse_schema("a INT", "s")
    with pytest.raises(ApplicationError, match="there is no file"):
        make_source(Stream("s", schema, {"kind": "csv", "path": "absent.csv"}), tmp_path, 0, 0)
    with pytest.raises(ApplicationError, match="did you mean 'csv'"):
        make_source(Stream("s", schema, {"kind": "cvs"}), tmp_path, 0, 0)


def test_compressed_file(tmp_path: Path) -> None:
    source = source_of(tmp_path, gzip.compress(b"a\n1\n2\n"), "a INT", name="in.csv.gz")
    assert values_of(source) == [(1,), (2,)]


def test_limit_cuts_and_close_ends(tmp_path: Path) -> None:
    source = source_of(tmp_path, "a\n1\n2\n3\n4\n", "a INT")
    assert source.poll(0.0, 0) is None
    first = source.poll(0.0, 3)
    assert first is not None
    assert first.column("a").to_pylist() == [1, 2, 3]
    source.close()
    assert source.poll(0.0) is None
    assert source.exhausted


TIMES = "t,k\n2024-01-01 00:00:10,a\n2024-01-01 00:00:12,b\n2024-01-01 00:00:11,c\n,d\n2024-01-01 00:00:14.5,e\n"


def test_real_replay_goes_by_event_time(tmp_path: Path) -> None:
    source = source_of(tmp_path, TIMES, "t TIMESTAMP, k STRING", "t", replay="real")
    assert source.next_arrival() == 0.0
    assert [row["k"] for row in rows_of(source, 1.9)] == ["a"]
    assert source.next_arrival() == 2.0
    late = rows_of(source, 2.0)
    assert [(row["k"], row["_arrival"]) for row in late] == [("b", 2_000_000), ("c", 2_000_000), ("d", 2_000_000)]
    assert source.next_arrival() == 4.5
    assert not source.exhausted
    assert [(row["k"], row["_arrival"], row["_sequence"]) for row in rows_of(source, 100)] == [("e", 4_500_000, 4)]
    assert source.exhausted


def test_replay_by_a_factor_and_by_seconds(tmp_path: Path) -> None:
    source = source_of(tmp_path, TIMES, "t TIMESTAMP, k STRING", "t", replay=10)
    assert [row["_arrival"] for row in rows_of(source, 1)] == [0, 200_000, 200_000, 200_000, 450_000]
    source = source_of(tmp_path, "t\n5\n6\n9\n", "t BIGINT", "t", replay=2.0)
    assert [row["_arrival"] for row in rows_of(source, 9)] == [0, 500_000, 2_000_000]


def test_replay_needs_a_time_column(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError, match="event time"):
        source_of(tmp_path, "t\n5\n", "t BIGINT", replay="real")
    with pytest.raises(ApplicationError, match="of type string"):
        source_of(tmp_path, "t\n5\n", "t STRING", "t", replay="real")
    with pytest.raises(ApplicationError, match="not a way to replay"):
        source_of(tmp_path, "t\n5\n", "t BIGINT", "t", replay="slow")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-5, 50), min_size=1, max_size=60), st.lists(st.integers(1, 7), max_size=30))
def test_how_polls_cut_the_replay_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, times: list[int], limits: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("replay")
    text = "t\n" + "\n".join(map(str, times))
    whole = rows_of(source_of(folder, text, "t BIGINT", "t", replay="real"), 1000)
    source = source_of(folder, text, "t BIGINT", "t", replay="real")
    pieces: list[dict[str, Any]] = []
    for limit in limits:
        due = source.next_arrival()
        table = source.poll(0.0 if due is None else due, limit)
        assert (table is None) == (due is None)
        pieces += [] if table is None else table.to_pylist()
    pieces += rows_of(source, 1000)
    assert pieces == whole
    assert [row["t"] for row in whole] == times


def test_tables(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("location,floor\na,1\nb,x\nc,3\n")
    schema = parse_schema("floor INT, location STRING", "t")
    table = read_table(Table("places", schema, {"kind": "csv", "path": "places.csv"}), tmp_path)
    assert table.to_pylist() == [{"floor": 1, "location": "a"}, {"floor": 3, "location": "c"}]
    (tmp_path / "places.csv").write_text("location,floor\n")
    table = read_table(Table("places", schema, {"kind": "csv", "path": "places.csv"}), tmp_path)
    assert table.schema.types == [pa.int32(), pa.string()]
    assert table.num_rows == 0
    with pytest.raises(ApplicationError, match=r"tables\.places\.kind"):
        read_table(Table("places", schema, {"kind": "feeder", "path": "places.csv"}), tmp_path)
