"""Spark's own parser must see no other functions and relations in a request than were checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, currently_in_test_context, event, given, settings
from hypothesis import strategies as st

from headgate.errors import ApplicationError
from headgate.language.compile import errors_at
from headgate.language.snapshot_text import read_snapshot_text
from headgate.sql.allowed_functions import ALLOWED
from headgate.sql.dialect import read_expression, sql_of
from headgate.sql.errors import CqlError
from headgate.sql.request_checks import check_request_expression, refuse_unlisted
from tests.language.test_fuzz import QUERIES
from tests.language.test_snapshot_text import ONE_TIME
from tests.sql.test_request_checks import BAD, GOOD
from tests.tiers import examples

pytestmark = pytest.mark.spark

# What could make one parser read a text where another sees words.
PIECES = (
    """
'|"|`|\\|''|""|\\'|--|-- \\\n|/*|*/|/*+|//|#|r'|R"|x'|'\\|\\"|{|}|${x}|$$|;|:|=>|->|::|(|)|[|]|,|.|a|b|1|1L|0.5|+|-|=
reflect('a', 'b')|abs(a)|upper(a)|reflect|(a)|CAST(a AS |INT)|DECIMAL(1, 2)|CASE WHEN|THEN|ELSE|END| AS |IN (|NOT
INTERVAL 1 DAY|DATE '|x -> |transform(a, |struct(a AS |named_struct(|BETWEEN|AND|LIKE|ESCAPE '|COLLATE |FILTER (WHERE
count(*)|OVER (|WITHIN GROUP (ORDER BY |extract(DAY FROM |trim(BOTH |system.|builtin.| |\n|\t|\u00a0|\u2028|\ufeff
"""
).strip("\n").split("|")  # fmt: skip


def functions(node: Any) -> Iterator[str]:
    """The names of the functions in an expression as Spark's parser reads it."""
    if node.getClass().getSimpleName() == "UnresolvedFunction":
        yield node.nameParts().mkString(".").lower()
    children = node.children()
    for number in range(children.size()):
        yield from functions(children.apply(number))


# Names that Spark's parser puts in for syntax.
SYNTAX = {"named_struct", "struct", "like", "date_add", "timestampadd", "timestampdiff", "date_part", "extract", "trim"}


def check_expression(session: Any, text: str) -> bool:
    """Did both read it?"""
    try:
        tree = read_expression(text)
        refuse_unlisted(tree, 10_000)
        passed_on = sql_of(tree)
        check_request_expression(passed_on, 10_000)
    except Exception:  # refused in one way or another
        return False
    try:
        parsed = session._jsparkSession.sessionState().sqlParser().parseExpression(passed_on)
    except Exception:  # Spark would refuse it
        return False
    assert set(functions(parsed)) <= ALLOWED | SYNTAX, text
    if currently_in_test_context():
        event("read by both")
    return True


def test_what_is_allowed_is_read_alike(session: Any) -> None:
    assert [text for text in GOOD if not check_expression(session, text)] == []


@settings(max_examples=examples(300, 5000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_spark_sees_no_other_functions(session: Any, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from([*PIECES, *BAD, *GOOD]), min_size=1, max_size=9))
    check_expression(session, data.draw(st.sampled_from(["", " "])).join(pieces))
    text = data.draw(st.sampled_from(GOOD))
    at = data.draw(st.integers(0, len(text)))
    check_expression(session, text[:at] + "".join(pieces[:3]) + text[at:])


@settings(max_examples=examples(200, 3000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_spark_sees_no_other_relations(session: Any, data: st.DataObject) -> None:
    query = data.draw(st.sampled_from(ONE_TIME) | st.sampled_from(QUERIES))
    for _ in range(data.draw(st.integers(0, 2))):
        at = data.draw(st.integers(0, len(query)))
        query = (
            query[:at] + data.draw(st.sampled_from([*PIECES, "FROM secret", "JOIN csv.`x`", "TABLE x"])) + query[at:]
        )
    try:
        with errors_at("snapshot", query):
            found = read_snapshot_text(query)
            refuse_unlisted(found.tree, 10_000)
    except ApplicationError:
        return
    try:
        plan = str(session._jsparkSession.sessionState().sqlParser().parsePlan(found.sql).toString())
    except Exception:  # Spark would refuse it
        return
    names = re.findall(r"UnresolvedRelation \[([^\]]*)\]", plan)
    assert all(name.startswith("headgate_") for name in names), (query, plan)
    event("read by both")
    assert "Command" not in plan.splitlines()[0]
    assert len(names) >= len(found.reads)


def test_a_refused_function_is_a_clean_error() -> None:
    for text in BAD:
        with pytest.raises(CqlError):
            check_request_expression(text, 10_000)
