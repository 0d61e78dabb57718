"""The meaning of queries, as shown by the operators they become."""

import pytest

from headgate.language.catalog import Catalog
from headgate.language.compile import compile_query
from headgate.plan.model import Plan, Stream
from headgate.plan.operators import Aggregate, Changes, Project, RowWindow, RStream, StreamJoin, TableJoin, Union
from headgate.plan.operators.base import Operator, Port
from headgate.plan.windows import NOW, Span
from headgate.sql.schema import parse_schema
from tests.language.catalogs import SENSORS, compiled, plan_lines, plan_of


def kinds(plan: Plan) -> list[str]:
    return [operator.kind for operator in plan.operators.values()]


def last(plan: Plan) -> Operator:
    return plan.operators[plan.queries["q"].root.node]


# Streams and relations ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT location FROM sensors",
        "SELECT location FROM sensors [RANGE UNBOUNDED] WHERE humidity > 1",
        "SELECT s.location FROM sensors s, places p WHERE s.location = p.location",
        "SELECT location FROM sensors UNION ALL SELECT location FROM doors",
        "ISTREAM(SELECT location FROM sensors)",
        "ISTREAM(SELECT count(*) FROM sensors)",
        "DSTREAM(SELECT location FROM sensors [NOW])",
        "RSTREAM(SELECT location FROM sensors [ROWS 3])",
        "SELECT * FROM ISTREAM(SELECT count(*) AS n FROM sensors) WHERE n > 3",
    ],
)
def test_streams(text: str) -> None:
    plan = plan_of(text)
    assert not plan.flows[plan.queries["q"].root].relation
    assert not plan_of(text, rules=()).flows[plan_of(text, rules=()).queries["q"].root].relation


@pytest.mark.parametrize(
    "text",
    [
        "SELECT location FROM sensors [NOW]",
        "SELECT count(*) FROM sensors",
        "SELECT DISTINCT location FROM sensors",
        "SELECT a.ts FROM sensors a, doors b",
        "SELECT location FROM sensors [NOW] UNION ALL SELECT location FROM doors",
        "SELECT location FROM sensors EXCEPT SELECT location FROM doors",
        "SELECT * FROM (SELECT location FROM sensors [ROWS 1])",
    ],
)
def test_relations(text: str) -> None:
    for plan in (plan_of(text), plan_of(text, rules=())):
        assert plan.flows[plan.queries["q"].root].relation


def test_a_relation_that_loses_rows_ends_in_changes() -> None:
    assert kinds(plan_of("SELECT location FROM sensors [NOW]"))[-1] == "changes"
    assert kinds(plan_of("SELECT a.ts FROM sensors a, doors b")) == ["join", "project"]


def test_a_query_that_changes_nothing_still_has_an_operator() -> None:
    assert kinds(plan_of("SELECT * FROM sensors")) == ["project"]


def test_a_stream_beside_a_relation_is_unbounded() -> None:
    plan = plan_of("SELECT location FROM sensors [RANGE 1 MINUTE] UNION ALL SELECT location FROM doors")
    assert "window = window(select): RANGE 1 MINUTE" in plan_lines(plan)
    assert "window2 = window(select2): RANGE UNBOUNDED" in plan_lines(plan)


# Stream functions --------------------------------------------------------------------------------------------------


def test_stream_functions_become_operators() -> None:
    for mode in ("istream", "dstream"):
        plan = plan_of(f"{mode}(SELECT location FROM sensors [RANGE 1 MINUTE])")
        root = last(plan)
        assert isinstance(root, Changes)
        assert root.mode == mode


def test_rstream_over_now_needs_no_state() -> None:
    text = "RSTREAM(SELECT s.location, p.floor FROM sensors [NOW] s LEFT JOIN places p USING (location))"
    assert kinds(plan_of(text)) == ["join", "project", "ontime"]
    assert kinds(plan_of(text, rules=())) == ["window", "join", "project", "rstream"]


