"""Every function that Spark lists, on the examples in its documentation: Spark gets exactly the user's text, and the
value equals that of plain Spark on the same row.

Each example is also wrapped in a subscript, a lambda, a CASE with signs, and a struct field, because rewriting tends to
break what surrounds a call.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from headgate.language.catalog import Catalog
from headgate.plan.operators import Project
from headgate.plan.operators.base import Port
from headgate.sql.dialect import read_expression, sql_of
from headgate.sql.function_kinds import FORBIDDEN, GENERATORS, NONDETERMINISTIC, WINDOW_FUNCTIONS
from headgate.sql.schema import RELATION_STAMPS
from tests.language.catalogs import plan_of, stream
from tests.language.test_against_spark import run

pytestmark = pytest.mark.spark

WRAPPERS = (
    "{}",
    "array({0}, {0})[1]",
    "transform(array(v), x -> {})[0]",
    "CASE WHEN -v::BIGINT < - -1 AND NOT v IN (1, 2) THEN {} END",
    "named_struct('p', named_struct('q', {})).p.q",
)
# Not functions of a row: keywords around expressions, table functions, and functions that CQL refuses.
NOT_EXPRESSIONS = {"grouping", "grouping_id", "window", "session_window", "window_time", "measure"}
REFUSED = NONDETERMINISTIC | GENERATORS | WINDOW_FUNCTIONS | set(FORBIDDEN) | NOT_EXPRESSIONS
ROW = "7 AS v, 'it' AS t, array(1, 2) AS xs"
CATALOG = Catalog({"s": stream("s", "v INT, t STRING, xs ARRAY<INT>")})
_EXAMPLE = re.compile(r"^\s*> SELECT\s+(.*?);\s*$", re.MULTILINE | re.DOTALL)
_VALUES = re.compile(r"(.*?)\s+FROM\s+(VALUES\b.*\bAS\s+(\w+)\s*\(.*\))\s*", re.DOTALL | re.IGNORECASE)


def examples(session: Any) -> Iterator[tuple[str, str]]:
    """Function names, each with the text after SELECT in an example from its documentation."""
    registry = session._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction()
    for number in range(names.size()):
        info = registry.lookupFunction(names.apply(number))
        if info.isDefined():
            for found in _EXAMPLE.findall(info.get().getExamples()):
                yield info.get().getName(), found.replace("_FUNC_", info.get().getName())


def scalar(session: Any) -> list[str]:
    """The examples without FROM, each as one expression."""
    return [f"struct({text})" for name, text in examples(session) if _is_scalar(text) and name not in REFUSED]


def _is_scalar(text: str) -> bool:
    called = {name.lower() for name in re.findall(r"\w+(?=\s*\()", text)}
    if called & REFUSED or "unix_timestamp()" in text:
        return False
    return re.search(r"\bFROM\s+(VALUES|\(|range|TABLE)|\bSELECT\b|\bOVER\b", text, re.IGNORECASE) is None


def without_blanks(text: str) -> str:
    return re.sub(r"\s+", "", text)


def compiled_texts(expressions: Sequence[str]) -> list[str]:
    """The text that Spark gets for each expression, as a column of a query over one stream."""
    listed = ", ".join(f"{text} AS c{number}" for number, text in enumerate(expressions))
    plan = plan_of(f"SELECT {listed} FROM s", CATALOG)
    (operator,) = plan.operators.values()
    assert isinstance(operator, Project)
    return list(operator.columns.values())


def test_the_text_of_the_user_is_kept(session: Any) -> None:
    written = [around.format(text) for text in scalar(session) for around in WRAPPERS]
    assert len(written) > 2000
    assert not [text for text in written if without_blanks(sql_of(read_expression(text))) != without_blanks(text)]


def row_of(session: Any) -> Any:
    """One row with the stamps of rows inside the runtime."""
    stamps = ", ".join(f"CAST({number} AS BIGINT) AS {name}" for number, name in enumerate(RELATION_STAMPS))
    return session.sql(f"SELECT {ROW}, {stamps}")


def comparable(session: Any, expressions: Sequence[str]) -> list[str]:
    """Compare the values of expressions. Returns those that plain Spark can compute, so not raise_error(..), say."""
    try:
        columns = [f"{text} AS c{number}" for number, text in enumerate(expressions)]
        plain = session.sql(f"SELECT {ROW}").selectExpr(*columns)
        expected = plain.collect()[0]
    except Exception:  # one of them fails; bisect to find which
        if len(expressions) == 1:
            return []
        half = len(expressions) // 2
        return comparable(session, expressions[:half]) + comparable(session, expressions[half:])
    given = row_of(session).selectExpr(*[f"{text} AS c{i}" for i, text in enumerate(compiled_texts(expressions))])
    found = given.collect()[0]
    types = [[f.dataType.simpleString() for f in frame.schema] for frame in (given, plain)]
    wrong = [
        f"{text}: {found[i]} {types[0][i]}, not {expected[i]} {types[1][i]}"
        for i, text in enumerate(expressions)
        if (str(found[i]), types[0][i]) != (str(expected[i]), types[1][i])
    ]
    assert not wrong
    return list(expressions)


def compared_in_batches(session: Any, expressions: Sequence[str]) -> int:
    return sum(len(comparable(session, expressions[i : i + 60])) for i in range(0, len(expressions), 60))


def test_some_values_equal_those_of_plain_spark(session: Any) -> None:
    assert compared_in_batches(session, scalar(session)[::12]) > 30


@pytest.mark.soak
def test_values_equal_those_of_plain_spark_wherever_a_call_stands(session: Any) -> None:
    written = [around.format(text) for text in scalar(session) for around in WRAPPERS]
    assert compared_in_batches(session, written) > 2000


def test_some_aggregates_equal_those_of_plain_spark(session: Any) -> None:
    assert compared_aggregates(session, list(examples(session))[::8]) > 8


@pytest.mark.soak
def test_aggregates_equal_those_of_plain_spark(session: Any) -> None:
    assert compared_aggregates(session, list(examples(session))) > 90


def compared_aggregates(session: Any, chosen: Sequence[tuple[str, str]]) -> int:
    """Compare the examples over VALUES. Returns how many were compared."""
    compared = 0
    for name, text in chosen:
        found = _VALUES.fullmatch(text)
        if found is None or name in REFUSED or _is_not_one_query(found[1]):
            continue
        what, rows, alias = found.groups()
        try:
            frame = session.sql(f"SELECT * FROM {rows}")
            expected = frame.selectExpr(f"struct({what}) AS r")
            wanted = expected.collect()
        except Exception:  # the example demonstrates an error
            continue
        if any(f.dataType.simpleString() == "void" for f in frame.schema):  # streams cannot declare this type
            continue
        schema = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in frame.schema)
        plan = plan_of(f"SELECT struct({what}) AS r FROM {alias}", Catalog({alias: stream(alias, schema)}))
        done: dict[Port, Any] = {Port(alias): frame}
        for operator in plan.operators.values():
            done[Port(operator.id)] = run(operator, [done[port] for port in operator.inputs], {})
        result = done[plan.queries["q"].root]
        assert result.schema.simpleString() == expected.schema.simpleString(), text
        assert str(result.collect()) == str(wanted), text
        compared += 1
    return compared


def _is_not_one_query(what: str) -> bool:
    return re.search(r"\bSELECT\b|\bOVER\b|\bFROM\b", what, re.IGNORECASE) is not None
