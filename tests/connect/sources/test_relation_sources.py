"""Streams declared as relations: + and - in front of each row."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from headgate.application.file import StreamSection
from headgate.application.sources import read_stream
from headgate.connect.sources import Source, make_source
from headgate.errors import ApplicationError
from headgate.plan.model import Stream
from headgate.scheduling.stream_entrance import StreamEntrance
from headgate.sql.schema import FOREVER

ROWS = [("+", 1, "a"), ("-", 2, None), ("+", 3, "c")]
TABLE = [
    {"k": 1, "s": "a", "_arrival": 1_000_000, "_sequence": 0, "_change": 1},
    {"k": 2, "s": None, "_arrival": 1_000_000, "_sequence": 1, "_change": -1},
    {"k": 3, "s": "c", "_arrival": 1_000_000, "_sequence": 2, "_change": 1},
]


def stream_of(folder: Path, schema: str = "k INT, s STRING", time: str | None = None, **source: Any) -> Stream:
    said = {"schema": schema, "relation": True, "time": time, "source": source}
    return read_stream("s", StreamSection.model_validate(said), folder)


def write(folder: Path, kind: str, text: str) -> None:
    (folder / f"in.{kind}").write_text(text, encoding="utf-8")


def rows_of(source: Source) -> list[dict[str, Any]]:
    table = source.poll(1.0)
    assert table is not None
    assert table.schema.equals(source.schema)
    return list(table.to_pylist())


@pytest.mark.parametrize(
    "schema", ["k INT, s STRING", "change STRING, k INT, s STRING", "CHANGE STRING, k INT, s STRING"]
)
def test_csv_and_json_and_both_ways_to_say_it(tmp_path: Path, schema: str) -> None:
    plain = "".join(f"{change},{k},{s or ''}\n" for change, k, s in ROWS)
    for text, header in (("change,k,s\n" + plain, True), (plain, False)):
        write(tmp_path, "csv", text)
        stream = stream_of(tmp_path, schema, kind="csv", path="in.csv", header=header)
        assert stream.relation
        assert stream.schema.names == ("k", "s")
        assert rows_of(make_source(stream, tmp_path, 0, 0)) == TABLE
    write(
        tmp_path, "json", "".join(json.dumps(dict(zip(("change", "k", "s"), row, strict=True))) + "\n" for row in ROWS)
    )
    stream = stream_of(tmp_path, schema, kind="json", path="in.json")
    assert rows_of(make_source(stream, tmp_path, 0, 0)) == TABLE


def test_other_changes_are_malformed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "csv", "change,k,s\n+,1,a\ninsert,5,x\n,6,x\n - ,2,\n1,7,x\n+,x,x\n+,3,c\n\xff,8,x\n")
    with caplog.at_level(logging.WARNING, "headgate.source"):
        source = make_source(stream_of(tmp_path, kind="csv", path="in.csv"), tmp_path, 0, 0)
        assert rows_of(source) == TABLE
    assert source.rejected == 5
    said = [record.getMessage() for record in caplog.records]
    assert said[:2] == [
        "in.csv, line 3, column change: 'insert' is neither + nor -; the row is put aside",
        "in.csv, line 4, column change: '' is neither + nor -; the row is put aside",
    ]
    caplog.clear()
    bad = ['{"change": "delete", "k": 9}', '{"k": 9}', '{"change": 1, "k": 9}']
    good = [json.dumps({"change": change, "k": k, "s": s}) for change, k, s in ROWS]
    write(tmp_path, "json", "\n".join(bad + good))
    with caplog.at_level(logging.WARNING, "headgate.source"):
        source = make_source(stream_of(tmp_path, kind="json", path="in.json"), tmp_path, 0, 0)
        assert rows_of(source) == TABLE
    assert source.rejected == 3
    assert caplog.records[0].getMessage() == (
        "in.json, line 1, column change: 'delete' is neither + nor -; the row is put aside"
    )


def test_bytes_that_are_no_text_are_no_change(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"change,k,s\n+,1,a\n\xff,8,x\n-,2,\n+,3,c\n")
    source = make_source(stream_of(tmp_path, kind="csv", path="in.csv"), tmp_path, 0, 0)
    assert rows_of(source) == TABLE
    assert source.rejected == 1


def test_replayed_by_time_and_admitted(tmp_path: Path) -> None:
    write(tmp_path, "csv", "t,change,k\n10,+,1\n12,-,1\n")
    stream = stream_of(tmp_path, "t INT, k INT", "t", kind="csv", path="in.csv", replay="real")
    table = make_source(stream, tmp_path, 0, 0).poll(9.0)
    assert table is not None
    admitted = StreamEntrance(stream).admit(table).table
    assert admitted.to_pylist() == [
        {"t": 10, "k": 1, "_arrival": 0, "_sequence": 0, "_time": 10, "_until": FOREVER, "_change": 1},
        {"t": 12, "k": 1, "_arrival": 2_000_000, "_sequence": 1, "_time": 12, "_until": FOREVER, "_change": -1},
    ]


@pytest.mark.parametrize(
    ("schema", "source", "said"),
    [
        ("k INT", {"kind": "feeder", "rate": 5}, "a feeder cannot generate the changes"),
        ("k INT, change STRING", {"kind": "csv", "path": "in.csv"}, "must be the first one"),
        ("change INT, k INT", {"kind": "csv", "path": "in.csv"}, "must be the first one, a STRING"),
        ("change STRING", {"kind": "csv", "path": "in.csv"}, "no column besides 'change'"),
        ("k INT", {"kind": "csv", "path": "in.csv", "null": "-"}, "cannot stand for null"),
    ],
)
def test_what_cannot_be_a_relation(tmp_path: Path, schema: str, source: dict[str, Any], said: str) -> None:
    write(tmp_path, "csv", "")
    with pytest.raises(ApplicationError, match=said):
        stream_of(tmp_path, schema, **source)


def test_a_file_without_the_column_says_so(tmp_path: Path) -> None:
    write(tmp_path, "csv", "k,s\n1,a\n")
    with pytest.raises(ApplicationError, match="has no column 'change'"):
        make_source(stream_of(tmp_path, kind="csv", path="in.csv"), tmp_path, 0, 0)