def test_istream_over_now_needs_state_unless_time_is_shown() -> None:
    assert kinds(plan_of("ISTREAM(SELECT location, ts AS t FROM sensors [NOW])")) == ["project", "ontime"]
    assert kinds(plan_of("ISTREAM(SELECT location, ts + INTERVAL 1 DAY AS ts FROM sensors [NOW])")) == [
        "project",
        "changes",
    ]
    assert kinds(plan_of("ISTREAM(SELECT location FROM sensors [NOW])")) == ["project", "changes"]
    # Arrival time is not a column.
    assert kinds(plan_of("ISTREAM(SELECT k, v FROM clicks [NOW])")) == ["project", "changes"]


def test_dstream_of_an_unbounded_stream_warns() -> None:
    found = compiled("DSTREAM(SELECT location FROM sensors)")
    assert "DSTREAM outputs nothing" in found.grows[0]


def rstream_of(text: str, catalog: Catalog = SENSORS) -> RStream:
    root = last(plan_of(text, catalog))
    assert isinstance(root, RStream)
    return root


def test_rstream_is_triggered_by_its_streams() -> None:
    one = rstream_of("RSTREAM(SELECT count(*) FROM sensors [RANGE 1 MINUTE])")
    assert one.inputs[1:] == (Port("sensors"),)
    two = rstream_of("RSTREAM(SELECT s.ts FROM sensors [ROWS 3] s, (SELECT location FROM doors [NOW]) d)")
    assert two.inputs[1:] == (Port("sensors"), Port("doors"))
    same = rstream_of("RSTREAM(SELECT a.ts FROM sensors [NOW] a, sensors [ROWS 2] b)")
    assert same.inputs[1:] == (Port("sensors"),)
    inner = rstream_of("RSTREAM(SELECT n FROM ISTREAM(SELECT count(*) AS n FROM sensors) [ROWS 2])")
    assert inner.inputs[1:] == (Port("sensors"),)


def test_slides_replace_the_triggers_of_their_stream() -> None:
    one = rstream_of("RSTREAM(SELECT count(*) FROM sensors [RANGE 1 MINUTE SLIDE 10 SECONDS])")
    assert one.inputs[1:] == ()
    assert one.slides == (Span(10.0, "seconds"),)
    two = rstream_of("RSTREAM(SELECT s.ts FROM sensors [RANGE 1 HOUR SLIDE 1 HOUR] s, doors [NOW] d)")
    assert two.inputs[1:] == (Port("doors"),)


def test_boundaries_of_rows_windows() -> None:
    plan = plan_of("RSTREAM(SELECT count(*) FROM sensors [ROWS 10 SLIDE 5])")
    root = last(plan)
    marks = plan.operators[root.inputs[1].node]
    assert isinstance(marks, RowWindow)
    assert marks.boundaries
    assert marks.inputs == (Port("sensors"),)


# Joins -------------------------------------------------------------------------------------------------------------


def test_joins_follow_equalities() -> None:
    plan = plan_of(
        "SELECT a.ts FROM sensors a, S [ROWS 1] x, doors b WHERE a.location = b.location", SENSORS_OF_ONE_CLOCK
    )
    first = plan.operators["q/join"]
    assert first.inputs == (Port("sensors"), Port("doors"))


SENSORS_OF_ONE_CLOCK = Catalog(
    {
        name: Stream(name, stream.schema, {}, None)  # all by arrival time
        for name, stream in SENSORS.streams.items()
    },
    SENSORS.tables,
)


def test_a_table_between_streams_connects_them() -> None:
    plan = plan_of(
        "SELECT s.ts, d.open FROM sensors s, doors d, places p "
        "WHERE s.location = p.location AND p.floor = length(d.location)"
    )
    kinds_of = [type(operator) for operator in plan.operators.values()]
    assert kinds_of == [Project, TableJoin, StreamJoin, Project]


def test_join_of_tables_and_relations() -> None:
    plan = plan_of(
        "SELECT g.n, p.floor FROM (SELECT location, count(*) n FROM sensors GROUP BY 1) g "
        "JOIN places p ON g.location = p.location"
    )
    join = plan.operators["q/join"]
    assert isinstance(join, TableJoin)
    assert join.on == {"location": "location"}
    assert plan.flows[Port(join.id)].relation


def test_left_join_keeps_its_condition() -> None:
    plan = plan_of("SELECT s.ts FROM sensors s LEFT JOIN places p ON s.location = p.location AND s.humidity > p.floor")
    join = plan.operators["q/join"]
    assert isinstance(join, TableJoin)
    assert (join.how, join.on, join.condition) == ("left", {"location": "location"}, "humidity > `p.floor`")


