"""`stats` beside `cql`: statistics declared for the operators that a text in CQL becomes."""

from pathlib import Path

import pytest

from headgate.application.checked import RunLimits
from headgate.application.explain import explain
from headgate.application.load import load_application
from headgate.errors import ApplicationError
from headgate.plan.model import Plan
from headgate.plan.operators.base import Declared, DeclaredSide
from headgate.runtime.simulated import simulate

HEAD = """\
streams:
  s: {schema: "k INT, v INT", source: {kind: feeder, rate: 100, rows: 200}}
  t: {schema: "k INT, w INT", source: {kind: feeder, rate: 10, rows: 20}}
queries:
"""
JOIN = """\
  pairs:
    cql: >
      ISTREAM(SELECT s.k, v, w FROM s [RANGE 2 SECONDS] AS s, t [RANGE 3 SECONDS] AS t WHERE s.k = t.k AND v > 10)
    stats:
      where: {cost: 20us, selectivity: 0.5, bytes: 32}
      join: {costs: [5us, 7us], fixed_cost: 1 ms, match: 0.1}
"""


def load(folder: Path, queries: str, *changes: str) -> Plan:
    path = folder / "app.yaml"
    path.write_text(HEAD + queries, encoding="utf-8")
    return load_application(path, changes).plan


def test_operators_get_what_is_declared(tmp_path: Path) -> None:
    operators = load(tmp_path, JOIN).operators
    assert operators["pairs/where"].declared == Declared(cost_s=20e-6, selectivity=0.5, tuple_bytes=32)
    sides = (DeclaredSide(5e-6), DeclaredSide(7e-6))
    assert operators["pairs/join"].declared == Declared(fixed_s=1e-3, sides=sides, match=0.1)
    assert operators["pairs/istream"].declared == Declared()


def test_explain_and_the_simulator_use_declared_stats(tmp_path: Path) -> None:
    load(tmp_path, JOIN)
    app = load_application(tmp_path / "app.yaml")
    operators = {one["id"]: one for one in explain(app)["queries"]["pairs"]["operators"]}
    assert operators["pairs/where"]["cost"] == 20e-6
    assert [side["selectivity"] for side in operators["pairs/join"]["sides"]] == pytest.approx([0.1 * 30, 0.1 * 100])
    counts = simulate(app, RunLimits(until_idle=True)).operators
    assert counts["pairs/where"]["out"] == pytest.approx(100, abs=25)
    assert counts["pairs/join"]["out"] > 0


def test_an_operator_that_the_plan_adds_can_have_stats(tmp_path: Path) -> None:
    query = "  a:\n    cql: SELECT k, count(*) AS n FROM s [RANGE 1 SECOND] GROUP BY k\n"
    stats = "    stats: {changes: {cost: 3us}, group: {selectivity: 2}}\n"
    operators = load(tmp_path, query + stats).operators
    assert operators["a/changes"].declared.cost_s == 3e-6
    assert operators["a/group"].declared.selectivity == 2


def test_stats_can_be_set_from_the_command_line(tmp_path: Path) -> None:
    operators = load(tmp_path, JOIN, "queries.pairs.stats.where.cost=50us").operators
    assert operators["pairs/where"].declared.cost_s == 50e-6


def test_only_operators_with_equal_stats_are_shared(tmp_path: Path) -> None:
    query = "  {}: {{cql: SELECT k FROM s WHERE v > 1, stats: {{where: {{cost: {}us}}}}}}\n"
    two = query.format("a", 2) + query.format("b", 2)
    assert "b/where" not in load(tmp_path, two, "share=true").operators
    assert "b/where" in load(tmp_path, two, "share=true", "queries.b.stats.where.cost=3us").operators


PLAIN = "  a:\n    cql: SELECT k + 1 AS k FROM s WHERE v > 1\n    stats: "


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (
            PLAIN + "{wehre: {cost: 1us}}\n",
            "queries.a.stats.wehre: the query has no operator 'wehre'; did you mean 'where'? "
            "known operators: select, where",
        ),
        (
            PLAIN + "{where: {price: 1us}}\n",
            "queries.a.stats.where.price: there is no key 'price' here; known keys: bytes, cost, costs, fixed_cost, "
            "match, selectivities, selectivity",
        ),
        (PLAIN + "{where: 5}\n", "queries.a.stats.where: 5 is not a mapping; give it as {key: value} with the keys"),
        (PLAIN + "[where]\n", "queries.a.stats: ['where'] is not a mapping"),
        (PLAIN + "{where: {cost: soon}}\n", "queries.a.stats.where.cost: 'soon' is not a duration"),
        (PLAIN + "{where: {selectivity: -1}}\n", "queries.a.stats.where.selectivity: -1 is out of range"),
        (
            PLAIN + "{where: {match: 0.1}}\n",
            "queries.a.stats.where.match: 'match' is for a join of two streams or relations; give a ",
        ),
        (
            PLAIN + "{where: {costs: [1us]}}\n",
            "queries.a.stats.where.costs: an operator with one input has no 'costs'; known keys: bytes, cost, ",
        ),
        (
            JOIN.replace("[5us, 7us]", "[5us]"),
            "queries.pairs.stats.join.costs: there are 1 costs for 2 inputs; give one for each input, in their order",
        ),
        (
            JOIN.replace("fixed_cost: 1 ms", "cost: 1us"),
            "queries.pairs.stats.join.costs: it has both 'cost' and 'costs'",
        ),
        (JOIN.replace("fixed_cost: 1 ms", "selectivity: 1"), "stats.join.match: it has both 'match' and a selectivity"),
        (
            "  a:\n    operators: [{id: x, kind: select, input: s, where: v > 1}]\n    stats: {x: {cost: 1us}}\n",
            "queries.a.stats: 'stats' is for queries in CQL; declare them in each operator",
        ),
    ],
)
def test_errors(tmp_path: Path, queries: str, message: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        load(tmp_path, queries)
    assert message in str(caught.value)
