"""What a request may add to an application: hostile sections are refused with a clean error, before Spark sees them."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headgate as hg
from headgate.application.load import Draft
from headgate.application.untrusted import Allowed, refuse_untrusted, refuse_untrusted_plan
from headgate.errors import ApplicationError
from tests.application.test_load_fuzz import VALUES
from tests.language.catalogs import SENSORS
from tests.language.test_fuzz import QUERIES, WORDS
from tests.language.test_hostile import HOSTILE
from tests.sql.test_request_checks import BAD
from tests.tiers import examples

GOOD: list[tuple[str, dict[str, Any]]] = [
    ("streams", {"schema": "a INT, t STRING, xs ARRAY<INT>, ts TIMESTAMP", "time": "ts"}),
    ("streams", {"schema": "a INT", "source": {"kind": "feeder", "rate": 10}}),
    ("tables", {"kind": "rows", "rows": [{"k": 1}], "schema": "k INT"}),
    ("classes", {"priority": 3}),
    ("queries", {"cql": "ISTREAM(SELECT v.x FROM s [RANGE 1 MINUTE] AS v(x, t, xs, ts) WHERE v.x > 1)"}),
    ("queries", {"cql": "WITH w(k) AS (SELECT a FROM s) SELECT k, count(*) AS n FROM w GROUP BY k", "class": "c"}),
    ("queries", {"operators": [{"id": "o", "kind": "select", "input": "s", "where": "a > 1"}]}),
]
BAD_SECTIONS: list[tuple[str, Any, str]] = [
    ("extensions", ["evil.py"], "extensions"),
    ("spark", {"spark.jars": "evil.jar"}, "spark"),
    ("streams", {"schema": "a INT", "source": {"kind": "csv", "path": "/etc/passwd"}}, "streams.n.source.kind"),
    ("streams", {"schema": "a INT", "source": {"kind": ["csv"]}}, "streams.n.source"),
    (
        "streams",
        {"schema": "a INT", "source": {"kind": "feeder", "arrivals": "recorded", "path": "/etc/passwd"}},
        "streams.n.source.path",
    ),
    ("streams", {"schema": "a INT", "source": {"kind": "push", "memory": "900 GB"}}, "streams.n.source.memory"),
    ("streams", {"schema": "a INT", "source": hg.sources.Csv(path="x.csv")}, "streams.n.source"),
    ("streams", {"schema": "a INT, " * 9000}, "streams.n.schema"),
    ("streams", {"schema": "a VARIANT"}, "streams.n.schema"),
    ("streams", {"schema": "a DECIMAL(400, 3)"}, "streams.n.schema"),
    ("tables", {"kind": "rows", "rows": [], "schema": "a ENUM('x')"}, "tables.n.schema"),
    ("tables", {"kind": "csv", "path": "/etc/passwd", "schema": "l STRING"}, "tables.n.kind"),
    ("tables", {"path": "/etc/passwd", "schema": "l STRING"}, "tables.n"),
    ("queries", {"cql": "SELECT a FROM s", "sink": {"kind": "csv", "path": "/tmp/x"}}, "queries.n.sink.kind"),
    (
        "queries",
        {"cql": "SELECT a FROM s", "sink": {"kind": "kafka", "servers": "a:1", "topic": "t"}},
        "queries.n.sink.kind",
    ),
    ("queries", {"cql": "SELECT a FROM s", "sink": {"kind": "callback", "function": print}}, "queries.n.sink.function"),
    ("queries", {"cql": "SELECT a FROM s", "sink": {"kind": "memory", "limit": 10**12}}, "queries.n.sink.limit"),
    (
        "queries",
        {"operators": [{"id": "o", "kind": "function", "input": "s", "function": "os:system", "schema": "a INT"}]},
        "queries.n.operators.'o'",
    ),
    ("queries", {"cql": "SELECT a FROM s; SELECT 1 FROM s"}, "queries.n.cql"),
    ("queries", {"cql": "SELECT a, reflect('java.lang.System', 'exit', 1) FROM s"}, "queries.n.cql"),
    ("queries", {"cql": "SELECT a FROM s WHERE " + "(" * 5000 + "a" + ")" * 5000 + " = 1"}, "queries.n.cql"),
    ("queries", "SELECT a FROM s", "queries.n"),
]
# Texts that reach for something outside; each is refused when the query is added, if not before.
HOSTILE_QUERIES = """
SELECT * FROM csv.`/etc/passwd`
SELECT * FROM text.`file:///etc/passwd`
SELECT * FROM `/etc/passwd`
SELECT * FROM spark_catalog.default.s
SELECT * FROM global_temp.s
SELECT * FROM other_view
SELECT * FROM range(10)
SELECT * FROM read_files('/etc/passwd')
SELECT * FROM TABLE(range(10))
SELECT * FROM identifier('s')
SELECT * FROM (VALUES (1)) AS v(a)
SELECT a FROM s, LATERAL explode(xs)
SELECT a FROM s LATERAL VIEW explode(xs) AS x
SELECT TRANSFORM (a) USING 'cat /etc/passwd' AS (b) FROM s
SELECT MAP (a) USING 'sh' AS b FROM s
SELECT /*+ BROADCAST(s) */ a FROM s
SELECT (SELECT max(a) FROM s) AS m FROM s
SELECT a FROM s WHERE EXISTS (SELECT 1 FROM csv.`/etc/passwd`)
SELECT a FROM s WHERE a IN (SELECT 1 FROM csv.`/etc/passwd`)
LOAD DATA INPATH '/etc/passwd' INTO TABLE s
EXECUTE IMMEDIATE 'SELECT 1'
CREATE TEMPORARY FUNCTION f AS 'java.lang.Runtime'
INSERT OVERWRITE DIRECTORY '/tmp/x' SELECT a FROM s
ADD JAR '/tmp/evil.jar'
SET spark.sql.ansi.enabled=false
FROM s |> SELECT a
SELECT a FROM s -- \\
SELECT a FROM s; DROP TABLE s
""".strip().splitlines()
HOSTILE_QUERIES.remove("SELECT a FROM s -- \\")  # a comment, and nothing else


def app() -> hg.Application:
    found = hg.Application()
    found.stream("s", "a INT, t STRING, xs ARRAY<INT>, ts TIMESTAMP", time="ts")
    return found


@pytest.mark.parametrize(("key", "section"), GOOD)
def test_what_a_request_may_add(key: str, section: dict[str, Any]) -> None:
    refuse_untrusted(key, "n", section)


@pytest.mark.parametrize(("key", "section", "place"), BAD_SECTIONS)
def test_what_a_request_may_not_add(key: str, section: Any, place: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        refuse_untrusted(key, "n", section)
    assert caught.value.place == place
    assert caught.value.remedy


def test_files_only_below_the_folder(tmp_path: Path) -> None:
    allowed = Allowed(sources=frozenset({"csv"}), sinks=frozenset({"csv"}), folder=tmp_path / "data")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "out").symlink_to("/etc")
    for path, fine in {"data/a.csv": True, "a.csv": False, "data/../a.csv": False, "data/out/passwd": False}.items():
        for key, section in (
            ("streams", {"schema": "a INT", "source": {"kind": "csv", "path": path}}),
            ("queries", {"cql": "SELECT a FROM s", "sink": {"kind": "csv", "path": path}}),
        ):
            if fine:
                refuse_untrusted(key, "n", section, allowed, tmp_path)
            else:
                with pytest.raises(ApplicationError, match="outside the folder"):
                    refuse_untrusted(key, "n", section, allowed, tmp_path)


def test_the_error_names_function_and_place() -> None:
    with pytest.raises(ApplicationError) as caught:
        refuse_untrusted("queries", "n", {"cql": "SELECT a,\n from_xml(t, 'a INT') AS x FROM s"})
    assert caught.value.problem.startswith("line 2, character 2: a request may not use the function 'from_xml'")


@pytest.mark.parametrize("text", HOSTILE_QUERIES)
def test_nothing_but_registered_relations(text: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        add({"cql": text})
    assert caught.value.place == "queries.n.cql"


@pytest.mark.parametrize("text", BAD)
def test_hostile_expressions_wherever_text_enters(text: str) -> None:
    for section in (
        {"cql": f"SELECT {text} AS x FROM s"},
        {"cql": f"SELECT a FROM s WHERE {text} IS NOT NULL"},
        {"cql": f"SELECT max({text}) AS m FROM s GROUP BY {text}"},
        {"cql": f"SELECT count(*) AS n FROM s HAVING max({text}) IS NOT NULL"},
        {"cql": f"SELECT l.a FROM s [NOW] AS l JOIN s [NOW] AS r ON {text} = l.a"},
        listed(kind="select", where=f"{text} IS NOT NULL"),
        listed(kind="project", columns={"x": text}),
        listed(kind="project", columns=[f"{text} AS x"]),
        listed(kind="split", branches={"x": f"{text} IS NOT NULL"}),
        listed(kind="aggregate", group={"g": text}, values={"n": "count(*)"}),
        listed(kind="aggregate", values={"n": f"max({text})"}),
    ):
        with pytest.raises(ApplicationError) as caught:
            add(section)
        assert caught.value.place.startswith("queries.n")


def test_checking_needs_no_spark() -> None:
    code = """