def test_commas_and_joins_mix() -> None:
    plan = plan_of("SELECT a.ts FROM sensors a, doors b JOIN places p ON b.location = p.location CROSS JOIN floors f")
    assert kinds(plan) == ["join", "join", "join", "project"]


def test_using_shows_the_column_once() -> None:
    plan = plan_of("SELECT * FROM sensors JOIN places USING (location)")
    assert plan.schemas[plan.queries["q"].root].names == ("location", "humidity", "temperature", "ts", "floor")


def test_windows_of_a_join_are_its_own() -> None:
    join = plan_of("SELECT a.ts FROM sensors [NOW] a, doors b").operators["q/join"]
    assert isinstance(join, StreamJoin)
    assert join.windows == (NOW, None)


# Grouping ----------------------------------------------------------------------------------------------------------


def group_of(text: str) -> Aggregate:
    found = plan_of(text).operators["q/group"]
    assert isinstance(found, Aggregate)
    return found


@pytest.mark.parametrize(
    "by", ["upper(location)", "place", "1", "UPPER(location)", "ALL"], ids=lambda by: by.replace("(", " ")
)
def test_ways_to_write_group_by(by: str) -> None:
    group = group_of(f"SELECT upper(location) AS place, count(*) AS n FROM sensors GROUP BY {by}")
    assert {name: text.lower() for name, text in group.group.items()} == {"place": "upper(location)"}
    assert group.values == {"n": "count(*)"}


def test_a_column_takes_precedence_over_an_alias() -> None:
    assert group_of("SELECT max(ts) AS humidity FROM sensors GROUP BY humidity").group == {"humidity": "humidity"}


def test_expressions_over_aggregates() -> None:
    plan = plan_of("SELECT sum(humidity) / count(*) AS mean, count(*) + 1 AS m FROM sensors HAVING max(humidity) > 3")
    group = plan.operators["q/group"]
    assert isinstance(group, Aggregate)
    assert set(group.values.values()) == {"sum(humidity)", "count(*)", "max(humidity)"}
    assert "select = project(having): `sum(humidity)` / `count(*)` AS mean, `count(*)` + 1 AS m" in plan_lines(plan)


def test_aggregates_keep_all_their_clauses() -> None:
    group = group_of(
        "SELECT count(DISTINCT humidity) AS a, sum(humidity) FILTER (WHERE temperature > 3) AS b, "
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY humidity) AS c, first(humidity) IGNORE NULLS AS d, "
        "max_by(location, ts) AS e, count_if(humidity > 3) AS f, any_value(ts) AS g FROM sensors"
    )
    assert list(group.values) == ["a", "b", "c", "d", "e", "f", "g"]
    assert group.values["b"] == "sum(humidity) FILTER (WHERE temperature > 3)"
    assert group.values["c"] == "percentile_cont(0.5) WITHIN GROUP (ORDER BY humidity)"


def test_having_may_use_names_of_the_select_list() -> None:
    lines = plan_lines(plan_of("SELECT location, count(*) AS n FROM sensors GROUP BY location HAVING n > 3"))
    assert "having = select(group): n > 3" in lines


def test_windows_of_spark() -> None:
    text = (
        "SELECT window, window.end AS e, count(*) FROM sensors "
        "GROUP BY window(ts, '1 minute') HAVING window.start > '2024'"
    )
    plan = plan_of(text)
    assert plan.schemas[plan.queries["q"].root].names == ("window", "e", "count(*)")
    assert any("`window`.start > '2024'" in line for line in plan_lines(plan))


# Columns -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM sensors", ("location", "humidity", "temperature", "ts")),
        ("SELECT LOCATION, s.Humidity FROM sensors s", ("LOCATION", "Humidity")),
        ("SELECT d.*, s.ts FROM sensors s, doors d", ("location", "open", "at", "ts")),
        ("SELECT user.name, user.id + 1 FROM clicks", ("name", "user.id + 1")),
        ("SELECT c.user.name FROM clicks c", ("name",)),
        ("SELECT tags[0], size(tags) AS n FROM clicks", ("tags[0]", "n")),
        ("SELECT transform(tags, x -> upper(x)) AS up FROM clicks", ("up",)),
        ("SELECT x.a FROM (SELECT k FROM clicks) AS x(a)", ("a",)),
        ("SELECT timestampadd(HOUR, 1, ts) AS later FROM sensors", ("later",)),
        ("SELECT location AS `odd name` FROM sensors", ("odd name",)),
    ],
)
def test_columns(text: str, names: tuple[str, ...]) -> None:
    for rules in ((), None):
        plan = plan_of(text) if rules is None else plan_of(text, rules=rules)
        assert plan.schemas[plan.queries["q"].root].names == names


