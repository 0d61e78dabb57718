"""CQL in an application file."""

import logging
from pathlib import Path

import pytest

from headgate.application.explain import explain
from headgate.application.load import load_application
from headgate.errors import ApplicationError
from headgate.plan.operators.base import Port

HEAD = """\
streams:
  sensors:
    schema: "location STRING, humidity INT, temperature INT, ts TIMESTAMP"
    time: ts
    source: {kind: csv, path: sensors.csv}
tables:
  places: {kind: csv, path: places.csv, schema: "location STRING, floor INT"}
queries:
"""


def write(folder: Path, queries: str, tail: str = "") -> Path:
    (folder / "sensors.csv").write_text("location,humidity,temperature,ts\nlobby,40,20,2024-01-01 00:00:00\n")
    (folder / "places.csv").write_text("location,floor\nlobby,0\n")
    path = folder / "app.yaml"
    path.write_text(HEAD + queries + tail, encoding="utf-8")
    return path


def test_the_example_from_the_design(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
  fire:
    cql: "ISTREAM(SELECT s.location, p.floor FROM sensors [NOW] AS s, places AS p
          WHERE s.location = p.location AND s.temperature > 35)"
""",
    )
    plan = load_application(path).plan
    assert plan.queries["fire"].operators == ("fire/where", "fire/join", "fire/select", "fire/istream")
    assert plan.schemas[plan.queries["fire"].root].names == ("location", "floor")


def test_queries_read_each_other_in_any_order(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """\
  top:
    cql: SELECT location FROM listed [RANGE 1 MINUTE]
  listed:
    operators:
      - {id: dry, kind: select, input: hot, where: "humidity < 20"}
  hot:
    cql: |
      SELECT *
      FROM sensors
      WHERE temperature > 30;
""",
    )
    plan = load_application(path).plan
    assert plan.operators["listed/dry"].inputs == (Port("hot/where"),)
    assert plan.operators["top/select"].inputs == (Port("listed/dry"),)
    assert plan.owners["hot/where"] == ("top", "listed", "hot")


@pytest.mark.parametrize(
    ("queries", "expected"),
    [
        (
            "  a:\n    cql: SELECT * FROM b\n  b:\n    cql: SELECT * FROM a\n",
            "queries.a.cql: queries read each other: a",
        ),
        ("  a:\n    cql: SELECT * FROM a\n", "queries.a.cql: the query reads itself: a -> a; break the cycle"),
        (
            "  a:\n    cql: SELECT * FROM b\n  b:\n    operators: [{id: x, kind: select, input: a, where: 'TRUE'}]\n",
            "queries.a.cql: queries read each other: a -> b -> a",
        ),
        (
            "  a:\n    cql: SELECT tempratur FROM sensors\n",
            "app.yaml:10: queries.a.cql: line 1, character 8: there is no",
        ),
        (
            "  a:\n    cql: SELECT x FROM b\n  b:\n    cql: SELECT ts AS y FROM sensors\n",
            "there is no column 'x'; known columns: y",
        ),
        (
            "  a:\n    cql: SELECT * FROM b\n  b:\n    cql: SELECT y FROM sensors\n",
            "queries.b.cql: line 1, character 8",
        ),
        ("  a:\n    cql: 5\n", "queries.a.cql: 5 is not text"),
        ("  a:\n    cql: ''\n", "this is empty"),
        ("  a:\n    class: default\n", "the query is empty; write it as 'cql', or list its 'operators'"),
        (
            "  a:\n    cql: SELECT 1\n    operators: [{id: x, kind: select, input: sensors, where: 'TRUE'}]\n",
            "queries.a.cql: the query has both 'cql' and 'operators'; keep one of them",
        ),
        (
            "  a:\n    cql: SELECT ts FROM b\n  b:\n    operators: [{id: x, kind: select, input: sensors, where: w}]\n",
            "there is no column 'w'",
        ),
    ],
)
def test_errors(tmp_path: Path, queries: str, expected: str) -> None:
    path = write(tmp_path, queries)
    with pytest.raises(ApplicationError) as caught:
        load_application(path)
    assert expected in str(caught.value)


def test_warnings_are_logged_once_and_shown_by_explain(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write(tmp_path, "  a:\n    cql: SELECT DISTINCT location FROM sensors\n")
    with caplog.at_level(logging.WARNING):
        app = load_application(path)
    assert len(caplog.records) == 1
    assert "queries.a.cql: DISTINCT keeps" in caplog.text
    assert explain(app)["warnings"] == list(app.plan.warnings)
    assert len(app.plan.warnings) == 1


def test_one_warning_covers_all_queries_that_grow(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Two hundred such queries used to log two hundred warnings."""
    queries = "".join(f"  q{n}:\n    cql: SELECT DISTINCT location FROM sensors\n" for n in range(9))
    bounded = "  fine:\n    cql: SELECT DISTINCT location FROM sensors [RANGE 1 MINUTE]\n"
    with caplog.at_level(logging.WARNING):
        explained = explain(load_application(write(tmp_path, queries + bounded)))
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == explained["warnings"]
    assert explained["warnings"] == [
        "9 queries have state that keeps growing: q0, q1, q2, q3, q4, q5 and 3 more; bound it by windows, such as "
        "[RANGE 1 HOUR]; `headgate explain` says what grows"
    ]
    assert explained["queries"]["q8"]["grows"][0].startswith("DISTINCT keeps every distinct row of 'sensors'")
    assert explained["queries"]["fine"]["grows"] == []


TWO = """\
  a:
    cql: SELECT location, count(*) AS n FROM sensors [RANGE 1 MINUTE] WHERE temperature > 30 GROUP BY location
  b:
    cql: SELECT location, max(ts) AS t FROM sensors [RANGE 1 MINUTE] WHERE temperature > 30 GROUP BY location
  c:
    cql: SELECT location FROM sensors WHERE temperature > 30
  d:
    operators: [{id: hot, kind: select, input: sensors, where: temperature > 30}]
"""


def test_operators_are_shared_only_on_request(tmp_path: Path) -> None:
    apart = load_application(write(tmp_path, TWO)).plan
    shared = load_application(write(tmp_path, TWO, "share: true\n")).plan
    assert len([o for o in apart.operators.values() if o.kind == "select"]) == 4
    assert [o.id for o in shared.operators.values() if o.kind == "select"] == ["a/where"]
    assert shared.owners["a/where"] == ("a", "b", "c", "d")
    assert shared.queries["d"].root == Port("a/where")
    for name in apart.queries:
        assert shared.schemas[shared.queries[name].root] == apart.schemas[apart.queries[name].root]
