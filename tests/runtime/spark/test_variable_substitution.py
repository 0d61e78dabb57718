"""A text in a query is what it says: Spark does not put variables of the driver or its settings in its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import headgate as hg

pytestmark = pytest.mark.spark
TEXTS = ("${env:HOME}", "${system:java.home}", "${spark.app.name}", "${hiveconf:spark.app.name}", "${x}")


def test_texts_are_not_substituted(spark: Any, tmp_path: Path) -> None:
    assert os.environ["HOME"]
    assert spark.sql("SELECT '${env:HOME}'").collect()[0][0] == os.environ["HOME"]  # what Spark does by default
    app = hg.Application(slots=1, folder=tmp_path)
    app.stream("s", "a STRING")
    columns = ", ".join(f"concat(a, '{text}') AS c{number}" for number, text in enumerate(TEXTS))
    app.query("plain", f"SELECT {columns} FROM s WHERE a || '${{env:HOME}}' <> 'x'")
    app.query("grouped", f"SELECT max('{TEXTS[0]}') AS m FROM s GROUP BY a || '{TEXTS[1]}'")
    branches = {"is": f"a || '{TEXTS[0]}' = 'x{TEXTS[0]}'"}
    app.query("listed", operators=[{"id": "o", "kind": "split", "input": "s", "branches": branches}])
    with app.start(spark) as run:
        run.push("s", [("x",)])
        assert run.drain(120)
        found = {name: run.results(name).to_arrow().to_pylist() for name in ("plain", "grouped", "listed")}
        errors = run.report().errors
    assert errors == {}
    assert list(found["plain"][0].values()) == [f"x{text}" for text in TEXTS]
    assert found["grouped"] == [{"m": TEXTS[0]}]
    assert found["listed"] == [{"a": "x"}]
