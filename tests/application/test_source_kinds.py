"""What applications may say about sources whose rows come from outside, and what requests may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate as hg
from headgate.application.load import load_application
from headgate.application.untrusted import Allowed, refuse_untrusted
from headgate.errors import ApplicationError

LIVE: list[dict[str, Any]] = [
    {"kind": "tcp", "host": "localhost", "port": 9999},
    {"kind": "stdin"},
    {"kind": "kafka", "servers": "localhost:9092", "topic": "t"},
    {"kind": "data_source", "implementation": "rows:Rows"},
]
ROWS = """
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

class Reader(SimpleDataSourceStreamReader):
    def initialOffset(self):
        return {}

class Rows(DataSource):
    def simpleStreamReader(self, schema):
        return Reader()
"""


def application(folder: Path, *sources: dict[str, Any]) -> Path:
    (folder / "rows.py").write_text(ROWS)
    streams = "".join(f'  s{at}: {{schema: "k INT", source: {source}}}\n' for at, source in enumerate(sources))
    file = folder / "app.yaml"
    file.write_text(f'streams:\n{streams}queries:\n  all: {{cql: "SELECT k FROM s0"}}\n')
    return file


@pytest.mark.parametrize("source", LIVE, ids=lambda source: source["kind"])
def test_live_sources_load_and_are_not_simulated(source: dict[str, Any], tmp_path: Path) -> None:
    file = application(tmp_path, source)
    assert load_application(file).plan.streams["s0"].source["kind"] == source["kind"]
    with pytest.raises(ApplicationError, match="cannot be simulated"):
        hg.load(file).simulate()


def test_one_stream_reads_the_standard_input(tmp_path: Path) -> None:
    with pytest.raises(ApplicationError, match="read by stream 's0' already") as refused:
        load_application(application(tmp_path, {"kind": "stdin"}, {"kind": "stdin"}))
    assert refused.value.place == "streams.s1.source"


@pytest.mark.parametrize("source", [*LIVE, {"kind": "folder", "path": "in"}, {"kind": "parquet", "path": "in.parquet"}])
def test_requests_may_not_name_them(source: dict[str, Any], tmp_path: Path) -> None:
    section = {"schema": "k INT", "source": source}
    with pytest.raises(ApplicationError, match="a request may not use the kind"):
        refuse_untrusted("streams", "s", section)
    if source["kind"] != "parquet":
        with pytest.raises(ApplicationError, match="a request may not use the kind"):
            refuse_untrusted("streams", "s", section, Allowed.with_files(tmp_path), tmp_path)


def test_requests_may_name_parquet_files_where_they_may_name_csv_files(tmp_path: Path) -> None:
    allowed = Allowed.with_files(tmp_path / "data")
    for path, fine in (("data/in.parquet", True), ("in.parquet", False), ("data/../in.parquet", False)):
        sections = (
            ("streams", {"schema": "k INT", "source": {"kind": "parquet", "path": path}}),
            ("tables", {"schema": "k INT", "kind": "parquet", "path": path}),
        )
        for key, section in sections:
            if fine:
                refuse_untrusted(key, "s", section, allowed, tmp_path)
            else:
                with pytest.raises(ApplicationError, match="outside the folder"):
                    refuse_untrusted(key, "s", section, allowed, tmp_path)


def test_requests_may_not_have_tables_read_all_the_time(tmp_path: Path) -> None:
    section = {"schema": "k INT", "kind": "csv", "path": "data/in.csv", "reload": "0.5 seconds"}
    with pytest.raises(ApplicationError, match="more often") as refused:
        refuse_untrusted("tables", "t", section, Allowed.with_files(tmp_path / "data"), tmp_path)
    assert refused.value.place == "tables.t.reload"
    refuse_untrusted("tables", "t", section | {"reload": 1}, Allowed.with_files(tmp_path / "data"), tmp_path)


def test_a_parquet_table_in_a_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [1], "place": ["hall"]}), tmp_path / "places.parquet")
    file = application(tmp_path, {"kind": "feeder", "rate": 10, "rows": 5})
    text = (
        file.read_text() + 'tables:\n  places: {kind: parquet, path: places.parquet, schema: "k INT, place STRING"}\n'
    )
    file.write_text(text)
    assert load_application(file).plan.tables["places"].source == {"kind": "parquet", "path": "places.parquet"}
