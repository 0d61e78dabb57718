"""One-time queries as text for Spark: every name that is read gets one that only their session knows."""

import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from headgate.errors import ApplicationError
from headgate.language.compile import errors_at
from headgate.language.snapshot_text import SnapshotText, read_snapshot_text
from headgate.sql.dialect import Cql
from tests.language.test_fuzz import QUERIES, WORDS
from tests.language.test_hostile import HOSTILE
from tests.tiers import examples

ONE_TIME = [
    "SELECT a, b AS c FROM q WHERE a > 1 ORDER BY b DESC NULLS LAST LIMIT 5 OFFSET 2",
    "WITH v(x) AS (SELECT a FROM q), w AS (SELECT x FROM v) SELECT * FROM w JOIN t USING (x)"
    " WHERE x IN (SELECT x FROM w)",
    "SELECT a, (SELECT max(b) FROM t) AS m FROM s [RANGE 1 MINUTE] AS w UNION ALL SELECT 1, 2 FROM `q r` ORDER BY 1",
]


def read(text: str) -> SnapshotText:
    with errors_at("snapshot", text):
        return read_snapshot_text(text)


def test_names_get_private_ones() -> None:
    found = read("SELECT q.a, 'q' AS x, 1L FROM q -- q\n JOIN `t u` ON q.a=`t u`.a /* q */ ;")
    assert found.sql == (
        "SELECT q.a, 'q' AS x, 1L FROM `headgate_view_0` AS `q` JOIN `headgate_view_1` AS `t u` ON q.a=`t u`.a"
    )
    assert [(one.view, one.name) for one in found.reads] == [("headgate_view_0", "q"), ("headgate_view_1", "t u")]


def test_views_hide_names_only_where_they_are_known() -> None:
    found = read("WITH v AS (SELECT a FROM v) SELECT * FROM v WHERE EXISTS (WITH u AS (SELECT 1) SELECT * FROM u)")
    assert [one.name for one in found.reads] == ["v"]
    found = read("SELECT * FROM u WHERE EXISTS (WITH u AS (SELECT 1) SELECT * FROM u)")
    assert [one.name for one in found.reads] == ["u"]


def test_windows_are_read_and_taken_out() -> None:
    found = read("SELECT * FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS] AS w, q")
    assert found.sql == "SELECT * FROM `headgate_view_0` AS w, `headgate_view_1` AS `q`"
    assert [str(one.window) for one in found.reads] == ["RANGE 1 MINUTE SLIDE 10 SECONDS", "None"]


@settings(max_examples=examples(200, 3000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([*ONE_TIME, *QUERIES]), st.data())
def test_spark_can_read_nothing_else(query: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(0, 2))):
        start = data.draw(st.integers(0, len(query)))
        new = data.draw(st.sampled_from([*WORDS, *HOSTILE]) | st.text(max_size=6))
        query = query[:start] + new + query[start + data.draw(st.integers(0, 9)) :]
    try:
        found = read(query)
    except ApplicationError:
        return
    (again,) = [tree for tree in sqlglot.parse(found.sql, read=Cql) if tree is not None]
    assert all(table.name.startswith("headgate_") and not table.db for table in again.find_all(exp.Table))
    assert [token.comments for token in Cql().tokenize(found.sql) if token.comments] == []
