"""Published cases, end to end through `headgate run`: Stanford STREAM's own tests, and NEXMark's queries.

Their data is stored beside the project; tests/conformance/test_cql.py covers the same ground without it.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from headgate.cli.main import app

DATA = Path(__file__).parents[3] / "shared" / "data"

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not DATA.is_dir(), reason="the published cases are not beside the project (../shared/data)"),
]

Values = tuple[Any, ...]


def run(path: Path, streams: Mapping[str, Any], queries: Mapping[str, str], both: Collection[str] = ()) -> None:
    """Run the queries. The changes of q go to out/q; the final rows of those in `both` also go to out/q_rows."""
    sections: dict[str, Any] = {}
    for name, text in queries.items():
        sections[name] = {"cql": text, "sink": {"kind": "csv", "path": f"out/{name}", "format": "changes"}}
        if name in both:
            sections[f"{name}_rows"] = {"cql": text, "sink": {"kind": "csv", "path": f"out/{name}_rows"}}
    file = path / "app.yaml"
    # Shared, so that asking for both forms of a result computes it once.
    document = {"streams": streams, "queries": sections, "policy": {"name": "fifo", "unit": "operator"}, "share": True}
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    result = CliRunner().invoke(app, ["run", str(file), "--until-idle", "--json"])
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert report["errors"] == {}
    assert not any(report["late"].values())


def read(folder: Path) -> list[list[str]]:
    """All rows of a sink, without the headers."""
    rows = []
    for part in sorted(folder.glob("*.csv")):
        with part.open(newline="") as file:
            rows += list(csv.reader(file))[1:]
    return rows


def by_value(text: str) -> Any:
    """Numbers compare by value, times without trailing zeros, other text as it is."""
    if re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", text):
        return round(float(Decimal(text)), 4)
    if re.fullmatch(r"\d\d:\d\d:\d\d(\.\d+)?Z?", text):
        return text.rstrip("Z").rstrip("0").rstrip(".") if "." in text else text.rstrip("Z")
    return text


# Stanford STREAM -------------------------------------------------------------------------------------------------

_LINE = re.compile(r"\[(\d+)\]:([+-]):(.*)")
STREAMS = {
    "S1": ("S1.dat", "ts BIGINT, A INT"),
    "S2": ("S1.dat", "ts BIGINT, A INT"),
    "G": ("S2.dat", "ts BIGINT, G INT, A INT"),
    "S3": ("S3.dat", "ts BIGINT, A INT, B FLOAT, C STRING, D STRING"),
}
STREAM_QUERIES = {
    "test1": "SELECT A, B, C, D FROM S3",
    "test2": "WITH VS(A, B) AS (SELECT A div 2, A FROM S1 WHERE A % 2 = 0) SELECT A, B FROM VS",
    "test3": "SELECT S1.A, S2.A AS A2 FROM S1, S2 WHERE S1.A = S2.A",
    "test4": "RSTREAM(SELECT S1.A, S2.A AS A2 FROM S1 [NOW], S2 WHERE S1.A = S2.A)",
    "test5": "SELECT G, sum(A) AS s, count(A) AS c, max(A) AS high, min(A) AS low FROM G GROUP BY G",
    "test6": "SELECT DISTINCT A div 2 AS half FROM S1",
}


def test_stream(spark: Any, tmp_path: Path) -> None:
    streams = {}
    for name, (source, schema) in STREAMS.items():
        lines = (DATA / "stream_cql" / source).read_text().splitlines()
        (tmp_path / f"{name}.csv").write_text("\n".join(lines[1:]) + "\n")
        settings = {"kind": "csv", "path": f"{name}.csv", "header": False, "replay": "fast"}
        streams[name] = {"schema": schema, "time": "ts", "source": settings}
    run(tmp_path, streams, STREAM_QUERIES)
    for name in STREAM_QUERIES:
        wanted: dict[int, Counter[Values]] = {}
        for line in (DATA / "stream_cql" / "expected" / f"{name}.txt").read_text().splitlines():
            found = _LINE.fullmatch(line.strip())
            assert found is not None, line
            values = tuple(by_value(part.strip()) for part in found[3].split(","))
            wanted.setdefault(int(found[1]), Counter())[(found[2], *values)] += 1
        got: dict[int, Counter[Values]] = {}
        for time, change, *values_ in read(tmp_path / "out" / name):
            got.setdefault(int(time), Counter())[(change, *map(by_value, values_))] += 1
        if name == "test4":  # the old system had no closing heartbeat, so its file lacks the last instant
            del got[max(got)]
        assert got == wanted, name


# NEXMark ---------------------------------------------------------------------------------------------------------

SCHEMAS = {
    "person": "id BIGINT, name STRING, email_address STRING, credit_card STRING, city STRING, state STRING, "
    "date_time TIMESTAMP, extra STRING",
    "auction": "id BIGINT, item_name STRING, description STRING, initial_bid BIGINT, reserve BIGINT, "
    "date_time TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, date_time TIMESTAMP, extra STRING",
}
NEXMARK_QUERIES = {
    "q0": "SELECT auction, bidder, price, date_time FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS euro, date_time FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE auction IN (1007, 1020, 2001, 2019, 2087)",
    "q3": "SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p ON a.seller = p.id "
    "WHERE a.category = 10 AND p.state IN ('or', 'id', 'ca')",
    "q4": "WITH closed AS (SELECT a.id, a.category, max(b.price) AS final FROM auction AS a, bid AS b "
    "WHERE a.id = b.auction AND b.date_time BETWEEN a.date_time AND a.expires GROUP BY a.id, a.category) "
    "SELECT category, avg(final) AS price FROM closed GROUP BY category",
    "q8": "WITH p AS (SELECT id, name, window.start AS starts FROM person GROUP BY id, name, "
    "window(date_time, '10 seconds')), "
    "a AS (SELECT seller, window.start AS starts FROM auction GROUP BY seller, window(date_time, '10 seconds')) "
    "SELECT p.id, p.name, p.starts FROM p, a WHERE p.id = a.seller AND p.starts = a.starts",
    "q14": "SELECT auction, bidder, 0.908 * price AS euro, CASE WHEN hour(date_time) BETWEEN 8 AND 18 THEN 'dayTime' "
    "WHEN hour(date_time) <= 6 OR hour(date_time) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS kind, date_time, "
    "length(extra) - length(replace(extra, 'c', '')) AS letters FROM bid "
    "WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    "q17": "SELECT auction, date_format(date_time, 'yyyy-MM-dd') AS day, count(*) AS bids, "
    "count(*) FILTER (WHERE price < 10000) AS low, "
    "count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS middle, "
    "count(*) FILTER (WHERE price >= 1000000) AS high, "
    "min(price) AS least, max(price) AS most, avg(price) AS mean, sum(price) AS total "
    "FROM bid GROUP BY auction, date_format(date_time, 'yyyy-MM-dd')",
    "q22": "SELECT auction, bidder, price, channel, split(url, '/')[3] AS a, split(url, '/')[4] AS b, "
    "split(url, '/')[5] AS c FROM bid",
}
BOTH = ("q2", "q3", "q4", "q17")  # a stream, a join, and aggregates


def words(values: list[str]) -> Values:
    """A row as in the expected files, which separate values by blanks and have blanks in texts and timestamps too."""
    return tuple(by_value(word) for value in values for word in value.replace("T", " ", value[10:11] == "T").split())


def test_nexmark(spark: Any, tmp_path: Path) -> None:
    streams = {
        name: {
            "schema": schema,
            "time": "date_time",
            "slack": "1 hour",
            "source": {"kind": "csv", "path": str(DATA / "nexmark" / f"{name}.csv"), "header": True, "replay": "fast"},
        }
        for name, schema in SCHEMAS.items()
    }
    run(tmp_path, streams, NEXMARK_QUERIES, both=BOTH)
    for name in NEXMARK_QUERIES:
        lines = (DATA / "nexmark" / "expected" / f"{name}.txt").read_text().splitlines()
        wanted = Counter(words([line]) for line in lines if line.strip())
        held: Counter[Values] = Counter()
        for _, change, *values in read(tmp_path / "out" / name):
            held[words(values)] += 1 if change == "+" else -1
        assert {row: count for row, count in held.items() if count} == wanted, name
        if name in BOTH:
            assert Counter(map(words, read(tmp_path / "out" / f"{name}_rows"))) == wanted, name
