"""Expressions of requests: which functions and sizes are refused, and that the lists cover the installed Spark."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.sql.allowed_functions import ALLOWED, LEFT_OUT, MULTIPLYING, SIZED
from headgate.sql.errors import CqlError
from headgate.sql.function_kinds import FORBIDDEN, GENERATORS, NONDETERMINISTIC, WINDOW_FUNCTIONS
from headgate.sql.request_checks import check_request_expression

LARGEST = 10_000
GOOD = """
a
a + 1 > 2 AND NOT (b IN (1, 2) OR (c))
CAST(a AS DECIMAL(10, 2)) + a::DECIMAL(5, 1)
count(DISTINCT a) FILTER (WHERE (a) > 1)
percentile_cont(0.5) WITHIN GROUP (ORDER BY (a))
transform(xs, x -> (x + 1))
CASE WHEN (a = 1) THEN (2) ELSE (3) END
'reflect(1)'
`reflect`
lpad(name, 10, ' ')
repeat('x', 10000)
round(a, -2)
sequence(2020, 2026)
concat(lpad(a, 1000), lpad(b, 1000))
window(ts, '1 hour', '10 minutes')
window(ts, '1 day').start
approx_count_distinct(a, 0.01)
format_string('%5d of %s', a, b)
a LIKE ('x')
extract(DAY FROM (ts))
timestampadd(HOUR, 1, ts)
trim(BOTH ('x') FROM a)
""".strip().splitlines()
BAD = """
reflect('java.lang.System', 'getenv', 'HOME')
REFLECT('java.lang.System', 'exit', 1)
`reflect`('java.lang.System', 'getenv', 'HOME')
builtin.abs(a)
system.builtin.reflect('java.lang.System', 'getenv', 'HOME')
my_function(a)
concat('a', java_method('java.lang.System', 'getenv', 'HOME'))
transform(xs, x -> try_reflect('java.lang.System', 'getenv', x))
CASE WHEN input_file_name() = 'x' THEN 1 END
sum(a) FILTER (WHERE reflect('java.lang.System', 'exit', 1) = 1)
from_avro(a, 'x', map('avroSchemaUrl', 'file:///etc/passwd'))
from_protobuf(a, 'M', '/etc/passwd')
from_xml(a, 'b INT', map('rowValidationXSDPath', '/etc/passwd'))
xpath_string('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', 'a')
current_user()
identifier('a')
repeat('x', 1000000000)
repeat('x', 1000 * 1000 * 1000)
repeat('x', a)
repeat('x', '100000000')
repeat('x', 1e9)
repeat('x', 1000000000L)
repeat(repeat('x', 1000), 1000)
space(1000000000)
lpad('x', 1000000000, ' ')
array_repeat(1, 1000000000)
array_insert(xs, 1000000000, 1)
sequence(1, 1000000000)
sequence(1, a)
sequence(*)
transform(sequence(1, 10000), x -> sequence(1, 10000))
round(a, 2000000000)
ceil(a, -2000000000)
format_string('%2000000000d', a)
format_string(f, a)
window(ts, '1000 days', '1 second')
window(ts, '1 day', concat('1', ' second'))
approx_count_distinct(a, 0.0000001)
percentile_approx(a, 0.5, 1000000000)
""".strip().splitlines()


@pytest.mark.parametrize("text", GOOD)
def test_what_only_computes_is_allowed(text: str) -> None:
    check_request_expression(text, LARGEST)


@pytest.mark.parametrize("text", BAD)
def test_what_does_more_is_refused(text: str) -> None:
    with pytest.raises(CqlError) as caught:
        check_request_expression(text, LARGEST)
    assert caught.value.problem


def test_the_reason_is_given() -> None:
    with pytest.raises(CqlError, match="'from_xml', which can read files"):
        check_request_expression("from_xml(a, 'b INT')", LARGEST)


@pytest.mark.spark
def test_the_lists_cover_the_functions_of_spark(session: Any) -> None:
    names = session._jsparkSession.sessionState().functionRegistry().listFunction()
    found = {names.apply(number).funcName() for number in range(names.size())}
    operators = {name for name in found if not name.isidentifier()} | {"and", "or", "in"}
    known = ALLOWED | set(LEFT_OUT) | set(FORBIDDEN) | NONDETERMINISTIC | GENERATORS | WINDOW_FUNCTIONS
    known |= {"grouping", "grouping_id"}
    assert found - operators <= known, "sort these into ALLOWED or LEFT_OUT in headgate/sql/allowed_functions.py"
    grammar = {"timestampadd", "timestampdiff", "try_cast"}  # Spark's parser turns these into other expressions
    assert found >= ALLOWED - grammar, "these are no functions of Spark any more"


def test_the_lists_do_not_overlap() -> None:
    assert not ALLOWED & (set(LEFT_OUT) | set(FORBIDDEN) | NONDETERMINISTIC | GENERATORS | WINDOW_FUNCTIONS)
    assert MULTIPLYING | SIZED.keys() <= ALLOWED
