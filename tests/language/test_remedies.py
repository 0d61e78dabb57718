"""The remedies in error messages work: each of them compiles once it is filled in."""

import pytest

from headgate.errors import ApplicationError
from tests.language.catalogs import SENSORS, compiled

A = "sensors [RANGE 1 MINUTE]"
B = "doors [RANGE 1 MINUTE]"
REMEDIES = {
    f"SELECT a.location FROM {A} AS a FULL JOIN {B} AS b ON a.location = b.location": (
        "UNION ALL the rows without a match",
        f"SELECT a.location, a.humidity FROM {A} AS a JOIN {B} AS b ON a.location = b.location UNION ALL "
        f"SELECT location, CAST(NULL AS INT) FROM (SELECT location FROM {A} EXCEPT SELECT location FROM {B}) AS alone",
    ),
    f"SELECT a.location FROM {A} AS a RIGHT JOIN {B} AS b ON a.location = b.location": (
        "UNION ALL the rows without a match",
        f"SELECT location FROM {B} EXCEPT SELECT location FROM {A}",
    ),
    f"SELECT a.location FROM {A} AS a LEFT JOIN {B} AS b ON a.location = b.location": (
        "UNION ALL the rows without a match",
        f"SELECT location FROM {A} EXCEPT SELECT location FROM {B}",
    ),
    "SELECT s.location FROM places AS p RIGHT JOIN sensors AS s ON s.location = p.location": (
        "put the stream first: stream LEFT JOIN table",
        "SELECT s.location FROM sensors AS s LEFT JOIN places AS p ON s.location = p.location",
    ),
    "SELECT s.location FROM sensors AS s FULL JOIN places AS p ON s.location = p.location": (
        "write LEFT JOIN, which keeps the rows of the stream",
        "SELECT s.location FROM sensors AS s LEFT JOIN places AS p ON s.location = p.location",
    ),
    "SELECT s.location FROM sensors AS s JOIN places FOR SYSTEM_TIME AS OF s.ts AS p ON s.location = p.location": (
        "FOR SYSTEM_TIME AS OF is not supported; leave it out",
        "SELECT s.location FROM sensors AS s JOIN places AS p ON s.location = p.location",
    ),
    f"SELECT a.location FROM {A} AS a WHERE NOT EXISTS (SELECT 1 FROM doors AS b WHERE b.location = a.location)": (
        "EXCEPT SELECT x FROM b",
        f"SELECT a.humidity FROM {A} AS a JOIN (SELECT location FROM {A} EXCEPT SELECT location FROM {B}) AS c "
        "ON a.location = c.location",
    ),
    f"SELECT a.location FROM {A} AS a WHERE a.location NOT IN (SELECT location FROM doors)": (
        "EXCEPT SELECT x FROM b",
        f"SELECT a.humidity FROM {A} AS a JOIN (SELECT location FROM {A} EXCEPT SELECT location FROM {B}) AS c "
        "ON a.location = c.location",
    ),
    f"SELECT a.location FROM {A} AS a WHERE EXISTS (SELECT 1 FROM doors AS b WHERE b.location = a.location)": (
        "(SELECT DISTINCT x FROM b) AS b",
        f"SELECT a.humidity FROM {A} AS a JOIN (SELECT DISTINCT location FROM {B}) AS b ON a.location = b.location",
    ),
    f"SELECT a.location FROM {A} AS a WHERE a.humidity < (SELECT max(humidity) FROM sensors)": (
        "(SELECT max(x) AS m FROM b) AS b",
        f"SELECT a.location FROM {A} AS a, (SELECT max(humidity) AS m FROM {A}) AS b WHERE a.humidity < b.m",
    ),
    "SELECT * FROM sensors AS s WHERE ts > current_timestamp": ("use a column of the stream", "SELECT ts FROM sensors"),
}


@pytest.mark.parametrize("text", REMEDIES)
def test_remedies(text: str) -> None:
    remedy, instead = REMEDIES[text]
    with pytest.raises(ApplicationError) as caught:
        compiled(text, SENSORS)
    assert remedy in str(caught.value)
    compiled(instead, SENSORS)
