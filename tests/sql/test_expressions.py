"""Expressions and schemas are either accepted or refused with an ApplicationError; nothing else happens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import ApplicationError
from headgate.sql.checks import check_condition, expression_type
from headgate.sql.schema import parse_schema

SCHEMA = parse_schema("k INT, v DOUBLE, t STRING, ts TIMESTAMP, a ARRAY<INT>, st STRUCT<x: INT>, set INT", "schema")
WORDS = [
    "k",
    "v",
    "t",
    "ts",
    "a",
    "st",
    "st.x",
    "a[0]",
    "(",
    ")",
    "+",
    "-",
    "*",
    "/",
    ">",
    "=",
    "AND",
    "OR",
    "NOT",
    "IN",
    "(",
    "1",
    ",",
    "BETWEEN",
    "LIKE",
    "'x'",
    "CASE",
    "WHEN",
    "THEN",
    "END",
    "CAST",
    "(",
    "AS",
    "INT",
    "sum(",
    "OVER",
    "INTERVAL",
    "1",
    "DAY",
    "exists(a,",
    "x",
    "->",
    "x",
    ">",
    "1)",
    "SELECT",
    "FROM",
    ";",
    ".",
    "::",
    "[",
    "]",
    "?",
    ":",
    "@",
    "$",
    '"',
    "`",
    "--",
    "NULL",
    "DROP",
    "CREATE",
    "TABLE",
    "DEFAULT",
    "KEY",
    "COMMENT",
    "STRUCT<",
    ">",
    "<",
    "STRING",
    "INT",
    ",",
    "b",
    "c",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("k + 1", "INT"),
        ("k", "INT"),
        ("K", "INT"),
        ("set + 1", "INT"),
        ("st.x > 1", "BOOLEAN"),
        ("exists(a, x -> x > k)", "BOOLEAN"),
        ("CASE WHEN k > 1 THEN 'a' ELSE 'b' END", "STRING"),
        ("ts > '2024-01-01'", "BOOLEAN"),
        ("CAST(t AS INT) + 1", "INT"),
    ],
)
def test_types(text: str, kind: str) -> None:
    assert expression_type(text, SCHEMA, "here") == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "k +",
        "DROP x",
        "DROP )",
        "SELECT 1",
        "(SELECT 1)",
        "k AS b",
        "k, v",
        "k; v",
        "*",
        "st.*",
        "k.(1)",
        "sum(k)",
        "nothing > 1",
        "t * 2",
        "ts > 3",
        "k FROM x",
        "SET k = 1",
        "reflect('java.lang.System', 'exit', k) = ''",
        "input_file_name() = ''",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        check_condition(text, SCHEMA, "here")
    assert caught.value.place == "here"


@pytest.mark.parametrize(
    "text", ["", "k", "k, v", "k INT v", "k INT) x", "k INT> x", "k NOSUCHTYPE", ",", "k INT, K INT"]
)
def test_refused_schemas(text: str) -> None:
    with pytest.raises(ApplicationError, match=r"^here: "):
        parse_schema(text, "here")


@pytest.mark.parametrize("name", ["_arrival", "_SEQUENCE"])
def test_names_of_stamps_are_reserved(name: str) -> None:
    with pytest.raises(ApplicationError, match="stamps"):
        parse_schema(f"{name} BIGINT", "here")


@settings(max_examples=500, deadline=None)
@given(TEXTS)
def test_only_one_kind_of_error(text: str) -> None:
    for check in (lambda: check_condition(text, SCHEMA, "here"), lambda: parse_schema(text, "here")):
        try:
            check()
        except ApplicationError:
            continue


@pytest.mark.parametrize(
    "text",
    ["ts - ts > INTERVAL '5' SECONDS", "ts - INTERVAL 1 DAY < ts", "ts BETWEEN ts AND ts", "a[0] > 1", "t || 1 = 'x1'"],
)
def test_what_spark_accepts_is_accepted(text: str) -> None:
    check_condition(text, SCHEMA, "here")
