"""An application whose streams have bad input of every kind goes on, and has a dead letter for each bad row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import headgate as hg
from headgate.errors import ApplicationError

pytestmark = pytest.mark.spark

DAY = 86_400_000_000
STREAMS = ("drift", "clock", "pushed")


def test_bad_input_of_every_kind(spark: Any, tmp_path: Path) -> None:
    huge = "x" * 17_000_000
    (tmp_path / "drift.csv").write_text(f'k,s\n1,a\n2\n3,c,more\nfour,d\n"5,e\n6,{huge}\n7,g\n')
    rows = [
        {"k": 1, "t": DAY},
        {"k": None, "t": DAY},
        {"k": 3, "t": 10**16},
        {"k": "4", "t": True},
        {"k": 5, "t": DAY + 1},
    ]
    (tmp_path / "clock.json").write_text(
        "".join(json.dumps(row) + "\n" for row in rows) + '{"k": 6\n{"k": 7, "t": 5}\n'
    )
    letters = tmp_path / "dead.jsonl"
    app = hg.Application(folder=tmp_path, dead_letters=str(letters), rehearse=False)
    app.stream("drift", "k INT, s STRING", source=hg.sources.Csv(path="drift.csv"))
    app.stream("clock", "k INT NOT NULL, t BIGINT", source=hg.sources.Json(path="clock.json"), time="t", max_jump=DAY)
    app.stream("pushed", "k INT NOT NULL")
    for name in STREAMS:
        app.query(f"of_{name}", f"SELECT k FROM {name}")
    with app.start(spark) as run:
        with pytest.raises(ApplicationError, match=r"rows\[1\], column k: None is null, and the column is NOT NULL"):
            run.push("pushed", [(1,), (None,)])
        run.push("pushed", [(2,)])
        run.end("pushed")
        assert run.wait(60)
        found = {name: run.results(f"of_{name}").to_arrow().column("k").to_pylist() for name in STREAMS}
        report = run.report().to_dict()
    assert found == {"drift": [1, 7], "clock": [1, 5, 7], "pushed": [2]}
    written = [json.loads(line) for line in letters.read_text().splitlines()]
    aside = sorted((one["stream"], one["position"], one["kind"]) for one in written)
    assert aside == [
        *(("clock", line, "max_jump" if line == 3 else "malformed") for line in (2, 3, 4, 6)),
        *(("drift", line, "malformed") for line in (3, 4, 5, 6, 7)),
    ]
    assert report["dead_letters"]["streams"] == {"drift": 5, "clock": 4}
    assert report["rejected"] == {"drift": 5, "clock": 4, "pushed": 0}
    assert report["errors"] == {}
    assert {name: one["state"] for name, one in report["sources"].items()} == dict.fromkeys(found, "ended")


BREAKS: list[int] = []


class Unsteady(hg.SourceKind):
    """Numbers in batches; the connection breaks before some of them, once."""

    kind = "unsteady-of-the-tests"

    def batches(self, context: hg.SourceContext) -> Any:
        for number in range(6):
            if number in BREAKS and not context.sample:
                BREAKS.remove(number)
                raise ConnectionResetError(f"broken before batch {number}")
            yield [{"k": 10 * number + k} for k in range(10)]


def test_a_source_that_fails_goes_on_where_it_was_beside_others(spark: Any) -> None:
    BREAKS[:] = [2, 5]
    app = hg.Application(rehearse=False)
    app.stream("unsteady", "k INT", source=Unsteady())
    app.stream("steady", "k INT", source=hg.sources.Feeder(rate=50, rows=50))
    app.query("first", "SELECT k FROM unsteady")
    app.query("second", "SELECT k FROM steady")
    seen = []
    with app.start(spark) as run:
        while not run.wait(0.05):
            seen.append(run.overview()["streams"]["unsteady"]["source"])
        found = run.results("first").to_arrow().column("k").to_pylist()
        outputs = run.report().queries["second"].outputs
        report = run.report().to_dict()
    assert found == list(range(60))
    assert outputs == 50
    assert report["errors"] == {}
    retrying = [one for one in seen if one["state"] == "retrying"]
    assert {one["error"] for one in retrying} == {"broken before batch 2", "broken before batch 5"}
    assert {one["attempt"] for one in retrying} == {1}