import sys
from headgate.application.load import Draft
from headgate.application.untrusted import refuse_untrusted, refuse_untrusted_plan
stream, query = {"schema": "a INT", "source": {"kind": "push"}}, {"cql": "SELECT lower('x') AS x FROM s"}
refuse_untrusted("queries", "n", query)
plan = Draft({"streams": {"s": stream}, "queries": {"n": query}}).checked().plan
refuse_untrusted_plan(plan, ["n"])
print(sorted(plan.queries), "pyspark" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['n'] False"


def listed(**operator: Any) -> dict[str, Any]:
    return {"operators": [{"id": "o", "input": "s", **operator}]}


def add(section: dict[str, Any]) -> None:
    """As a server adds a query."""
    refuse_untrusted("queries", "n", section)
    trial = app()
    trial.query("n", **section)
    refuse_untrusted_plan(trial.checked_query("n").plan, ["n"])


def test_a_request_may_read_what_the_operator_wrote() -> None:
    own = app()
    own.query("named", "SELECT a, xpath_string(t, 'a') AS x FROM s")
    own.query("n", "SELECT x FROM named")
    plan = own.checked_query("n").plan
    refuse_untrusted_plan(plan, ["n"])
    with pytest.raises(ApplicationError, match="xpath_string"):
        refuse_untrusted_plan(plan, ["named"])


# Random requests --------------------------------------------------------------------------------------------------


def attempt(key: str, name: str, section: Any) -> None:
    """A request does what it says or ends in a clean error, for each of the checks alone."""
    for check in (lambda: refuse_untrusted(key, name, section), lambda: add_any(key, name, section)):
        problem: ApplicationError | None = None
        try:
            check()
        except ApplicationError as error:
            problem = error
        assert problem is None or (problem.problem and problem.place)


def add_any(key: str, name: str, section: Any) -> None:
    """Without the check of the section, as a file would: what the plan's check relies on."""
    data: dict[str, Any] = {"streams": {"s": {"schema": "a INT, t STRING, xs ARRAY<INT>", "source": {"kind": "push"}}}}
    for stream in SENSORS.streams.values():  # that the queries to change read
        given = {"schema": str(stream.schema), "source": {"kind": "push"}}
        data["streams"][stream.name] = given if stream.time is None else {**given, "time": stream.time}
    data["tables"] = {
        table.name: {"kind": "rows", "rows": [], "schema": str(table.schema)} for table in SENSORS.tables.values()
    }
    data["queries"] = {"q": {"cql": "SELECT a FROM s"}}
    data[key] = {**data.get(key, {}), name: section}
    plan = Draft(data).checked().plan
    refuse_untrusted_plan(plan, plan.queries)


def test_the_application_around_random_sections_is_fine() -> None:
    add_any("classes", "c", {"priority": 1})
    for query in QUERIES:
        add_any("queries", "n", {"cql": query})


@st.composite
def changed_sections(draw: st.DrawFn) -> tuple[str, Any]:
    key, section = draw(st.sampled_from(GOOD))
    found: Any = copy.deepcopy(section)
    for _ in range(draw(st.integers(1, 3))):
        target, where = found, draw(st.sampled_from(sorted(section)))
        while isinstance(target.get(where), dict) and target[where] and draw(st.booleans()):
            target = target[where]
            where = draw(st.sampled_from(sorted(target)))
        if draw(st.booleans()):
            target[where] = draw(VALUES)
        else:
            target[draw(st.text(max_size=8))] = draw(VALUES)
    return key, found


@settings(max_examples=examples(150, 1500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(changed_sections(), st.text(max_size=8) | st.just("n"))
def test_changed_sections(changed: tuple[str, Any], name: str) -> None:
    attempt(changed[0], name, changed[1])


@settings(max_examples=examples(100, 1000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["streams", "tables", "classes", "queries", "spark"]), st.text(max_size=5), VALUES)
def test_any_section(key: str, name: str, section: Any) -> None:
    attempt(key, name, section)


@settings(max_examples=examples(150, 1500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(QUERIES), st.data())
def test_changed_texts(query: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(query)))
    new = data.draw(st.sampled_from([*WORDS, *HOSTILE, *BAD]) | st.text(max_size=6))
    text = query[:start] + new + query[start + data.draw(st.integers(0, 9)) :]
    attempt("queries", "n", {"cql": text})
    attempt("queries", "n", listed(kind="project", columns={"x": text}))


_TYPES = st.recursive(
    st.sampled_from(["INT", "STRING", "DECIMAL(10, 2)", "DECIMAL(400, 9)", "foo", "", "INTERVAL DAY", "`a b`", "x()"]),
    lambda inner: st.one_of(
        inner.map(lambda t: f"ARRAY<{t}>"),
        st.tuples(inner, inner).map(lambda two: f"MAP<{two[0]}, {two[1]}>"),
        st.tuples(st.sampled_from(["a", "`b c`", "1", "a b", ""]), inner).map(
            lambda two: f"STRUCT<{two[0]}: {two[1]}>"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=examples(150, 1500), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "`b c`", "_time", "", "é", "x'"]), _TYPES), max_size=3),
    st.text(max_size=5),
)
def test_any_schema(columns: list[tuple[str, str]], tail: str) -> None:
    attempt(
        "streams", "n", {"schema": ", ".join(" ".join(pair) for pair in columns) + tail, "source": {"kind": "push"}}
    )


@pytest.mark.parametrize("levels", [10, 40, 60, 90, 120, 300, 3000])
def test_deeply_nested_schemas(levels: int) -> None:
    attempt("streams", "n", {"schema": "a " + "ARRAY<" * levels + "INT" + ">" * levels, "source": {"kind": "push"}})
    attempt("streams", "n", {"schema": "a " + "STRUCT<a: " * levels + "INT" + ">" * levels, "source": {"kind": "push"}})


def test_with_files_kinds_with_files_may_be_named_below_the_folder(tmp_path: Path) -> None:
    allowed = Allowed.with_files(tmp_path)
    (tmp_path / "in.csv").write_text("k\n1\n")
    source = {"schema": "k INT", "source": {"kind": "csv", "path": "in.csv"}}
    refuse_untrusted("streams", "s", source, allowed, tmp_path)
    source["source"] = {"kind": "csv", "path": "/etc/passwd"}
    with pytest.raises(ApplicationError):
        refuse_untrusted("streams", "s", source, allowed, tmp_path)


def test_a_feeder_of_a_request_has_a_limit() -> None:
    section = {"schema": "k INT", "source": {"kind": "feeder", "rate": 1e9}}
    with pytest.raises(ApplicationError, match=r"streams\.s\.source\.rate"):
        refuse_untrusted("streams", "s", section)