def test_a_chain_of_unions_is_one_operator() -> None:
    text = " UNION ALL ".join(["SELECT location FROM sensors", "SELECT location FROM doors"] * 2)
    unions = [operator for operator in plan_of(text).operators.values() if isinstance(operator, Union)]
    assert len(unions) == 1
    assert len(unions[0].inputs) == 4


def test_a_view_read_twice_is_computed_once() -> None:
    text = (
        "WITH v AS (SELECT location, max(ts) AS t FROM sensors GROUP BY location) "
        "SELECT a.t FROM v a, v b WHERE a.t = b.t AND b.location = 'x'"
    )
    assert kinds(plan_of(text)).count("aggregate") == 1


# Other queries -----------------------------------------------------------------------------------------------------


def test_queries_read_queries() -> None:
    hot = compile_query("hot", "SELECT location, temperature FROM sensors WHERE temperature > 30", SENSORS)
    counts = compile_query(
        "counts", "SELECT location, count(*) AS n FROM hot [RANGE 1 MINUTE] GROUP BY location", _with(hot=hot)
    )
    assert counts.operators[0].inputs == (hot.root,)
    assert counts.result.flow.relation
    asking = compile_query("asking", "RSTREAM(SELECT * FROM counts)", _with(hot=hot, counts=counts))
    assert asking.operators[-1].inputs == (counts.root, Port("sensors"))


def _with(**queries: object) -> Catalog:
    results = {name: query.result for name, query in queries.items()}  # type: ignore[attr-defined]
    return Catalog(SENSORS.streams, SENSORS.tables, results)


# Warnings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "grows"),
    [
        ("SELECT location FROM sensors", []),
        ("SELECT count(*) FROM sensors", []),
        ("SELECT location, count(*) FROM sensors [RANGE 1 HOUR] GROUP BY location", []),
        ("SELECT location, count(*) FROM sensors GROUP BY location", ["each value of location"]),
        ("SELECT DISTINCT location FROM sensors", ["DISTINCT keeps every distinct row of 'sensors'"]),
        ("SELECT a.ts FROM sensors a, doors [NOW] b", ["every row of 'a'"]),
        (
            "SELECT location FROM sensors EXCEPT SELECT location FROM doors [NOW]",
            ["EXCEPT keeps every row of 'sensors'"],
        ),
        ("SELECT location FROM sensors [PARTITION BY location ROWS 2]", ["keeps 2 rows for each value of location"]),
        ("RSTREAM(SELECT DISTINCT location FROM sensors)", ["DISTINCT", "RSTREAM outputs more and more rows"]),
    ],
)
def test_warnings(text: str, grows: list[str]) -> None:
    found = compiled(text).grows
    assert len(found) == len(grows)
    for warning, expected in zip(found, grows, strict=True):
        assert expected in warning


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, max(v) FROM r GROUP BY k",
        "SELECT DISTINCT v FROM r",
        "SELECT a.k, b.v FROM r AS a, r AS b WHERE a.k = b.k",
    ],
)
def test_a_relation_that_loses_rows_gives_no_warning(text: str) -> None:
    """A warning would suggest a window, which a relation cannot have."""
    relation = Stream("r", parse_schema("k INT, v INT, t BIGINT", "r"), {}, "t", relation=True)
    assert compiled(text, Catalog({"r": relation})).grows == ()


def test_a_second_column_with_the_same_name_gets_a_number() -> None:
    plan = plan_of("SELECT s.location, p.location, d.* FROM sensors s, places p, doors d WHERE s.location = p.location")
    names = plan.schemas[next(iter(plan.queries.values())).root].names
    assert names[:2] == ("location", "location_2")
    assert len({name.lower() for name in names}) == len(names)
