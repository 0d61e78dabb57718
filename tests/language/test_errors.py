"""Every error in a query is reported with its position, in words that help."""

import pytest

from headgate.errors import ApplicationError
from tests.language.catalogs import SENSORS, compiled

CASES = {
    # The text
    "": "there is no query",
    ";": "there is no query",
    "SELECT": "SELECT without FROM",
    "DROP TABLE sensors": "this is not a query",
    "SELECT 1; SELECT 2": "more than one query",
    "SELECT location FROM sensors WHERE": "cannot",
    "SELECT location FROMM sensors": "character",
    "SELECT location FROM sensors WHERE (temperature > 1": "line 1, character 36: this '(' is never closed",
    "SELECT location) FROM sensors": "nothing opens this ')'",
    "SELECT 'x FROM sensors": "line 1, character 8: a quoted string is never closed",
    "SELECT 'it''s', r'\\',\n'it\\'s -- 'x' FROM sensors": "line 2, character 13: a quoted string is never closed",
    "SELECT `x FROM sensors": "line 1, character 8: a name in backticks is never closed",
    "SELECT 1 -- it's\n, 2 /* it's */ /* 3 FROM sensors": "line 2, character 16: a comment is never closed",
    "FROM sensors |> WHERE humidity > 1": "line 1, character 14: Spark's pipe syntax, |>, is not supported; write",
    "SELECT -humidity AS humidity FROM sensors |> WHERE humidity > 1": "line 1, character 43: Spark's pipe syntax",
    "FROM sensors SELECT location": "line 1, character 1: FROM comes before SELECT",
    # Names
    "SELECT tempratur FROM sensors": (
        "queries.q.cql: line 1, character 8: there is no column 'tempratur'; did you mean 'temperature'? known columns:"
    ),
    "SELECT *\nFROM sensors\nWHERE x.location = 1": "line 3, character 7: there is no 'x' in FROM",
    "SELECT s.floor FROM sensors s": "line 1, character 10: 's' has no column 'floor'",
    "SELECT location FROM sensor": "line 1, character 22: there is no 'sensor' to read; did you mean 'sensors'?",
    "SELECT location FROM sensors, doors": "column 'location' is in 'sensors' and 'doors'; write sensors.location or",
    "SELECT a.humidity FROM sensors a, doors a": "two items in FROM are called 'a'",
    "SELECT * FROM (SELECT * FROM sensors s, places p) v": "two columns of the result are called 'location'; give one",
    "SELECT location, humidity AS location FROM sensors": "two columns of the result are called 'location'",
    "SELECT location AS _time FROM sensors": "reserved for Headgate's stamps",
    "SELECT x.* FROM sensors": "there is no 'x' in FROM",
    "SELECT * FROM a.sensors": "names have no dots",
    "WITH v(a) AS (SELECT location, ts FROM sensors) SELECT * FROM v": "there are 1 names for 2 columns",
    "WITH v(a, A) AS (SELECT location, ts FROM sensors) SELECT * FROM v": "two columns have the same name",
    "WITH v AS (SELECT 1 FROM S), v AS (SELECT 2 FROM S) SELECT * FROM v": "two views 'v'",
    "SELECT floor FROM places AS p(a, b), sensors": "cannot be renamed here",
    "SELECT location FROM sensors s JOIN places p USING (floor)": "there is no column 'floor'",
    "SELECT humidity FROM sensors s JOIN places p USING (humidity)": "'p' has no column 'humidity'",
    "SELECT transform(tags, k -> k + c.k) FROM clicks c": "the variable 'k' hides the column 'k'",
    # Windows
    "SELECT * FROM sensors [RANGE]": "is not a window; write NOW",
    "SELECT * FROM sensors [RANGE 5 PARSECS]": "unknown unit 'PARSECS'",
    "SELECT * FROM sensors [RANGE 5]": "line 1, character 23: '5' has no unit",
    "SELECT * FROM S [RANGE 5 SECONDS]": "logical time",
    "SELECT * FROM sensors [RANGE 0 SECONDS]": "above 0",
    "SELECT * FROM sensors [ROWS 0]": "1 or more",
    "SELECT * FROM sensors [ROWS 99999999999]": "more than a window can hold",
    "SELECT * FROM sensors [PARTITION BY floor ROWS 3]": "line 1, character 23: there is no column 'floor'",
    "SELECT * FROM sensors [NOW] [NOW]": "does not follow a stream",
    "SELECT * FROM sensors [NOW] AS s [NOW]": "a stream has two windows",
    "SELECT * FROM sensors WHERE location [NOW] = 1": "does not follow a stream",
    "SELECT * FROM sensors, places [NOW]": "'places' is a table and cannot have a window",
    "SELECT * FROM (SELECT count(*) AS n FROM sensors) [NOW]": "is a relation already and cannot have a window",
    "WITH v AS (SELECT ts FROM sensors [NOW]) SELECT * FROM v [NOW]": "'v' is a relation already",
    "[NOW] SELECT * FROM sensors": "at the beginning",
    # Stream functions
    "ISTREAM(ISTREAM(SELECT * FROM sensors [NOW]))": "ISTREAM is applied to a stream; keep one stream function",
    "ISTREAM((DSTREAM(SELECT * FROM sensors [NOW])))": "STREAM is applied to a stream; keep one stream function",
    "SELECT ISTREAM(location) FROM sensors": "line 1, character 8: ISTREAM does not enclose a query",
    "ISTREAM(sensors)": "or is ISTREAM(SELECT ..)",
    "SELECT * FROM ISTREAM(sensors) AS s": "does not enclose a query",
    "SELECT * FROM sensors WHERE humidity IN ISTREAM(SELECT A FROM S)": "inside an expression",
    # What CQL does not support
    "SELECT * FROM sensors ORDER BY ts": "ORDER BY is not supported; a result that never ends has no order",
    "SELECT * FROM sensors LIMIT 3": "LIMIT is not supported",
    "SELECT location FROM sensors UNION SELECT location FROM doors ORDER BY 1": "ORDER BY is not supported",
    "SELECT sum(humidity) OVER (PARTITION BY location) FROM sensors": "window functions (OVER) are not supported",
    "SELECT reflect('java.lang.System', 'exit', 1) FROM sensors": "calls any method of any Java class",
    "SELECT * FROM sensors WHERE try_reflect('a.B', 'c') = 'x'": "calls any method of any Java class",
    "SELECT max(java_method('a.B', 'c')) FROM sensors": "calls any method of any Java class",
    "SELECT `Reflect`('a.B', 'c') FROM sensors": "calls any method of any Java class",
    "SELECT system.builtin.reflect('a.B', 'c') FROM sensors": "calls any method of any Java class",
    "SELECT input_file_name() FROM sensors": "which file a row was read from",
    "SELECT input_file_block_start() FROM sensors": "which file a row was read from",
    "SELECT identifier('_arrival') FROM sensors": "turns a string into a column name",
    "SELECT * + 1 FROM sensors": "* is only allowed in SELECT and as a function argument",
    "SELECT count(sensors.*) FROM sensors": "write count(*), or list them",
    "SELECT struct(location.*) FROM sensors": "name the fields: location.a",
    "SELECT row_number() FROM sensors": "is a window function",
    "SELECT (SELECT max(A) FROM S) FROM sensors": "subqueries in expressions are not supported; join",
    "SELECT * FROM sensors WHERE location IN (SELECT location FROM doors)": "subqueries in expressions",
    "SELECT * FROM sensors WHERE EXISTS (SELECT 1 FROM doors)": "subqueries in expressions",
    "SELECT explode(tags) FROM clicks": "makes several rows from one",
    "SELECT k FROM clicks LATERAL VIEW explode(tags) t AS tag": "LATERAL VIEW is not supported",
    "SELECT * FROM sensors, LATERAL (SELECT 1)": "FROM contains something that cannot be read",
    "SELECT * FROM sensors, VALUES (1)": "FROM contains something that cannot be read",
    "SELECT * FROM (sensors JOIN doors)": "without parentheses",
    "SELECT * FROM sensors RIGHT JOIN places USING (location)": "RIGHT JOIN is not supported",
    "SELECT * FROM sensors FULL OUTER JOIN places USING (location)": "FULL JOIN is not supported",
    "SELECT * FROM sensors LEFT JOIN doors USING (location)": "LEFT JOIN with a stream on the right",
    "SELECT * FROM places p LEFT JOIN sensors s ON p.location = s.location": "LEFT JOIN with a stream on the right",
    "SELECT * FROM sensors LEFT SEMI JOIN doors USING (location)": "LEFT SEMI JOIN is not supported",
    "SELECT * FROM sensors NATURAL JOIN doors": "NATURAL JOIN is not supported",
    "SELECT * FROM sensors TABLESAMPLE (10 PERCENT)": "TABLESAMPLE is not supported",
    "SELECT * FROM places": "only tables in FROM; a query must read at least one stream",
    "SELECT 1": "SELECT without FROM",
    "SELECT rand() FROM sensors": "'rand' gives a different answer each time",
    "SELECT uuid() FROM sensors": "a different answer each time",
    "SELECT * FROM sensors WHERE ts > current_timestamp": "a different answer each time",
    "SELECT now() FROM sensors": "a different answer each time",
    "SELECT * EXCEPT (tz) FROM sensors": "there is no column 'tz'",
    "SELECT * EXCEPT (location, humidity, temperature, ts) FROM sensors": "leaves no column",
    "WITH RECURSIVE v AS (SELECT 1 FROM S) SELECT * FROM v": "WITH RECURSIVE is not supported",
    "SELECT DISTINCT ON (location) location FROM sensors": "is not supported",
    "SELECT location FROM sensors UNION BY NAME SELECT location FROM doors": "BY NAME is not supported",
    # GROUP BY
    "SELECT location FROM sensors WHERE count(*) > 1": "the aggregate 'count' is not allowed in WHERE; conditions on",
    "SELECT max(count(*)) FROM sensors": "the aggregate 'count' is inside the aggregate 'max'",
    "SELECT location, ts FROM sensors GROUP BY location": (
        "line 1, character 18: column 'ts' is neither grouped nor in an aggregate; add it to GROUP BY"
    ),
    "SELECT location, count(*) FROM sensors": "column 'location' is neither grouped",
    "SELECT location FROM sensors GROUP BY sum(humidity)": "is not allowed in GROUP BY",
    "SELECT location FROM sensors GROUP BY 3": "GROUP BY 3: the SELECT list has no such column",
    "SELECT location FROM sensors HAVING location = 'a'": "HAVING without GROUP BY",
    "SELECT location FROM sensors GROUP BY ROLLUP (location)": "ROLLUP, CUBE and GROUPING SETS",
    "SELECT location FROM sensors GROUP BY location WITH CUBE": "ROLLUP, CUBE and GROUPING SETS",
    "SELECT location FROM sensors GROUP BY GROUPING SETS ((location))": "ROLLUP, CUBE and GROUPING SETS",
    "SELECT window(ts, '1 minute') FROM sensors": "'window(..)' is only allowed in GROUP BY",
    "SELECT window.start FROM sensors": "there is no 'window' in FROM",
    "SELECT 1 AS a FROM sensors GROUP BY window(ts, '1 day'), session_window(ts, '1 day')": "more than one window",
    # Sets and types
    "SELECT location FROM sensors UNION ALL SELECT location, at FROM doors": "there are 1 columns before UNION and 2",
    "SELECT location FROM sensors EXCEPT SELECT open FROM doors": "needs types that fit together",
    "SELECT * FROM sensors WHERE location > 5": "compares STRING with INT",
    "SELECT * FROM sensors WHERE humidity": "not a condition",
    "SELECT s.ts FROM sensors s, S x WHERE s.humidity = x.A": "event time and logical time",
}


@pytest.mark.parametrize("text", CASES)
def test_errors(text: str) -> None:
    with pytest.raises(ApplicationError) as caught:
        compiled(text, SENSORS)
    assert caught.value.place == "queries.q.cql"
    assert CASES[text] in str(caught.value)


def test_positions_count_lines_and_characters_from_one() -> None:
    with pytest.raises(ApplicationError) as caught:
        compiled("ISTREAM(\n  SELECT location\n  FROM sensors [RANGE 5 MINUTES]\n  WHERE wet > 3\n)")
    assert caught.value.problem == "line 4, character 9: there is no column 'wet'"


@pytest.mark.parametrize("depth", [10, 5000])
def test_deep_nesting(depth: int) -> None:
    text = "SELECT location FROM sensors WHERE " + "(" * depth + "humidity" + ")" * depth + " > 1"
    if depth == 10:
        assert compiled(text)
    else:
        with pytest.raises(ApplicationError, match="nested too deeply"):
            compiled(text)
