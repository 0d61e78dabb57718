"""No expression sees the columns that Headgate adds to rows: results equal those of Spark over plain tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.applications import application

pytestmark = pytest.mark.spark

LEFT = [(1, "a"), (2, "b"), (3, None)]
RIGHT = [(1, 10), (1, 11), (3, 30)]
BOTH = "FROM l [RANGE 100] AS l, r [RANGE 100] AS r WHERE l.id = r.id"
QUERIES = {
    "names": f"SELECT to_json(struct(l.id, r.val, l.id + 1, (r.val), upper(l.t) AS u)) AS j {BOTH}",
    "all": f"SELECT to_json(struct(*)) AS j {BOTH}",
    "one": f"SELECT to_json(struct(r.*, 1)) AS j {BOTH}",
    "row": f"SELECT to_json((l.t, r.val)) AS j {BOTH}",
    "but": "SELECT concat_ws('|', * EXCEPT (at)) AS j FROM l [RANGE 100]",
    "text": "SELECT concat_ws('|', *) AS j FROM r",
    "hashes": "SELECT CAST(hash(*) AS STRING) AS j FROM l [ROWS 5]",
    "zipped": "SELECT to_json(arrays_zip(array(l.id), r.pair)) AS j "
    "FROM l [RANGE 100] AS l, (SELECT id, array(val) AS pair FROM r) AS r WHERE l.id = r.id",
    "groups": "SELECT to_json(struct(id, (count(*)), count(DISTINCT *), max(struct(*)))) AS j "
    "FROM r [RANGE 100] GROUP BY id",
    "kept": "SELECT j FROM (SELECT id + 1 AS n, to_json(struct(*)) AS j FROM l) AS v "
    "WHERE struct(n).n > 1 AND to_json(struct(n)) != '{}'",
    "subscript": "SELECT CAST(array(id, 7)[0] AS STRING) || -1::STRING || (-(-id))::STRING AS j FROM l",
}


def test_a_run_gives_the_same_as_plain_tables(session: Any, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("".join(f"{i},{t or ''},{n}\n" for n, (i, t) in enumerate(LEFT)))
    (tmp_path / "r.csv").write_text("".join(f"{i},{v},{n}\n" for n, (i, v) in enumerate(RIGHT)))
    source = {"kind": "csv", "header": False}
    streams = {
        "l": {"schema": "id INT, t STRING, at BIGINT", "time": "at", "source": {**source, "path": "l.csv"}},
        "r": {"schema": "id INT, val INT, at BIGINT", "time": "at", "source": {**source, "path": "r.csv"}},
    }
    said: dict[str, dict[str, Any]] = {
        name: {"cql": text if name in ("text", "kept", "subscript") else f"ISTREAM({text})"}
        for name, text in QUERIES.items()
    }
    project = {"id": "p", "kind": "project", "input": "l", "columns": {"j": "to_json(struct(*))"}}
    said["listed"] = {"operators": [project]}
    queries = {name: {**query, "sink": {"kind": "json", "path": f"{name}.json"}} for name, query in said.items()}
    application(streams, queries, folder=tmp_path).run(until_idle=True)
    rows = [(i, t, n) for n, (i, t) in enumerate(LEFT)]
    session.createDataFrame(rows, "id INT, t STRING, at BIGINT").createOrReplaceTempView("l")
    rows = [(i, v, n) for n, (i, v) in enumerate(RIGHT)]
    session.createDataFrame(rows, "id INT, val INT, at BIGINT").createOrReplaceTempView("r")
    wrong = {}
    plain = {**QUERIES, "listed": "SELECT to_json(struct(*)) AS j FROM l"}
    for name, text in plain.items():
        plain_text = text.replace("[RANGE 100]", "").replace("[ROWS 5]", "")
        wanted = sorted(row.j for row in session.sql(plain_text).collect())
        given = sorted(json.loads(line)["j"] for line in (tmp_path / f"{name}.json").read_text().splitlines())
        last = [line for line in given if line in wanted] if name == "groups" else given
        if last != wanted:
            wrong[name] = (given, wanted)
    assert not wrong
